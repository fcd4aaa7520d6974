"""Baselines that learn nothing, or only counts: rules by place, length and frequency, and which rows they are about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits.partial_input.cross_fit import Evaluation
from cuecard.audits.partial_input.folds import similar_examples
from cuecard.audits.partial_input.guesses import Guesses, gold_of, guess_rows, guess_tied_labels
from cuecard.audits.partial_input.judging import Baseline, Chain, interval, measured
from cuecard.audits.partial_input.slices import metadata_features, response_columns
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.fingerprint import Hashes
from cuecard.data.row_numbers import side_keys
from cuecard.data.units import UnitScope
from cuecard.data.weights import unequal_weights
from cuecard.models.linear.input_features import (
    Binned,
    Block,
    FeatureBlocks,
    InputRows,
    State,
    WithinExample,
    WordBlock,
    feature_blocks,
    side_by_side,
)
from cuecard.models.linear.learner import Features, Indicators, InputMatrix
from cuecard.stats import log10_p
from cuecard.stats.arrays import Bools, Floats, Ints, chunks
from cuecard.stats.scores.contingency import combined_log_p, contingency_log_p, place_log_p, rank_log_p
from cuecard.stats.weighted import effective_sample_size
from cuecard.text import encode

#: "relation": a figure about both texts that reads neither. It may predict for good reasons, where what is
#: told in one text is asked of the other, so it is scored, and not called a leak.
InputKind = Literal["content-blind", "relation", "partial", "full"]


@dataclass(frozen=True, eq=False)
class InputFeatures:
    """A named input and its features, one row per instance."""

    name: str
    kind: InputKind
    matrix: Features
    #: What examples must share to be one observation about this input.
    unit: UnitScope
    #: The hashes of its first columns where these are n-grams of the hypothesis, and their number of words.
    slots: Ints | None = None
    ngrams: int = 0


def rows_of(data: Instances, *, tokens: str | None = None) -> InputRows:
    """Return what the inputs of a dataset are made of."""
    return InputRows(encode(data, tokens=tokens), data.first_rows, stable=False)


def conditions(
    rows: InputRows, examples: Examples, *, ngrams: int = 2, extra: Sequence[pl.Series] = ()
) -> list[InputFeatures]:
    """Return the inputs that apply to the task, content-blind ones first, the full input last.

    Bins and document frequencies come from train rows; labels are never looked at. `extra` are columns beside the
    texts, one value per example, which are an input of their own.
    """
    data = examples.instances
    train = data.in_splits("train")
    if not train.any():
        train = np.ones(len(data), dtype=np.bool_)
    build = _Features(rows, train)
    task = data.task
    words = (build.slots(ngrams), ngrams)
    full = InputFeatures(
        "full", "full", build.all_of(feature_blocks(task, "full", ngrams=ngrams)), "example", *words
    )
    if not data.grouped:
        length = InputFeatures(
            "length", "content-blind", build.only(Binned("hypothesis length")), "hypothesis"
        )
        blind = [length]
        if extra:
            blind.append(InputFeatures("metadata", "content-blind", metadata_features(extra), "example"))
        if task == "text":
            return [*blind, full]
        hypothesis, premise = (
            build.all_of(feature_blocks(task, which, ngrams=ngrams)) for which in ("hypothesis", "premise")
        )
        return [
            *blind,
            InputFeatures("overlap", "relation", build.only(Binned("overlap")), "example"),
            InputFeatures("hypothesis_only", "partial", hypothesis, "hypothesis", *words),
            InputFeatures("premise_only", "partial", premise, "premise"),
            full,
        ]
    lengths = build.only(Binned("relative length"), WithinExample("length"))
    overlap = build.only(Binned("share"), WithinExample("overlap"))
    choices = build.all_of(feature_blocks(task, "choices", ngrams=ngrams))
    inputs = [
        InputFeatures("length", "content-blind", lengths, "choices"),
        InputFeatures("overlap", "relation", overlap, "example"),
        InputFeatures("choices_only", "partial", choices, "choices", *words),
        full,
    ]
    if task == "choice":
        place = data.table["position"].to_numpy()
        by_place = Indicators((place,), (int(place.max(initial=0)) + 1,))
        inputs.insert(0, InputFeatures("position", "content-blind", by_place, "choices"))
    beside = response_columns(examples)
    if beside:
        inputs.insert(0, InputFeatures("metadata", "content-blind", metadata_features(beside), "choices"))
    return inputs


@dataclass(frozen=True, eq=False)
class _Features:
    """Blocks of features, learned and made once where several inputs have them."""

    rows: InputRows
    train: Bools
    learned: dict[Block, State] = field(default_factory=dict)
    made: dict[Block, sparse.csr_matrix] = field(default_factory=dict)

    def only(self, *blocks: Block) -> Features:
        return self._matrix([(block, 1.0) for block in blocks])

    def all_of(self, wanted: FeatureBlocks) -> Features:
        return self._matrix(list(wanted.values()))

    def _matrix(self, wanted: Sequence[tuple[Block, float]]) -> Features:
        if self.rows.many:
            return InputMatrix.of(self.rows, [(b, share, self._state(b)) for b, share in wanted])
        return side_by_side(*(share * self._block(block) for block, share in wanted))

    def slots(self, ngrams: int) -> Ints:
        """Return the hashes of the n-grams of the hypothesis, in the order of their columns."""
        return self._state(WordBlock("hypothesis", ngrams))["slots"]

    def _state(self, block: Block) -> State:
        if block not in self.learned:
            self.learned[block] = block.learn(self.rows, self.train)
        return self.learned[block]

    def _block(self, block: Block) -> sparse.csr_matrix:
        if block not in self.made:
            self.made[block] = block.maker(self._state(block))(self.rows)
        return self.made[block]


def majority(examples: Examples, learn: Ints, guess: Ints) -> Guesses:
    """Return the guesses that always name the commonest label of the examples `learn`."""
    k, n, space = len(examples.instances.labels), len(guess), examples.instances.space
    label = int(examples.label_sums(learn).argmax())
    return Guesses(
        score=space.computed(np.bool_, n, lambda chunk: examples.gold[guess[chunk]] == label),
        named=np.broadcast_to(np.int64(1), n),
        options=np.broadcast_to(np.int64(k), n),
        answer=np.broadcast_to(np.int64(label), n),
        probability=null_probability(examples, learn, guess),
        weight=examples.weight(guess),
        space=space,
    )


def null_probability(examples: Examples, learn: Ints, guess: Ints) -> Floats:
    """Return what a model that sees nothing gives the right answer: its label's share, or 1/k.

    Shares are smoothed by one count per label, so that a label new to `guess` is improbable, not impossible.
    """
    space = examples.instances.space
    if examples.instances.grouped:
        return space.computed(np.float64, len(guess), lambda chunk: 1 / examples.options[guess[chunk]])
    shares = null_shares(examples, learn)
    return space.computed(np.float64, len(guess), lambda chunk: shares[examples.gold[guess[chunk]]])


def null_shares(examples: Examples, learn: Ints) -> Floats:
    """Return the share of every label among some examples, smoothed by one count per label."""
    counts = examples.label_sums(learn) + 1.0
    return np.asarray(counts / counts.sum())


def length_rules(examples: Examples, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses that name the choice with most, or fewest, characters; ties share the hit."""
    characters = examples.instances.characters("hypothesis")[examples.rows(guess)]
    margins, gold, sizes = characters.astype(np.float64), examples.gold[guess], examples.options[guess]
    space = examples.instances.space
    return {
        name: guess_rows(sign * margins, gold, sizes).weighted(examples.weight(guess)).stored(space)
        for name, sign in (("longest", 1.0), ("shortest", -1.0))
    }


#: With fewer examples than this that a rule says anything about, it is left out.
FEWEST_EXAMPLES = 20

TextColumn = Literal["premise", "hypothesis"]
#: The rules by name, as (column, whether the label it has least).
LABEL_RULES: dict[str, tuple[TextColumn, bool]] = {
    "premise_least": ("premise", True),
    "premise_most": ("premise", False),
    "hypothesis_least": ("hypothesis", True),
    "hypothesis_most": ("hypothesis", False),
}
#: The rules by name, as whether they take the rarer choice.
CHOICE_RULES: dict[str, bool] = {"rarest_choice": True, "commonest_choice": False}


def label_rules(examples: Examples, learn: Ints, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses of every rule that names the label a text has least, or most, among the examples `learn`.

    Labels that are tied share the hit; so do all labels where the text is new. Where the premise of a pair occurs with
    every label, what train lacks is what test has.
    """
    rules = {}
    for name, (column, least) in LABEL_RULES.items():
        counts = _label_counts(examples, learn, guess, column)
        if (counts.min(axis=1) < counts.max(axis=1)).sum() >= FEWEST_EXAMPLES:
            guesses = guess_tied_labels(-counts if least else counts, examples.gold[guess])
            guesses = guesses.weighted(examples.weight(guess))
            guesses = guesses.in_units(examples.units(column, guess))
            rules[name] = guesses.stored(examples.instances.space)
    return rules


def choice_rules(examples: Examples, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses that take the choice whose text occurs least, or most, often in the whole dataset."""
    counts = _occurrences(examples)
    margins, sizes = counts[examples.rows(guess)], examples.options[guess]
    units = _units_of_choices(examples, guess)
    rules = {}
    for name, rarer in CHOICE_RULES.items():
        guesses = guess_rows(-margins if rarer else margins, examples.gold[guess], sizes)
        if (guesses.named < sizes).sum() >= FEWEST_EXAMPLES:
            guesses = guesses.weighted(examples.weight(guess))
            rules[name] = guesses.in_units(units).stored(examples.instances.space)
    return rules


def _units_of_choices(examples: Examples, which: Ints) -> Ints:
    """Return the units of some questions: copies share one, and similar ones where their answers agree."""
    similar = similar_examples(examples, "choices", which)
    return examples.instances.space.stored(examples.units("choices", which) if similar is None else similar)


def _label_counts(examples: Examples, learn: Ints, guess: Ints, column: TextColumn) -> Floats:
    """Return how often the text of each example of `guess` has each label among `learn`; an empty text never."""
    keys, filled = side_keys(examples.instances, column)
    # Texts of the training examples that are asked for are counted: all of them may be too many for memory.
    asked, there = keys[guess], filled[guess]
    texts, k = np.unique(asked[there]), len(examples.instances.labels)
    table = np.zeros((len(texts), k), dtype=np.int64)
    for chunk in chunks(len(learn) if len(texts) else 0):
        learned = learn[chunk][filled[learn[chunk]]]
        place = _places(texts, keys[learned])
        known = texts[place] == keys[learned]
        cells = place[known] * k + examples.gold[learned[known]]
        table += np.bincount(cells, minlength=table.size).reshape(table.shape)
    counts = np.zeros((len(guess), k))
    counts[there] = table[_places(texts, asked[there])]
    return counts


def _places(texts: Hashes, keys: Hashes) -> Ints:
    """Return where keys are, or would be, among sorted ones."""
    return np.minimum(np.searchsorted(texts, keys), max(len(texts) - 1, 0))


def _occurrences(examples: Examples) -> Floats:
    """Return how often the text of every row occurs; only texts with a copy or near copy need to be compared."""
    data = examples.instances
    counts, some = np.ones(len(data)), np.arange(len(data))
    if data.cluster is None:
        units = data.units("hypothesis")
        some = np.flatnonzero(np.bincount(units, minlength=1)[units] > 1)
    keys = side_keys(data, "hypothesis")[0][some]
    _, code, times = np.unique(keys, return_inverse=True, return_counts=True)
    counts[some] = times[code]
    return counts


_KEPT = "_partial_input_battery"


@dataclass(frozen=True, eq=False)
class Battery:
    """The guesses of everything that should not be enough, by name, for the examples `scored`."""

    examples: Examples
    scored: Ints
    guesses: Mapping[str, Guesses]
    #: How much more the hits of an input vary than independent ones, where it was cross-fitted.
    inflation: Mapping[str, float]
    #: The column of weights, if examples have any.
    weights: str | None

    def keep(self, data: Instances) -> None:
        """Keep the guesses with the dataset, for audits that look at them more closely."""
        data.remembered[_KEPT] = self

    @staticmethod
    def kept(data: Instances, weights: str | None) -> Battery | None:
        """Return the guesses that were kept with the dataset, if they were made with these weights."""
        battery = data.remembered.get(_KEPT)
        return battery if isinstance(battery, Battery) and battery.weights == weights else None


def blind_rules(examples: Examples, train: Ints, test: Ints) -> dict[str, Guesses]:
    """Return the guesses of the rules that apply: by length and frequency of choices, or by labels of texts in train.

    What label a text has least or most is counted in train and tried on test, so it needs a test split.
    """
    if not examples.instances.grouped:
        return label_rules(examples, train, test) if len(test) else {}
    scored = test if len(test) else train
    units = _units_of_choices(examples, scored)
    rules = {name: guesses.in_units(units) for name, guesses in length_rules(examples, scored).items()}
    return rules | choice_rules(examples, scored)


def blind_battery(data: Instances, weights: str | None) -> Battery:
    """Return the guesses of blind rules alone, on test where it exists, otherwise on train."""
    used = data.in_splits("train", "test")
    row_weights = unequal_weights(data, weights)
    if row_weights is not None:
        used &= row_weights > 0
        row_weights = row_weights[used]
    examples = Examples.of_rows(data.rows(used), row_weights)
    train, test = (examples.of_split(name) for name in ("train", "test"))
    scored = test if len(test) else train
    return Battery(examples, scored, blind_rules(examples, train, test), {}, weights)


def rule_lines(examples: Examples, rules: Mapping[str, Guesses], train: Ints, scored: Ints) -> list[Baseline]:
    """Return a line for every rule, with what always naming the commonest label gives where there is one."""
    grouped, gold = examples.instances.grouped, gold_of(examples, scored)
    lines = []
    if not grouped:
        always = measured("majority", "reference", majority(examples, train, scored), gold, grouped=False)
        lines += [always, _prior(always, examples, train, scored)]
    return lines + [
        measured(name, "content-blind", rule, gold, grouped=grouped) for name, rule in rules.items()
    ]


def input_line(examples: Examples, source: InputFeatures, done: Evaluation, null: Floats) -> Baseline:
    """Return the line of an input; `null` is what a model that sees nothing gives the right answers."""
    chain = Chain(
        done.fold, done.inflation, done.tested, done.tested_fold, gold_of(examples, done.tested_examples)
    )
    gold, grouped = gold_of(examples, done.examples), examples.instances.grouped
    line = measured(source.name, source.kind, done.guesses, gold, grouped=grouped, null=null, chain=chain)
    if done.inflation == 1.0:
        return line
    # What these inputs tell can be tested without a model, and so without a cross-fit, on all examples at once.
    if source.name == "position":
        guesses = done.guesses
        log_p = place_log_p(gold, guesses.options, units=guesses.unit, weights=guesses.weight)
        direction = "above" if log_p < 0 and line.accuracy > line.chance else line.direction
        return _tested(line, log_p, "places", direction)
    of_figures = None if grouped else _figures_log_p(source, examples, done, gold)
    return line if of_figures is None else _tested(line, of_figures, "figures", "above")


def _tested(line: Baseline, log_p: float, test: str, direction: str) -> Baseline:
    return replace(
        line, p_value=math.exp(log_p), log10_p=float(log10_p(log_p)), test=test, direction=direction
    )


#: Figures of one or both texts, cut into bins. With more examples than this a model of earlier folds misses nothing.
FIGURES, MOST_FIGURES = ("length", "overlap"), 20_000


def _figures_log_p(source: InputFeatures, examples: Examples, done: Evaluation, gold: Ints) -> float | None:
    """Return the log p-value of the figures of an input against the labels, one example of each unit counting.

    What is counted of both texts goes with copies of either, so that the larger p-value counts. None where weights or
    templates count, which these tests do not allow for.
    """
    if source.name not in FIGURES or len(done.guesses) > MOST_FIGURES or done.guesses.weight is not None:
        return None
    scopes: tuple[UnitScope, ...] = ("hypothesis", "premise") if source.name == "overlap" else ("hypothesis",)
    rows, found = examples.rows(done.examples), []
    for scope in scopes:
        guesses = done.weighted(examples, scope).guesses
        if guesses.template is not None:
            return None
        unit = np.arange(len(rows)) if guesses.unit is None else guesses.unit
        first = np.sort(np.unique(unit, return_index=True)[1])
        labels = gold[first]
        bins = source.matrix[rows[first]].tocsr().indices.reshape(len(first), -1)
        tests = [
            combined_log_p([rank_log_p(figure, labels), contingency_log_p(figure, labels)])
            for figure in np.sort(bins, axis=1).T
        ]
        found.append(min(0.0, math.log(len(tests)) + min(tests)))
    return max(found)


def _prior(always: Baseline, examples: Examples, train: Ints, scored: Ints) -> Baseline:
    """Return the line of guessing each label as often as train has it: right by luck alone."""
    sums = examples.label_sums(train)
    shares, always_named = sums / sums.sum(), majority(examples, train, scored)
    expected = always_named.computed(lambda chunk: shares[examples.gold[scored[chunk]]])
    guesses = replace(always_named, score=expected)
    accuracy = guesses.mean(guesses.score)
    # What is expected of a guess does not vary as the guess does, so its spread under weights says nothing.
    weight = guesses.weight
    score = guesses.score if weight is None else np.full(round(effective_sample_size(weight)), accuracy)
    low, high = interval(score)
    return replace(
        always,
        name="prior",
        accuracy=accuracy,
        low=low,
        high=high,
        luck=accuracy,
        p_value=1.0,
        log10_p=0.0,
        delta_majority=accuracy - always.chance,
    )
