"""Verdicts of judges and scores of reward models: what do they follow besides quality?"""

from cuecard.probes.judge.fairness import JudgeFairness
from cuecard.probes.judge.probe import JudgeTest
from cuecard.probes.judge.scored import Scored, read_scored
from cuecard.probes.judge.verdicts import Verdicts, read_verdicts

__all__ = ["JudgeFairness", "JudgeTest", "Scored", "Verdicts", "read_scored", "read_verdicts"]
