"""Generated data with known answers: sets with planted cues, clean controls, and a corpus for benchmarks."""

from cuecard.data.demo.choice import demo_choice
from cuecard.data.demo.corpus import demo_corpus, demo_corpus_chunks
from cuecard.data.demo.cues import CHOICE_CUES, NLI_CUES, Cue, Demo, PlantedCue
from cuecard.data.demo.hidden_leaks import (
    demo_elimination,
    demo_long_answers,
    demo_rare_choices,
    demo_sources,
    demo_template,
    demo_unbalanced,
)
from cuecard.data.demo.judges import demo_judge
from cuecard.data.demo.nli import demo_nli
from cuecard.data.demo.predictions import demo_predictions
from cuecard.data.demo.preferences import demo_battles
from cuecard.data.demo.shapes import mixed_choices, random_labels, repeated, with_weights
from cuecard.data.demo.writing import demo_files, write_demo

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
    "demo_elimination",
    "demo_files",
    "demo_judge",
    "demo_long_answers",
    "demo_nli",
    "demo_predictions",
    "demo_rare_choices",
    "demo_sources",
    "demo_template",
    "demo_unbalanced",
    "mixed_choices",
    "random_labels",
    "repeated",
    "with_weights",
    "write_demo",
]
