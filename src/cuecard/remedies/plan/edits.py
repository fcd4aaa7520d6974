"""What a plan proposes besides removal: counterexamples, copies, new places of right answers, new wrong choices."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Row
from cuecard.data.examples import Bools, Examples, Floats, Ints
from cuecard.probes.cues.cue_set import CONTAINED
from cuecard.remedies.plan.removal import BELOW, BY_CHANCE, CueEvidence

#: Number of answers of about the same length that are compared for each choice to replace.
NEAR = 40


def re_paired(examples: Examples, chosen: Ints, *, seed: int = 0) -> dict[int, list[str]]:
    """Return for each chosen example its new wrong choices: right answers of other questions of the same split.

    An answer takes the place of each wrong choice: one of about the length of the right answer that shares no long word
    with the question, so that it is unlikely to be right there, too. People must read the result.
    """
    rng = np.random.default_rng(seed)
    texts = examples.instances.table["hypothesis"]
    answers = [texts[int(row)] for row in examples.right_rows]
    lengths = np.array([len(answer.split()) for answer in answers])
    splits = examples.splits.to_numpy()
    pools = {split: np.flatnonzero(splits == split) for split in np.unique(splits)}
    replaced = {}
    for example in chosen.tolist():
        pool = pools[splits[example]]
        near = pool[np.argsort(np.abs(lengths[pool] - lengths[example]) + rng.random(len(pool)))]
        own = _long_words(examples.premises[example])
        new: list[str] = []
        for other in near[:NEAR].tolist():
            text = answers[other]
            if len(new) == examples.sizes[example] - 1:
                break
            if other != example and text not in (answers[example], *new) and not own & _long_words(text):
                new.append(text)
        if len(new) == examples.sizes[example] - 1:
            replaced[example] = new
    return replaced


def _long_words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 3}


def repeated_examples(examples: Examples) -> dict[int, str]:
    """Return the examples that repeat an earlier one with the same label, with its id."""
    keys = ["premise", "text", "gold"]
    table = _texts(examples).with_columns(
        first=pl.col("id").first().over(keys), place=pl.col("example").rank("ordinal").over(keys)
    )
    again = table.filter(pl.col("place") > 1)
    return dict(zip(again["example"].to_list(), again["first"].to_list(), strict=True))


def conflicting_examples(examples: Examples) -> list[int]:
    """Return the examples whose input occurs with another label, too."""
    if examples.grouped:
        return []
    table = _texts(examples).filter(pl.col("gold").n_unique().over("premise", "text") > 1)
    return [int(example) for example in table["example"]]


def _texts(examples: Examples) -> pl.DataFrame:
    data = examples.instances
    hypotheses = examples.choices if data.grouped else data.table["hypothesis"]
    return pl.DataFrame(
        {
            "premise": examples.premises,
            "text": hypotheses.list.join("\0") if data.grouped else hypotheses,
            "gold": examples.gold,
            "id": examples.ids,
        }
    ).with_row_index("example")


def balanced_positions(examples: Examples, *, seed: int = 0) -> dict[int, int]:
    """Return the fewest examples to permute and the new place of their right answer, counted from 0.

    Places are balanced among the questions of a split with the same number of choices: what is above an equal share in
    one place moves to the places below it.
    """
    rng = np.random.default_rng(seed)
    moves: dict[int, int] = {}
    splits = examples.splits.to_numpy()
    for split in np.unique(splits):
        for size in np.unique(examples.sizes[splits == split]):
            here = np.flatnonzero((splits == split) & (examples.sizes == size))
            moves |= _moves(here, examples.gold[here], int(size), rng)
    return moves


def evenly_over(splits: pl.Series, examples: list[int]) -> Ints:
    """Return examples in an order whose beginnings hold the same share of every split, as far as possible."""
    chosen = pl.DataFrame(
        {"example": examples, "split": splits.gather(examples)}, schema_overrides={"example": pl.Int64}
    )
    share = (pl.int_range(pl.len()) + 0.5) / pl.len()
    ordered = chosen.with_columns(share.over("split").alias("share")).sort("share", maintain_order=True)
    return ordered["example"].to_numpy()


def _moves(here: Ints, places: Ints, size: int, rng: np.random.Generator) -> dict[int, int]:
    counts = np.bincount(places, minlength=size)
    # The places that already have most keep the remainder: that moves the fewest.
    wanted = np.full(size, len(here) // size)
    wanted[np.argsort(-counts, kind="stable")[: len(here) % size]] += 1
    surplus = [
        rng.permutation(here[places == place])[: max(0, counts[place] - wanted[place])]
        for place in range(size)
    ]
    moving = np.concatenate(surplus)
    free = np.repeat(np.arange(size), np.maximum(wanted - counts, 0))
    return {
        int(example): int(place)
        for example, place in zip(rng.permutation(moving), rng.permutation(free), strict=True)
    }


#: Examples are ranked again after this share of those that may be rewritten.
BATCH = 0.01
#: In a batch, an example is rewritten only if it still gains this share of what it was ranked by.
STILL_GAINS = 0.5
#: Families that compare both texts: a new premise changes them, nobody knows how.
RELATIONAL = ("overlap",)
SCHEMA = {
    **dict.fromkeys(("family", "feature", "label", "direction"), pl.String),
    "examples": pl.Int64,
    **dict.fromkeys(("share", "chance"), pl.Float64),
    **dict.fromkeys(("rewrite", "collect"), pl.Int64),
}
#: An audit of new data finds a cue in at most one case of five: the normal quantile of 80 %.
RARELY_FOUND = 0.8416


def counterexamples(
    evidence: CueEvidence, allowed: Bools, *, limit: int, every_feature: bool = False
) -> list[tuple[int, int]]:
    """Return examples to rewrite and the label (of choices, the position) that each should get, the best first.

    A new premise or question can make the same text have another label, or another choice right. Every step takes the
    example and label that lower Σ z² over features most, all features of the example counted, and the shares of labels
    as one more; it ends where no example lowers it.

    Args:
        evidence: which examples have which features.
        allowed: the examples that may be rewritten.
        limit: the largest number of them.
        every_feature: balance all features, not only those of cues.
    """
    answers = _Answers(evidence, BY_CHANCE if every_feature else BELOW * evidence.critical)
    left = allowed.copy()
    chosen: list[tuple[int, int]] = []
    batch = max(1, int(BATCH * limit))
    while len(chosen) < limit:
        gains, best = answers.gains()
        ranked = np.flatnonzero(left & (gains > 0))
        ranked = ranked[np.argsort(-gains[ranked], kind="stable")][: 5 * batch]
        before = len(chosen)
        for example in ranked.tolist():
            if len(chosen) - before >= batch or len(chosen) >= limit:
                break
            if answers.gain(example, int(best[example])) >= STILL_GAINS * gains[example]:
                chosen.append((example, answers.change(example, int(best[example]))))
                left[example] = False
        if len(chosen) == before:
            break
    return chosen


class _Answers:
    """The answers that examples could have, the features that each of them would confirm, and how far these are off."""

    def __init__(self, evidence: CueEvidence, least_z: float) -> None:
        examples = evidence.examples
        data = examples.instances
        features = evidence.features
        balanced = (features["z"].abs() >= least_z) & ~features["family"].is_in(RELATIONAL)
        having = sparse.csr_matrix(
            evidence.instances[:, np.flatnonzero(balanced.to_numpy())], dtype=np.float64
        )
        if data.grouped:
            self._first, self._sizes = examples.first_rows[:-1], examples.sizes
            self._cells = having
            expected = np.repeat(1 / examples.sizes, examples.sizes)
        else:
            labels = len(data.labels)
            with_share = sparse.hstack([having, np.ones((len(data), 1))])
            self._first = np.arange(len(data)) * labels
            self._sizes = np.full(len(data), labels)
            self._cells = sparse.csr_matrix(sparse.kron(with_share, sparse.identity(labels)))
            prior = np.bincount(examples.gold, minlength=labels) / max(len(examples), 1)
            expected = np.tile(prior, len(data))
        self._now = self._first + examples.gold
        self._example = np.repeat(np.arange(len(examples)), self._sizes)
        hit = np.zeros(self._cells.shape[0])
        hit[self._now] = 1.0
        self._variance = np.maximum(self._cells.T @ (expected * (1 - expected)), 1e-9)
        self._excess = np.asarray(self._cells.T @ (hit - expected))

    def gains(self) -> tuple[Floats, Ints]:
        """Return by how much each example can lower Σ z², and the answer that does."""
        lost = self._cells @ ((2 * self._excess - 1) / self._variance)
        added = self._cells @ ((2 * self._excess + 1) / self._variance)
        gain = lost[self._now][self._example] - added
        gain[self._now] = -np.inf
        best = np.maximum.reduceat(gain, self._first)
        at = np.flatnonzero(gain == best[self._example])
        answer = np.zeros(len(self._first), dtype=np.int64)
        answer[self._example[at]] = at - self._first[self._example[at]]
        return best, answer

    def gain(self, example: int, answer: int) -> float:
        """Return by how much this answer would lower Σ z² now."""
        change = self._change(example, answer)
        columns, by = change.indices, change.data
        return float(-(by * (2 * self._excess[columns] + by) / self._variance[columns]).sum())

    def change(self, example: int, answer: int) -> int:
        """Give an example this answer, and return it."""
        change = self._change(example, answer)
        self._excess[change.indices] += change.data
        self._now[example] = self._first[example] + answer
        return answer

    def _change(self, example: int, answer: int) -> sparse.csr_matrix:
        return self._cells[self._first[example] + answer] - self._cells[self._now[example]]


def needed_counterexamples(evidence: CueEvidence, shown: int) -> pl.DataFrame:
    """Return how many counterexamples the cues that carry most need, those with most examples above chance first.

    So many that an audit of as much new data finds the cue in at most a fifth of the cases: the power of its test at
    the |z| from which a feature is a cue on this card. Of cues that mostly occur together, the first one is listed.
    """
    deviations = sparse.csc_matrix(evidence.deviations[:, evidence.cues])
    excess = np.asarray(deviations.sum(axis=0)).ravel()
    rows: list[Row] = []
    covered = np.zeros(deviations.shape[0], dtype=np.bool_)
    for at in np.argsort(-excess, kind="stable").tolist():
        column = slice(*deviations.indptr[at : at + 2])
        with_cue = deviations.indices[column]
        if len(rows) == shown or covered[with_cue].mean() >= CONTAINED:
            continue
        covered[with_cue] = True
        n, k = len(with_cue), int((deviations.data[column] > 0).sum())
        chance = float((k - excess[at]) / n)
        rewritten, collected = counterexamples_for_a_cue(k, n, chance, evidence.critical)
        feature = evidence.features.row(int(evidence.cues[at]), named=True)
        rows.append(
            {name: feature[name] for name in ("family", "feature", "label", "direction")}
            | {"examples": n, "share": k / n, "chance": chance, "rewrite": rewritten, "collect": collected}
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def counterexamples_for_a_cue(hits: int, n: int, chance: float, critical: float) -> tuple[int, int]:
    """Return how many of n examples with a cue to rewrite, or to collect besides, so that its test rarely finds it.

    `hits` of them have the cue's label, which `chance` of all examples have; the test finds it at |z| ≥ `critical`.

    >>> counterexamples_for_a_cue(80, 100, 0.5, 3.0)
    (20, 35)
    >>> counterexamples_for_a_cue(52, 100, 0.5, 3.0)
    (0, 0)
    """
    allowed, sd = max(0.0, critical - RARELY_FOUND), math.sqrt(chance * (1 - chance))
    rewritten = math.ceil(hits - n * chance - allowed * sd * math.sqrt(n))
    # hits − m · chance = allowed · sd · √m, for m examples in all.
    root = (-allowed * sd + math.sqrt((allowed * sd) ** 2 + 4 * chance * hits)) / (2 * max(chance, 1e-9))
    return max(0, rewritten), max(0, math.ceil(root**2 - n))
