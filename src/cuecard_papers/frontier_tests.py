"""What every set of predictions is judged by: words that were corrected for, words that were not, hard examples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cuecard.analysis import Summary
from cuecard.audits import Cues
from cuecard.data import Examples, Instances
from cuecard.errors import InputError
from cuecard.features import Bigrams
from cuecard.models.bias_experts import BiasExpert
from cuecard.models.text_model import partial_condition
from cuecard.probes import CueSet, Predictions, check_test
from cuecard.probes.cues.cue_set import WordTests
from cuecard.remedies import LexicalWeights
from cuecard.remedies.correction import ListedCues, scored
from cuecard.stats.arrays import Bools, Floats

#: Prefix of a test's columns → what it is about; the first are the listed words themselves.
TESTS = {
    "": "listed words",
    "half_": "other half of the listed words",
    "next_": "next words",
    "bigram_": "bigrams",
}


@dataclass(frozen=True, eq=False)
class FrontierTests:
    """The cue sets of the test split by prefix, and the examples that the hypothesis alone gets wrong."""

    listed: ListedCues
    next: ListedCues
    bigrams: ListedCues
    cue_sets: dict[str, CueSet]
    hard: Bools | None

    @classmethod
    def of(cls, data: Instances, *, per_label: int) -> FrontierTests:
        """Return the tests of a dataset: the words of highest z per label, every second, as many more, and bigrams."""
        encoded = LexicalWeights().encode(data.train_and_test)
        audit = Cues(
            tokens=encoded.tokeniser,
            scope="hypothesis" if data.grouped else "both",
            language=encoded.language,
        )
        listed = ListedCues.of(data, audit, per_label=per_label)
        [following] = listed.following(data, per_label, 1)
        bigram_table = WordTests.of(audit.encode(data), family=Bigrams()).highest(per_label)
        bigrams = ListedCues(bigram_table.select(pl.lit("bigram").alias("family"), "feature", "label"), audit)
        lists = {
            "": listed,
            "half_": listed.only(slice(1, None, 2)),
            "next_": following,
            "bigram_": bigrams,
        }
        sets = {name: cues.cue_set(data) for name, cues in lists.items()}
        return cls(listed, following, bigrams, sets, _hard(data))

    def row(self, probabilities: Floats) -> Summary:
        """Return accuracy, the permutation tests of every cue set, and accuracy on the hard subset."""
        examples = self.cue_sets[""].examples
        answers = Predictions("model", probabilities.argmax(axis=1), probabilities)
        row: Summary = {}
        for prefix, cues in self.cue_sets.items():
            outcome = scored(answers, cues)
            if not prefix:
                row |= outcome
            else:
                kept = ("gap", "gap_low", "gap_high", "log10_p", "log10_p_within_label")
                row |= {f"{prefix}{name}": outcome[name] for name in kept}
        if self.hard is not None:
            row["hard_accuracy"] = float(answers.correct(examples)[self.hard].mean())
        return row


def _hard(data: Instances) -> Bools | None:
    """Return which test examples a linear model of partial input gets wrong; None for single texts."""
    if data.task == "text":
        return None
    examples = check_test(data)
    expert = BiasExpert(partial_condition(data)).log_probabilities(data.train, examples.instances)
    return np.asarray(expert.argmax(axis=1) != examples.gold)


def transfer_accuracy(probabilities: Floats, part: Instances) -> float:
    """Return the accuracy on another set; of fewer labels, the most likely of those that it has is the answer."""
    gold = Examples(part).gold
    if part.grouped:
        return float((probabilities.argmax(axis=1) == gold).mean())
    seen = np.unique(gold)
    return float((seen[probabilities[:, seen].argmax(axis=1)] == gold).mean())


def with_labels_of(part: Instances, labels: tuple[str, ...]) -> Instances:
    """Return another set with the training set's labels, whose names may differ in upper and lower case."""
    if part.grouped:
        return part
    own = {label.casefold(): label for label in labels}
    unknown = [label for label in part.labels if label.casefold() not in own]
    if unknown:
        raise InputError(
            f"{part.name} has the label {unknown[0]!r}, the training set has {', '.join(labels)}: rename it with "
            "--labels."
        )
    names = {label: own[label.casefold()] for label in part.labels}
    column = part.table["label"].cast(pl.String).replace(names).cast(pl.Enum(labels))
    return replace(part, table=part.table.with_columns(column), labels=labels)
