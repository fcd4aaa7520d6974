"""Generated data with known answers: sets with planted cues, clean controls, and a corpus for benchmarks."""

from cuecard.data.demo.generated import demo_choice, demo_corpus, demo_corpus_chunks, demo_nli
from cuecard.data.demo.planted import CHOICE_CUES, NLI_CUES, Cue, Demo, PlantedCue, demo_files, write_demo
from cuecard.data.demo.predictions import demo_battles, demo_judge, demo_predictions

__all__ = [
    "CHOICE_CUES",
    "NLI_CUES",
    "Cue",
    "Demo",
    "PlantedCue",
    "demo_battles",
    "demo_choice",
    "demo_corpus",
    "demo_corpus_chunks",
    "demo_files",
    "demo_judge",
    "demo_nli",
    "demo_predictions",
    "write_demo",
]
