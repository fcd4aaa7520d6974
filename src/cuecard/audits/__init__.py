"""What in the data gives the answer away? One question per file."""

from cuecard.audits.cues import Cues
from cuecard.audits.overview import Overview
from cuecard.audits.registry import AUDITS

__all__ = ["AUDITS", "Cues", "Overview"]
