"""Generated data with known answers: sets with planted cues, clean controls, and a corpus for benchmarks."""

from cuecard.data.demo.cues import CHOICE_CUES, NLI_CUES, Cue, Demo, PlantedCue
from cuecard.data.demo.nli import demo_nli

__all__ = ["CHOICE_CUES", "NLI_CUES", "Cue", "Demo", "PlantedCue", "demo_nli"]
