"""Bias experts: models that answer from cues alone, so that another model can be kept from doing the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data import Examples, Instances
from cuecard.data.splits import sentence_components
from cuecard.errors import InputError, UsageError
from cuecard.features import FAMILIES, Family, Presence, Words, learned
from cuecard.features.pair_graph import leakage_features, pair_graph, sentence_codes
from cuecard.models.examples import by_example
from cuecard.models.linear.input_features import side_by_side
from cuecard.models.linear.learner import LinearModel
from cuecard.models.ngram_models.model import NGramModel
from cuecard.models.text_model import CONDITIONS, Condition, check_condition
from cuecard.registry import unknown_name
from cuecard.stats import artifact_z
from cuecard.stats.arrays import Floats, Ints
from cuecard.text import STOP_WORDS, Scope, encode, language_of, stop_words, suggested_tokeniser

#: Words of highest z per label, as the permutation test lists them; and the graph of compared sentences.
WORDS, PAIR_GRAPH = "words", "pair-graph"
#: Between the names of cues that one expert reads, and between a family and one of its features.
JOINED, OF = "+", ":"
#: Words of fewer training instances are not looked at.
MIN_COUNT = 5
#: Bins of a feature of the pair graph: 0, 1, 2–3, 4–7, …; larger values share the last.
BINS = 12


def expert_names() -> list[str]:
    """Return what an expert can read: listed words, a part of the input, the pair graph, or a feature family."""
    return [WORDS, *(name for name in CONDITIONS if name != "full"), PAIR_GRAPH, *FAMILIES.names()]


def check_cues(cues: str) -> None:
    """Raise if cues, such as "words+length" or "word:nobody", have no meaning."""
    for part in cues.split(JOINED):
        name, of, feature = part.partition(OF)
        if of and name not in FAMILIES.names():
            raise unknown_name("feature family of the expert", name, FAMILIES.names())
        if of and not feature:
            raise UsageError(
                f"The expert {part!r} names no feature: write {name}{OF}FEATURE, or {name} for all of them."
            )
        if name not in expert_names():
            raise unknown_name("cues of the expert", name, expert_names())


@dataclass(frozen=True, eq=False)
class CueReader:
    """Rows of any data as the features of all cues that are joined."""

    train: Instances
    cues: str
    per_label: int

    def rows(self, data: Instances) -> sparse.csr_matrix:
        """Return one row of features per instance."""
        return side_by_side(*(read(data) for read in self._readers))

    @cached_property
    def _readers(self) -> list[Callable[[Instances], sparse.csr_matrix]]:
        readers: list[Callable[[Instances], sparse.csr_matrix]] = []
        for name in self.cues.split(JOINED):
            if name in CONDITIONS:
                readers.append(_part_reader(self.train, name))
            elif name == PAIR_GRAPH:
                readers.append(partial(graph_rows, self.train))
            else:
                readers.append(FamilyReader(self.train, name, self.per_label).rows)
        return readers


def _part_reader(train: Instances, condition: Condition) -> Callable[[Instances], sparse.csr_matrix]:
    """Return what reads all n-grams of a part of the input, such as the hypothesis, as the linear model does."""
    model = NGramModel()
    model.learn_reading(train, condition)
    return lambda data: model.features(model.input_rows(data))


def graph_rows(train: Instances, data: Instances) -> sparse.csr_matrix:
    """Return where a pair is in the graph of the training pairs, in bins and pairs of bins.

    Pairs that are not those of the training set are added to the graph one by one.
    """
    tables = [train.table] if data is train else [train.table, data.table]
    sides = [
        pl.concat([table[side].cast(pl.String) for table in tables]) for side in ("premise", "hypothesis")
    ]
    first, second, nodes = sentence_codes(*sides)
    counted = np.arange(len(first)) < len(train)
    values = leakage_features(pair_graph(first, second, nodes, counted=counted))[-len(data) :]
    bins = np.minimum(np.ceil(np.log2(values + 1)), BINS - 1).astype(np.int64)
    n = values.shape[1]
    columns = [bins[:, i] + BINS * i for i in range(n)]
    cells = [(i, j) for i in range(n) for j in range(i)]
    columns += [n * BINS + BINS**2 * at + BINS * bins[:, i] + bins[:, j] for at, (i, j) in enumerate(cells)]
    where = np.column_stack(columns)
    indptr = np.arange(len(data) + 1) * where.shape[1]
    width = n * BINS + len(cells) * BINS**2
    return sparse.csr_matrix((np.ones(where.size), where.ravel(), indptr), shape=(len(data), width))


@dataclass(frozen=True, eq=False)
class FamilyReader:
    """Features of a family that the training set has often enough, one of them, or the words of highest z."""

    train: Instances
    name: str
    per_label: int

    def rows(self, data: Instances) -> sparse.csr_matrix:
        """Return one row of features per instance."""
        presence = self._train_presence if data is self.train else self._presence(data)
        return presence_of_names(presence, self.names)

    @cached_property
    def _reading(self) -> tuple[str, str]:
        language = language_of(self.train)
        suited = suggested_tokeniser(language)
        return ("stubborn" if suited == "default" else suited), language

    def _presence(self, data: Instances) -> Presence:
        tokens, language = self._reading
        paired = self.name == WORDS and data.task == "pair"
        scope: Scope = "both" if paired else "hypothesis"
        encoded = encode(data, tokens=tokens, scope=scope, language=language)
        if self.name == WORDS:
            return Words().presence(encoded)
        return self._family.presence(encoded)

    @cached_property
    def _family(self) -> Family:
        tokens, language = self._reading
        family = FAMILIES.get(self.name.partition(OF)[0])()
        return learned(family, encode(self.train, tokens=tokens, scope="hypothesis", language=language))

    @cached_property
    def _train_presence(self) -> Presence:
        return self._presence(self.train)

    @cached_property
    def names(self) -> list[str]:
        """The features that are columns."""
        presence, train = self._train_presence, self.train
        family, _, feature = self.name.partition(OF)
        if feature:
            if feature not in presence.names:
                raise UsageError(
                    f"No training example has the feature {feature!r} of the family {family}: `cuecard audit --only "
                    "cues` lists those that there are."
                )
            return [feature]
        counts = presence.counts(train.label_codes, len(train.labels)).counts
        n = counts.sum(axis=1)
        frequent = n >= MIN_COUNT
        if self.name != WORDS:
            return list(presence.names.filter(frequent).to_list())
        language = self._reading[1]
        stop = stop_words(language) if language in STOP_WORDS else frozenset()
        allowed = frequent & ~presence.names.is_in(sorted(stop)).to_numpy()
        prior = np.bincount(train.label_codes, minlength=len(train.labels)) / len(train)
        chosen: dict[str, None] = {}
        for label in range(len(train.labels)):
            z = np.where(allowed, artifact_z(counts[:, label], np.maximum(n, 1), prior[label]), -np.inf)
            best = np.lexsort((presence.names.to_numpy(), -z))[: self.per_label]
            chosen |= dict.fromkeys(presence.names.gather(best[z[best] > 0]).to_list())
        return list(chosen)


def presence_of_names(presence: Presence, names: list[str]) -> sparse.csr_matrix:
    """Return which instances have the named features; a feature that nothing here has is an empty column."""
    place = {name: i for i, name in enumerate(presence.names.to_list())}
    columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    there = np.flatnonzero(columns >= 0)
    picked = presence.matrix()[:, columns[there]].tocoo()
    return sparse.csr_matrix(
        (picked.data, (picked.row, there[picked.col])), shape=(presence.shape[0], len(names))
    )


@dataclass(frozen=True)
class BiasExpert:
    """A linear model of cues, for the log-probability of every answer given the cues of an example.

    Args:
        cues: "words" (the words of highest z per label), "hypothesis", "premise" or "choices" (all n-grams of that part
            of the input), "pair-graph" (how often both sentences occur, and two-step walks between them), a feature
            family, such as "length", "overlap", "negation" or "bigram", or one feature, such as "word:nobody". Several
            are joined by a plus: "words+length", "word:nobody+word:sleeping".
        per_label: words per label that "words" takes.
        folds: parts of the training set; each is predicted by an expert that was fitted on the others.
        strength: inverse of the penalty, scikit-learn's C.
        seed: of the folds.
    """

    cues: str = WORDS
    per_label: int = 50
    folds: int = 5
    strength: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the name at once, so that a typo costs no time."""
        check_cues(self.cues)

    def check(self, data: Instances) -> None:
        """Raise if the data has no such part of the input."""
        for part in self.cues.split(JOINED):
            if part in CONDITIONS:
                check_condition(data, part)
            if part == PAIR_GRAPH and data.task != "pair":
                raise UsageError(
                    f"The expert {PAIR_GRAPH} only applies to pairs; this dataset holds {data.task} data."
                )

    def cross_fitted(self, train: Instances) -> Floats:
        """Return log-probabilities of the training examples, each from an expert that has not seen its sentences."""
        rows = self.reader(train).rows(train)
        return cross_fitted(rows, train, folds=self.folds, strength=self.strength, seed=self.seed)

    def log_probabilities(self, train: Instances, part: Instances) -> Floats:
        """Return log-probabilities of the examples of a part, from an expert fitted on the training set."""
        reader = self.reader(train)
        model = fit_expert(reader.rows(train), train, strength=self.strength, seed=self.seed)
        return expert_log_probabilities(model, reader.rows(part), part)

    def reader(self, train: Instances) -> CueReader:
        """Return what turns rows into the features of the expert."""
        self.check(train)
        return CueReader(train, self.cues, self.per_label)


def fit_expert(
    features: sparse.csr_matrix,
    train: Instances,
    rows: Ints | None = None,
    *,
    strength: float = 1.0,
    seed: int = 0,
) -> LinearModel:
    """Return the linear model of features of the training rows, or of some of them (whole examples)."""
    chosen = np.arange(len(train)) if rows is None else rows
    model = LinearModel(strength=strength, seed=seed)
    if not train.grouped:
        return model.fit(features[chosen], train.label_codes[chosen])
    right = (train.label_codes[chosen] == 0).astype(np.int64)
    return model.fit(features[chosen], right, groups=train.example_codes[chosen])


def expert_log_probabilities(model: LinearModel, features: sparse.csr_matrix, part: Instances) -> Floats:
    """Return a row per example and a column per answer; −∞ for a choice that a question does not have."""
    if not part.grouped:
        log_probabilities = np.log(np.maximum(model.predict_proba(features), 1e-12))
        missing = len(part.labels) - log_probabilities.shape[1]
        return np.pad(log_probabilities, ((0, 0), (0, missing)), constant_values=np.log(1e-12))
    each = model.predict_proba(features, groups=part.example_codes)
    return by_example(np.log(np.maximum(each, 1e-12)), part, empty=-np.inf)


def cross_fitted(
    features: sparse.csr_matrix, train: Instances, *, folds: int = 5, strength: float = 1.0, seed: int = 0
) -> Floats:
    """Return log-probabilities of the training examples from experts that saw no sentence of theirs.

    Examples that share a sentence are in one fold, unless that would tie most of the examples together.
    """
    examples = Examples(train)
    fold = _folds(train, folds, seed)
    answers = int(examples.options.max(initial=0))
    log_probabilities = np.full((len(examples), answers), -np.inf)
    for number in np.unique(fold):
        held = np.flatnonzero(fold == number)
        others = examples.rows(np.flatnonzero(fold != number))
        if len(np.unique(train.label_codes[others])) < 2:
            raise InputError("The bias expert needs training examples of at least two labels in every fold.")
        model = fit_expert(features, train, others, strength=strength, seed=seed)
        here = train.rows(np.isin(train.example_codes, held))
        scored = expert_log_probabilities(model, features[examples.rows(held)], here)
        log_probabilities[held, : scored.shape[1]] = scored
    return log_probabilities


def _folds(train: Instances, folds: int, seed: int) -> Ints:
    groups = sentence_components(train)
    sizes = np.bincount(groups)
    if sizes.max() > len(groups) / 2:
        groups = np.arange(len(groups))
    order = np.random.default_rng(seed).permutation(int(groups.max()) + 1)
    return np.asarray(order[groups] % folds)
