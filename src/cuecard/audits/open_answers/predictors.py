"""Blind predictors of open answers, and whether they score more than always giving the commonest answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Row
from cuecard.audits.open_answers.questions import FEWEST_OF_TYPE, Questions, template_codes
from cuecard.audits.partial_input.folds import assign
from cuecard.data.splits import join_units, number_groups
from cuecard.data.units import column_units, copies
from cuecard.models.linear.learner import LinearModel
from cuecard.models.linear.ngram_features import (
    BITS,
    HashedRows,
    count_documents,
    feature_rows,
    frequent_columns,
    hash_rows,
)
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import accuracy_log_p
from cuecard.stats.models.paired import deflated_log10_p, design_effects, paired_comparison
from cuecard.stats.multiple_testing import holm
from cuecard.stats.scores.cross_fit_intervals import (
    cross_fit_inflation,
    mean_interval,
    share_interval,
)
from cuecard.text.encoded import language_of
from cuecard.text.tokenisers import suggested_tokeniser, tokenise

#: Folds where there is no test split.
FOLDS = 5
#: Contexts that hold together more of the questions than this are not kept in one fold.
LARGEST_GROUP = 0.5
#: Training questions that the nearest one is looked for among.
MOST_SEARCHED = 20_000
#: Answers that the linear model knows, and how often each must occur in its training questions.
MOST_ANSWERS, FEWEST_TIMES = 100, 5
#: Questions of one kind whose commonest answer is taken for theirs.
FEWEST_OF_KIND = 5
_AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class Plan:
    """Which questions are scored, and in turn those learned from and those predicted.

    With a test split, the training questions predict it; otherwise every fold is predicted by the others.
    """

    data: Questions
    scored: Ints
    parts: tuple[tuple[Ints, Ints], ...]
    groups: Ints

    @classmethod
    def of(cls, data: Questions, seed: int) -> Plan:
        """Return the plan for a dataset; near copies of a question, and questions of one context, stay in one fold."""
        instances = data.instances
        groups = _groups(data)
        train = np.flatnonzero(instances.in_splits("train")).astype(np.int64)
        if instances.test is not None:
            test = np.flatnonzero(instances.in_splits("test")).astype(np.int64)
            return cls(data, test, ((train, test),), groups)
        _, codes = np.unique(groups[train], return_inverse=True)
        most = np.argsort(-np.bincount(data.answers[train], minlength=len(data.forms)), kind="stable")[:50]
        place = np.full(len(data.forms), len(most), dtype=np.int64)
        place[most] = np.arange(len(most))
        fold = assign(codes.astype(np.int64), place[data.answers[train]], folds=FOLDS, seed=seed)
        parts = tuple((train[fold != k], train[fold == k]) for k in range(FOLDS) if (fold == k).any())
        return cls(data, train, parts, groups)

    @property
    def cross_fitted(self) -> bool:
        """Whether questions are both learned from and scored."""
        return len(self.parts) > 1

    def predicted(self, predict: Callable[[Ints, Ints], Ints]) -> Ints:
        """Return the predictions for all questions, made part by part; -1 for those that are not scored."""
        codes = np.full(len(self.data), -1, dtype=np.int64)
        for learned, asked in self.parts:
            codes[asked] = predict(learned, asked)
        return codes

    def shared(self, rows: Ints) -> list[Ints]:
        """Return what some questions share: near copies with the same answer, a context, or a value of --cluster."""
        data, instances = self.data, self.data.instances
        kinds = [self._wording[rows] * (len(data.forms) + 1) + data.answers[rows]]
        if data.contexts is not None:
            kinds.append(copies(data.contexts.gather(rows), near=False))
        if instances.cluster is not None:
            kinds.append(column_units(instances.table, instances.cluster)[rows])
        return kinds

    @cached_property
    def _wording(self) -> Ints:
        return copies(self.data.questions)

    def blind_rules(self, seed: int) -> tuple[dict[str, Ints], Ints]:
        """Return the predictions of every rule, and how many others of its template every scored question has."""
        codes, _ = template_codes(self.data)
        kinds = self.data.types.rank("dense").cast(pl.Int64).to_numpy() - 1
        same, partners = self.same_template(codes)
        rules = {
            "prior": self.prior(),
            "question_type": self.by_kind(kinds.astype(np.int64)),
            "nearest_question": self.nearest(seed),
        }
        linear = self.linear(seed)
        if linear is not None:
            rules["question_words"] = linear
        partners = partners[self.scored]
        if int((partners > 0).sum()) >= FEWEST_OF_TYPE:
            rules["same_template"] = same
        return rules, partners

    # Predictors.

    def prior(self) -> Ints:
        """Return the commonest answer."""
        return self.predicted(lambda learned, asked: np.full(len(asked), self._commonest(learned)))

    def by_kind(self, kinds: Ints) -> Ints:
        """Return the commonest answer of the questions of the same kind, and of all where these are few.

        `kinds` has a code from 0 for every question.
        """
        n_kinds = int(kinds.max(initial=0)) + 1

        def predict(learned: Ints, asked: Ints) -> Ints:
            member = sparse.csr_matrix(
                (np.ones(len(learned)), (kinds[learned], np.arange(len(learned)))), (n_kinds, len(learned))
            )
            counts = sparse.csr_matrix(member @ self.data.accepted[learned])
            answer = np.full(n_kinds, self._commonest(learned), dtype=np.int64)
            enough = np.flatnonzero(np.bincount(kinds[learned], minlength=n_kinds) >= FEWEST_OF_KIND)
            answer[enough] = np.asarray(counts[enough].argmax(axis=1)).ravel()
            return answer[kinds[asked]]

        return self.predicted(predict)

    def nearest(self, seed: int) -> Ints:
        """Return the answer of the training question with most words and word pairs in common, weighted by rarity."""

        def predict(learned: Ints, asked: Ints) -> Ints:
            if len(learned) > MOST_SEARCHED:
                learned = np.sort(np.random.default_rng(seed).permutation(learned)[:MOST_SEARCHED])
            matrix = self._features(learned)
            searched, answers = sparse.csc_matrix(matrix[learned].T), self.data.answers[learned]
            found = np.full(len(asked), self._commonest(learned), dtype=np.int64)
            for start in range(0, len(asked), _AT_A_TIME):
                some = slice(start, start + _AT_A_TIME)
                similarity = sparse.csr_matrix(matrix[asked[some]] @ searched)
                best = np.asarray(similarity.argmax(axis=1)).ravel()
                near = similarity.max(axis=1).toarray().ravel() > 0
                found[some] = np.where(near, answers[best], found[some])
            return found

        return self.predicted(predict)

    def linear(self, seed: int) -> Ints | None:
        """Return what a linear model of the words of the question predicts, or None where no answer is frequent."""
        if not all(len(self._frequent(learned)) > 1 for learned, _ in self.parts):
            return None

        def predict(learned: Ints, asked: Ints) -> Ints:
            known = self._frequent(learned)
            place = np.full(len(self.data.forms), -1, dtype=np.int64)
            place[known] = np.arange(len(known))
            rows = learned[place[self.data.answers[learned]] >= 0]
            matrix = self._features(learned)
            model = LinearModel(seed=seed).fit(matrix[rows], place[self.data.answers[rows]])
            return np.asarray(
                known[np.argmax(model.decision_function(matrix[asked]), axis=1)], dtype=np.int64
            )

        return self.predicted(predict)

    def same_template(self, codes: Ints) -> tuple[Ints, Ints]:
        """Return the commonest answer of other questions of the same template, and how many such questions there are.

        In one file, these are all questions of the template in other words; a template that no other question has gives
        the commonest answer of all.
        """
        wording = copies(self.data.questions, near=False)
        prior, predicted, partners = (
            self.prior(),
            np.full(len(self.data), -1, np.int64),
            np.zeros(len(self.data), np.int64),
        )
        members: dict[int, list[int]] = {}
        learned = self.parts[0][0] if not self.cross_fitted else self.scored
        for row in learned.tolist():
            members.setdefault(int(codes[row]), []).append(row)
        for row in self.scored.tolist():
            others = [m for m in members.get(int(codes[row]), ()) if wording[m] != wording[row]]
            partners[row] = len(others)
            predicted[row] = _mode(self.data.answers[others]) if others else prior[row]
        return predicted, partners

    def _commonest(self, rows: Ints) -> int:
        return int(np.asarray(self.data.accepted[rows].sum(axis=0)).argmax())

    def _frequent(self, rows: Ints) -> Ints:
        counts = np.bincount(self.data.answers[rows], minlength=len(self.data.forms))
        order = np.argsort(-counts, kind="stable")[:MOST_ANSWERS]
        return order[counts[order] >= FEWEST_TIMES].astype(np.int64)

    def _features(self, learned: Ints) -> sparse.csr_matrix:
        """Return the words and word pairs of all questions, of those that occur in the training questions."""
        counted = np.zeros(len(self.data), dtype=np.bool_)
        counted[learned] = True
        frequency = np.zeros(1 << BITS, dtype=np.int32)
        count_documents(self._hashed, counted, frequency)
        return feature_rows(self._hashed, frequent_columns(frequency, len(learned)))

    @cached_property
    def _hashed(self) -> HashedRows:
        tokeniser = suggested_tokeniser(language_of(self.data.instances))
        return hash_rows([tokenise(self.data.questions, tokeniser)])


def _mode(answers: Ints) -> int:
    values, counts = np.unique(answers, return_counts=True)
    return int(values[np.argmax(counts)])


def _groups(data: Questions) -> Ints:
    """Return the group of every question: near copies of it, those of its template, and of the same context.

    What ties most of the questions together, such as one context for all, does not make a group.
    """
    wording = [copies(data.questions), template_codes(data)[0]]
    about = [] if data.contexts is None else [copies(data.contexts, near=False)]
    rows = np.arange(len(data), dtype=np.int64)
    for kinds in ([*wording, *about], about, wording, wording[:1]):
        leader = rows.copy()
        for units in kinds:
            join_units(units, None, rows, leader)
        number_groups(leader)
        if kinds and np.bincount(leader).max() <= LARGEST_GROUP * len(rows):
            return leader
    return rows


#: What a rule learns from: answers alone, the question, other questions of a template, or an extra column.
Kind = Literal["prior", "question", "template", "column"]
_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class Line:
    """What one rule scores on the questions that are scored.

    `accuracy` is its exact match. `chance` is that of always giving the commonest answer; of that rule itself, one in
    the number of different answers. `difference` is the accuracy above it, tested by McNemar's exact test.
    """

    rule: str
    kind: Kind
    says: str
    n: int
    accuracy: float
    low: float
    high: float
    f1: float
    chance: float
    difference: float
    difference_low: float
    difference_high: float
    log10_p: float
    p_value: float = 1.0
    clear: bool = False

    @property
    def row(self) -> Row:
        """The line as a row of a table."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores predictions for the questions of a plan beside those of its prior."""

    plan: Plan
    prior: Ints

    @property
    def inflation(self) -> float:
        """How much more a mean varies where questions are both learned from and scored."""
        return cross_fit_inflation(len(self.plan.parts)) if self.plan.cross_fitted else 1.0

    def hits(self, predicted: Ints) -> Bools:
        """Return which of the scored questions are predicted exactly."""
        return self.plan.data.correct(predicted)[self.plan.scored]

    def line(self, rule: str, kind: Kind, says: str, predicted: Ints, among: Bools | None = None) -> Line:
        """Return what predictions score; `among` are the scored questions that count."""
        chosen = self.plan.scored if among is None else self.plan.scored[among]
        data = self.plan.data
        right, prior = data.correct(predicted)[chosen], data.correct(self.prior)[chosen]
        kinds = self.plan.shared(chosen)
        f1 = float(data.f1(data.forms.gather(np.maximum(predicted, 0)))[chosen].mean())
        size = len(right) / effect_on_mean(right.astype(np.float64), kinds) / self.inflation
        low, high = share_interval(float(right.mean()), size)
        if kind == "prior":
            distinct = max(len(np.unique(data.answers[chosen])), 1)
            chance = 1 / distinct
            log10_p = float(accuracy_log_p(int(right.sum()), len(right), chance, "greater")) / _LN10
            if (
                self.plan.cross_fitted
            ):  # the commonest of these very questions was chosen, from this many answers
                log10_p = min(0.0, log10_p + float(np.log10(distinct)))
            effect = effect_on_mean(right.astype(np.float64), kinds)
            difference = float(right.mean()) - chance
            ends = (low - chance, high - chance)
        else:
            compared = paired_comparison(right, prior)
            gained = right.astype(np.float64) - prior
            effect = effect_on_mean(gained, kinds)
            chance, difference, log10_p = float(prior.mean()), compared.difference, compared.log10_p
            ends = mean_interval(gained, inflation=self.inflation * effect)[1:]
        return Line(
            rule, kind, says, len(right), float(right.mean()), low, high, f1, chance, difference,
            max(ends[0], -1.0), min(ends[1], 1.0), float(deflated_log10_p(log10_p, effect)),
        )  # fmt: skip


def effect_on_mean(values: Floats, kinds: Sequence[Ints]) -> float:
    """Return how many times more a mean varies than that of independent questions, where those of a unit are alike."""
    coded = [np.unique(codes, return_inverse=True)[1].astype(np.int64) for codes in kinds]
    coded = [codes for codes in coded if 1 < int(codes.max(initial=-1)) + 1 < len(codes)]
    if not coded:
        return 1.0
    return float(design_effects(values - values.mean(), np.ones((len(values), 1)), coded)[0])


def judged(lines: list[Line], alpha: float) -> list[Line]:
    """Return the lines with p-values corrected for all of them, and which are clearly above chance."""
    p = holm([10.0**line.log10_p for line in lines])
    return [
        replace(
            line,
            p_value=float(one),
            clear=bool(one <= alpha and line.difference > 0 and line.difference_low > 0),
        )
        for line, one in zip(lines, p, strict=True)
    ]
