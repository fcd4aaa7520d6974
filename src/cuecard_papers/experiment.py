"""Run a paper's experiment on a dataset and put what it shows on a card."""

from __future__ import annotations

from cuecard.analysis import Analysis
from cuecard.card.card import Card
from cuecard.data.splits import train_subset
from cuecard.limits import check_seed
from cuecard.run.finishing import check_labels
from cuecard.run.running import Data, ensure_loaded, require_done, run_analyses


def experiment(
    data: Data, analysis: Analysis, *, subset: int | None = None, seed: int = 0, command: str = ""
) -> Card:
    """Return the card of an experiment; one that cannot be run on this data is an error.

    Args:
        data: what `cuecard.load` returned, or a function that returns it.
        analysis: the experiment, such as `cuecard_papers.StubbornExperiment`.
        subset: number of random training examples to train on.
        seed: seed of the subset.
        command: what the user typed, for the card's provenance.
    """
    check_seed(seed)
    data = ensure_loaded(data)
    of_all = data.train.n_examples
    data, _ = train_subset(data, subset, seed)
    check_labels(data)
    drawn = data.train.n_examples
    notes = [f"{drawn:,} of {of_all:,} training examples, drawn with seed {seed}."] if drawn < of_all else []
    card = run_analyses(data, [analysis], command=command, notes=notes)
    require_done(card[analysis.name])
    return card
