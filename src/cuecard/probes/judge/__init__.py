"""Verdicts of judges and scores of reward models: what do they follow besides quality?"""

from cuecard.probes.judge.probe import JudgeTest
from cuecard.probes.judge.verdicts import Verdicts, read_verdicts

__all__ = ["JudgeTest", "Verdicts", "read_verdicts"]
