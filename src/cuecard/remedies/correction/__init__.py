"""Predictions corrected for cues after the fact, whatever model they come from."""

from cuecard.remedies.correction.correction import AIMS, METHODS, Corrected, Correction

__all__ = ["AIMS", "METHODS", "Corrected", "Correction"]
