"""The cues that predictions are corrected for, and what every answer would make of an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Row
from cuecard.audits import Cues
from cuecard.audits.partial_input.folds import make_folds
from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.features import FAMILIES, Words
from cuecard.models.bias_experts import (
    BiasExpert,
    cross_fitted,
    expert_log_probabilities,
    fit_expert,
)
from cuecard.models.examples import by_example
from cuecard.models.fitted import prediction_table
from cuecard.probes import CueSet, PermutationTest, Predictions, check_test
from cuecard.probes.cues.cue_set import WordTests, choose_cues
from cuecard.probes.cues.members import presence_of
from cuecard.remedies.tuning import Aim, Method, Part, Tuned, tune
from cuecard.stats import wilson
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.correction import CueGroups
from cuecard.text import Encoded
from cuecard.wording import plural

#: Level of the tests of the gap, and of the q-values of words that a correction is for.
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class ListedCues:
    """Cues by `family` and `feature`, each with its usual `label`, and the cue audit that reads them."""

    table: pl.DataFrame
    audit: Cues
    significant: bool = True
    """Whether there was a significant word among those that were asked for."""

    @classmethod
    def of(
        cls,
        data: Instances,
        audit: Cues,
        *,
        names: Sequence[str] = (),
        per_label: int = 50,
        maximum_q: float = 1.0,
    ) -> ListedCues:
        """Return the named cues, otherwise the words of highest z per label, as the permutation test lists them."""
        if names:
            audit = _with_places(audit, names)
            chosen = choose_cues(data, audit, audit.run(data).tables["cues"], names=names)
            return cls(chosen.table.select("family", "feature", "label"), audit)
        words = WordTests.of(audit.encode(data)).highest(per_label, maximum_q=maximum_q)
        return cls(words.select(pl.lit("word").alias("family"), "feature", "label"), audit)

    def following(
        self, data: Instances, per_label: int, bands: int, *, maximum_q: float = 1.0
    ) -> list[ListedCues]:
        """Return further lists of as many words per label, those that follow in z; no word is in two lists."""
        lists, before = [], self.table["feature"].to_list()
        for band in range(2, bands + 2):
            words = ListedCues.of(data, self.audit, per_label=band * per_label, maximum_q=maximum_q).table
            further = words.filter(~pl.col("feature").is_in(before))
            if further.height:
                lists.append(replace(self, table=further))
                before += further["feature"].to_list()
        return lists

    def only(self, kept: slice) -> ListedCues:
        """Return some of the cues."""
        return replace(self, table=self.table[kept])

    def cue_set(self, data: Instances) -> CueSet:
        """Return which test instances have the cues."""
        encoded, everywhere = self._presence(data)
        having = everywhere[len(data.train) :]
        return CueSet(check_test(data), encoded, self.table, sparse.csr_matrix(having))

    def rows(self, data: Instances) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Return which training and which test instances have each cue, a cue of two labels once."""
        _, everywhere = self._presence(data)
        first = self.table.with_row_index("at").unique(
            ["family", "feature"], keep="first", maintain_order=True
        )
        columns = everywhere[:, first["at"].to_numpy().astype(np.int64)]
        return columns[: len(data.train)], columns[len(data.train) :]

    def _presence(self, data: Instances) -> tuple[Encoded, sparse.csr_matrix]:
        if self.table["family"].unique().to_list() == ["word"]:
            encoded = self.audit.encode(data)
            return encoded, presence_of(self.table, encoded, [Words()])
        encoded, families = self.audit.prepared(data)
        return encoded, presence_of(self.table, encoded, families)


def beside(data: Instances, chosen: Bools) -> Instances:
    """Return a benchmark of one file as the test split, beside some of its examples as the training set."""
    table, kind = data.table, data.table.schema["split"]
    first = table.filter(pl.Series(chosen[data.example_codes]))
    named = [
        part.with_columns(split=pl.lit(name).cast(kind)) for part, name in ((first, "train"), (table, "test"))
    ]
    return replace(data, table=pl.concat(named))


def _with_places(audit: Cues, names: Sequence[str]) -> Cues:
    """Return the audit with the families that names such as "concept=FOLDER:NAME" read from a place, too."""
    places = {
        name.rpartition(":")[0]
        for name in names
        if "=" in name and name.partition("=")[0] in FAMILIES.names()
    }
    return replace(audit, features=(*audit.families(), *sorted(places)), regex=()) if places else audit


def cue_groups(cues: CueSet, *, both: bool = True) -> CueGroups:
    """Return for every test example and answer whether a cue would have its usual label, or another.

    `both`: whether to raise if no example has one of them.
    """
    test = cues.examples.instances
    codes = np.array([test.labels.index(label) for label in cues.table["label"]], dtype=np.int64)
    having = sparse.csr_matrix(cues.instances_having)
    if not test.grouped:
        of_label = sparse.csr_matrix(np.eye(len(test.labels))[codes])
        counts = (having @ of_label).toarray()
        groups = CueGroups(counts > 0, counts.sum(axis=1, keepdims=True) - counts > 0)
    else:
        usual, unusual = _of_choices(cues, codes == 0)
        groups = CueGroups(_answers(usual, test), _answers(unusual, test))
    usual, unusual = groups.with_answers(cues.examples.gold)
    if both and not (usual.any() and unusual.any()):
        raise InputError(
            f"{test.name} has no {test.splits[0]} examples with a cue and its usual label, or none with another "
            "label: name cues that these examples have with --cues."
        )
    return groups


def _of_choices(cues: CueSet, of_right: Bools) -> tuple[Bools, Bools]:
    """Return which choices, were they right, would have a cue as usual, and not; cues of all choices say nothing."""
    active = cues.members.having[cues.examples.instances.example_codes]
    has = cues.instances_having.multiply(active).tocsr()
    right, wrong = of_right.astype(np.float64), (~of_right).astype(np.float64)
    lacks = active - has
    return (has @ right + lacks @ wrong) > 0, (has @ wrong + lacks @ right) > 0


def _answers(rows: Bools, test: Instances) -> Bools:
    of_examples: Floats = by_example(rows.astype(np.float64), test, empty=0.0)
    return of_examples > 0


METHODS: tuple[str, ...] = get_args(Method)
AIMS: tuple[str, ...] = get_args(Aim)
#: The expert that reads the listed cues themselves.
LISTED = "cues"
#: Standard deviations from zero within which a test is not significant at this level, in either direction.
CLOSED = 1.96
#: What an answer makes of an example, see `CueGroups`.
MEMBERS = ("usual", "unusual")


@dataclass(frozen=True, eq=False)
class Corrected:
    """Corrected predictions of the test examples, and what the correction changed.

    Attributes:
        predictions: example_id, split, gold, prediction and p_<answer> of every example, as `cuecard probe` reads them.
        metrics: method, aim, strengths and what they were chosen on; accuracy, gap and p-values before and after.
    """

    predictions: pl.DataFrame
    metrics: Row
    probabilities: Floats = field(repr=False)


@dataclass(frozen=True)
class Correction:
    """Take out of a model's probabilities what cues predict, as much as an aim asks for.

    Args:
        method: "constraint" takes the most accurate answers for which correctness does not depend on cues: a factor per
            answer and group of the permutation test, with one multiplier for the test over all examples and one for
            that within right answers. "expert" divides p(answer | input) by p(answer | cues)^strength (a product of
            experts, undone at prediction time).
        aim: "gap" closes the gap of accuracy between examples whose cues have their usual label and others, for the
            least loss of accuracy; "worst-group" makes the worse of both groups as accurate as it gets.
        cues: cues to correct for, such as "sleeping" or "length:longest"; by default the words of highest z among those
            that are significant in the training set. Others would dilute the gap that is closed and reported.
        per_label: how many words per label these are, at most.
        bands: how many such lists there are; the next ones have the words that follow, and multipliers of their own.
        expert: what the expert reads: "cues" (those listed), or anything that `BiasExpert` takes.
        strength: of the correction, instead of one that is tuned.
        margin: how many standard deviations from zero both permutation tests may be where the strength is tuned.
        folds: parts of the test set to tune on each other, where there are no dev predictions.
        seed: of these folds.
    """

    method: Method = "constraint"
    aim: Aim = "gap"
    cues: tuple[str, ...] = ()
    per_label: int = 50
    bands: int = 1
    expert: str = LISTED
    strength: float | None = None
    margin: float = 0.5
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no time."""
        for option, value, names in (("method", self.method, METHODS), ("aim", self.aim, AIMS)):
            if value not in names:
                raise UsageError(f"Unknown {option} {value!r}: choose one of {', '.join(names)}.")
        if self.expert != LISTED:
            BiasExpert(self.expert)
            if self.method != "expert":
                raise UsageError("--expert only applies to --method expert: add it, or leave out --expert.")
        if self.strength is not None and not 0 <= self.strength < np.inf:
            raise UsageError(f"strength must be a number of at least 0, not {self.strength}.")
        if not 0 <= self.margin < np.inf:
            raise UsageError(f"margin must be a number of at least 0, not {self.margin}.")
        if self.per_label < 1 or self.bands < 1 or self.folds < 2:
            raise UsageError("per_label and bands must be at least 1 and folds at least 2.")
        if self.bands > 1 and (self.cues or self.method == "expert"):
            raise UsageError(
                "--bands only applies to words by z and --method constraint: leave out --cues and --expert."
            )

    def run(
        self,
        data: Instances,
        predictions: Predictions,
        dev: tuple[Instances, Predictions] | None = None,
        *,
        audit: Cues | None = None,
    ) -> Corrected:
        """Return the corrected predictions of the test split.

        Args:
            data: a dataset with a test split. Without training examples, the cues of an example are those of the folds
                that it is not in, and so is the strength.
            predictions: a model's predictions of the test split, with probabilities.
            dev: a dataset with the same training set whose test split is the dev split, and predictions of that.
            audit: the cue audit whose tokens and scope say which examples have a cue.
        """
        if "train" not in data.splits:
            return self._one_file(data, predictions, audit or Cues())
        listed = self._listed(data, audit or Cues())
        cue_set = listed.cue_set(data)
        part = self._part(data, predictions, listed)
        if dev is None:
            probabilities, tuned = self._cross_fitted(data, part)
        else:
            dev_data, dev_predictions = dev
            tuned = [self._tuned(self._part(dev_data, dev_predictions, listed))]
            probabilities = tuned[0].apply(part)
        done = self._corrected(data, predictions, probabilities, tuned, cue_set, on="dev" if dev else "test")
        return replace(done, metrics={**done.metrics, "significant": listed.significant})

    def _listed(self, data: Instances, audit: Cues) -> ListedCues:
        """Return the named cues, otherwise the significant words; where there is none, those of highest z."""
        listed = ListedCues.of(data, audit, names=self.cues, per_label=self.per_label, maximum_q=ALPHA)
        if not listed.table.is_empty():
            return listed
        every = ListedCues.of(data, audit, per_label=self.per_label)
        if every.table.is_empty():
            raise InputError(f"{data.name} has no words to correct for: name cues with --cues.")
        return replace(every, significant=False)

    def _one_file(self, data: Instances, predictions: Predictions, audit: Cues) -> Corrected:
        """Correct every fold for the cues of the others, with strengths that were tuned there."""
        gold = check_test(data).gold
        fold = self._test_folds(data, gold)
        whole = beside(data, np.ones(len(gold), np.bool_))
        listed = self._listed(whole, audit)
        cue_set = listed.cue_set(whole)
        probabilities: list[Floats] = []
        groups: list[CueGroups] = []
        tuned: list[Tuned] = []
        numbers = [np.flatnonzero(fold == number) for number in np.unique(fold)]
        for here in numbers:
            others = np.setdiff1d(np.arange(len(gold)), here)
            part = self._part_without(data, predictions, here, audit)
            tuned.append(self._tuned(part.take(others)))
            probabilities.append(tuned[-1].apply(part.take(here)))
            groups.append(part.bands[0].take(here))
        order = np.argsort(np.concatenate(numbers))
        members = CueGroups(*(np.concatenate([getattr(g, name) for g in groups])[order] for name in MEMBERS))
        corrected = np.concatenate(probabilities)[order]
        done = self._corrected(data, predictions, corrected, tuned, cue_set, on="file", groups=members)
        return replace(done, metrics={**done.metrics, "significant": listed.significant})

    def _part_without(self, data: Instances, predictions: Predictions, here: Ints, audit: Cues) -> Part:
        """Return all examples with the cues of those that are not here; no expert has seen what it predicts."""
        chosen = np.ones(data.n_examples, np.bool_)
        chosen[here] = False
        without = beside(data, chosen)
        listed = self._listed(without, audit)
        part = self._part(without, predictions, listed)
        if part.expert is None:
            return part
        if self.expert == LISTED:
            seen = cross_fitted(listed.rows(without)[0], without.train)
        else:
            seen = BiasExpert(self.expert, per_label=self.per_label).cross_fitted(without.train)
        part.expert[chosen, : seen.shape[1]] = seen
        return part

    def _tuned(self, part: Part) -> Tuned:
        fixed = (
            None
            if self.strength is None
            else (self.strength,) * (1 if self.method == "expert" else 2 * len(part.bands))
        )
        return tune(part, self.aim, fixed=fixed, margin=self.margin)

    def _part(self, data: Instances, predictions: Predictions, listed: ListedCues) -> Part:
        if predictions.probabilities is None:
            raise InputError(
                f"{predictions.model} has predictions without probabilities: give columns p_<answer>, one per answer."
            )
        expert = self._expert(data, listed) if self.method == "expert" else None
        lists = [listed, *listed.following(data, self.per_label, self.bands - 1, maximum_q=ALPHA)]
        groups = tuple(cue_groups(cues.cue_set(data)) for cues in lists)
        return Part(predictions.probabilities, check_test(data).gold, groups, expert)

    def _expert(self, data: Instances, listed: ListedCues) -> Floats:
        test = check_test(data).instances
        if self.expert != LISTED:
            return BiasExpert(self.expert, per_label=self.per_label).log_probabilities(data.train, test)
        train_rows, test_rows = listed.rows(data)
        return expert_log_probabilities(fit_expert(train_rows, data.train), test_rows, test)

    def _cross_fitted(self, data: Instances, part: Part) -> tuple[Floats, list[Tuned]]:
        """Correct every fold of the test examples with strengths that were tuned on the others."""
        fold = self._test_folds(data, part.gold)
        probabilities, tuned = part.probabilities.copy(), []
        for number in np.unique(fold):
            here, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            tuned.append(self._tuned(part.take(others)))
            probabilities[here] = tuned[-1].apply(part.take(here))
        return probabilities, tuned

    def _test_folds(self, data: Instances, gold: Ints) -> Ints:
        test = check_test(data).instances
        if self.strength is None and len(gold) < 10 * self.folds:
            one_file = "train" not in data.splits
            where = "a benchmark of one file" if one_file else "the test split"
            dev = "" if one_file else "dev predictions with --dev and --dev-predictions, or "
            raise InputError(
                f"Tuning on {where} needs at least {10 * self.folds} examples, found {len(gold)}: give {dev}a strength "
                "with --strength."
            )
        return make_folds(test, gold, folds=self.folds, seed=self.seed).fold.astype(np.int64)

    def _corrected(
        self,
        data: Instances,
        before: Predictions,
        probabilities: Floats,
        tuned: list[Tuned],
        cue_set: CueSet,
        *,
        on: str,
        groups: CueGroups | None = None,
    ) -> Corrected:
        after = replace(before, answers=probabilities.argmax(axis=1), probabilities=probabilities)
        examples = cue_set.examples
        outcomes = {
            name: scored(one, cue_set, groups) for name, one in (("before", before), ("after", after))
        }
        metrics = {
            "model": before.model,
            "data": {"name": data.name, "fingerprint": data.fingerprint, "task": data.task},
            "method": self.method,
            "aim": self.aim,
            "expert": self.expert if self.method == "expert" else None,
            "cues": len(cue_set),
            "tuned_on": "given" if self.strength is not None else on,
            "strengths": [list(one.strengths) for one in tuned],
            "closed_where_tuned": all(one.judged.furthest_z < CLOSED for one in tuned),
            "examples": len(examples),
            "changed_answers": int((before.answers != after.answers).sum()),
            **outcomes,
        }
        return Corrected(prediction_table(examples.instances, probabilities), metrics, probabilities)


def scored(predictions: Predictions, cues: CueSet, groups: CueGroups | None = None) -> dict[str, float]:
    """Return accuracy with its interval, accuracy by group, and the permutation test over all and within answers.

    Both tests are two-sided: a correction that makes unusual labels more accurate goes too far. The paper's p is
    one-sided. `groups` are those of the cues by default.
    """
    right = predictions.correct(cues.examples)
    usual, unusual = (groups or cue_groups(cues)).with_answers(cues.examples.gold)
    outcome = PermutationTest().outcome(predictions, cues, usual, unusual, two_sided=True)
    overall = outcome.result
    low, high = (float(end) for end in wilson(int(right.sum()), len(right)))
    return {
        "accuracy": float(right.mean()),
        "low": low,
        "high": high,
        "usual_accuracy": overall.usual_accuracy,
        "unusual_accuracy": overall.unusual_accuracy,
        "gap": overall.difference,
        "gap_low": overall.low,
        "gap_high": overall.high,
        "worst_group_accuracy": min(overall.usual_accuracy, overall.unusual_accuracy),
        "log10_p": overall.log10_p,
        "log10_p_within_label": outcome.stratified,
        "log10_p_exact": outcome.exact,
    }


def gap_of(data: Instances, predictions: Predictions) -> dict[str, float] | None:
    """Return what `scored` says of test predictions for the words that a correction is for; None without such cues."""
    listed = ListedCues.of(data, Cues(), maximum_q=ALPHA)
    if listed.table.is_empty():
        return None
    try:
        return scored(predictions, listed.cue_set(data))
    except InputError:  # no example has one, or all have their usual label
        return None


def cost_sentence(metrics: Row) -> str:
    """Return in a sentence what the correction gained and what it cost."""
    before, after = metrics["before"], metrics["after"]
    change = 100 * (after["accuracy"] - before["accuracy"])
    level = float(np.log10(ALPHA))
    idle = min(before["log10_p"], before["log10_p_within_label"]) > level
    note = " The gap before is not significant: there is no evidence of cues to correct for." if idle else ""
    if not metrics.get("significant", True):
        note += (
            " No word is a significant cue, so that the words of highest z were taken: name cues with --cues."
        )
    if after["gap_high"] < 0:
        note += " It goes too far: now unusual labels are more accurate; a lower --strength does less."
    return (
        f"The correction changes {plural(metrics['changed_answers'], 'answer')} of {metrics['examples']:,}: accuracy "
        f"{100 * before['accuracy']:.1f} % → {100 * after['accuracy']:.1f} % ({change:+z.1f} points), gap between "
        f"usual and unusual labels {100 * before['gap']:+z.1f} → {100 * after['gap']:+z.1f} points.{note}"
    )
