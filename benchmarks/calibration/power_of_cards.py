"""How often a whole card names a planted leak, beside the best simple test for it, which knows where to look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import polars as pl
from scipy import stats

import cuecard as cc
from benchmarks.calibration.clean_sets import QUICK, Rng, nearly, text
from benchmarks.calibration.rows import Row
from benchmarks.calibration.stored_cells import Cell
from cuecard.stats import q_values
from cuecard.stats.arrays import Bools, Floats, Ints

RUNS = 20
Frame = pl.DataFrame


@dataclass(frozen=True)
class Planted:
    """A dataset with a leak, and the p-value (or, of many words, q-value) of the simple test."""

    train: Frame
    simple: float
    test: Frame | None = None


def pairs(
    rng: Rng, n: int, write: Callable[[int], str], premise: Callable[[int], str] | None = None
) -> Frame:
    """Return pairs whose hypothesis is written knowing the label, 0 or 1."""
    labels = rng.integers(0, 2, n).tolist()
    return Frame(
        {
            "premise": [text(rng) if premise is None else premise(label) for label in labels],
            "hypothesis": [write(label) for label in labels],
            "label": ["ab"[label] for label in labels],
        }
    )


def _codes(frame: Frame) -> Ints:
    return (frame["label"] == "b").to_numpy().astype(np.int64)


def _fisher(having: Bools, labels: Ints) -> float:
    counts = np.bincount(having.astype(np.int64) * 2 + labels, minlength=4).reshape(2, 2)
    return float(stats.fisher_exact(counts).pvalue)


def _of_all_words(texts: pl.Series, labels: Ints, planted: str, *, n: int = 1) -> float:
    """Return the q-value of a word or run of words where all that occur five times are tested."""
    words = [text.split() for text in texts]
    runs = [{" ".join(word[i : i + n]) for i in range(len(word) - n + 1)} for word in words]
    often = [run for run, count in Counter(run for each in runs for run in each).items() if count >= 5]
    p = [_fisher(np.array([run in each for each in runs]), labels) for run in often]
    return float(q_values(np.log(p))[often.index(planted)]) if planted in often else 1.0


def _greater(values: Floats, labels: Ints) -> float:
    return float(stats.mannwhitneyu(values[labels == 1], values[labels == 0]).pvalue)


def word(rng: Rng) -> Planted:
    """A word in 20 % of one label and in 7 % of the other."""
    frame = pairs(
        rng, 400, lambda label: text(rng) + " planted" * int(rng.random() < (0.2 if label else 0.07))
    )
    return Planted(frame, _of_all_words(frame["hypothesis"], _codes(frame), "planted"))


def bigram(rng: Rng) -> Planted:
    """Two words in this order in one label, in the other order in the other."""

    def write(label: int) -> str:
        if rng.random() > 0.25:
            return text(rng)
        return f"{text(rng)} {'red fox' if label == int(rng.random() < 0.8) else 'fox red'}"

    frame = pairs(rng, 400, write)
    return Planted(frame, _of_all_words(frame["hypothesis"], _codes(frame), "red fox", n=2))


def length(rng: Rng) -> Planted:
    """Hypotheses of one label are a word longer."""
    frame = pairs(rng, 400, lambda label: text(rng, 4 + label, 14 + label))
    return Planted(frame, _greater(frame["hypothesis"].str.split(" ").list.len().to_numpy(), _codes(frame)))


def questions(
    rng: Rng, n: int, choices: Callable[[int, str], list[str]], places: Floats | None = None
) -> Frame:
    """Return questions whose choices are written knowing which of the four is right."""
    answers = rng.choice(4, n, p=places).tolist()
    asked = [text(rng, 8, 14) for _ in range(n)]
    offered = [choices(answer, question) for answer, question in zip(answers, asked, strict=True)]
    return Frame({"question": asked, "choices": offered, "answer": answers})


def position(rng: Rng) -> Planted:
    """The first of four places holds the answer of 40 % of 200 questions."""
    frame = questions(rng, 200, lambda *_: [text(rng) for _ in range(4)], np.array([0.4, 0.2, 0.2, 0.2]))
    return Planted(frame, float(stats.chisquare(np.bincount(frame["answer"], minlength=4)).pvalue))


def _beside(rng: Rng, values: pl.Series, label_of: Callable[[int], float]) -> Frame:
    frame = pairs(rng, len(values), lambda _: text(rng))
    labels = ["ab"[int(rng.random() < label_of(i))] for i in range(len(values))]
    return frame.with_columns(values.alias("beside"), label=pl.Series(labels))


def many_values(rng: Rng) -> Planted:
    """A column of 100 values, each with a label share of its own."""
    values = rng.integers(0, 100, 600)
    shares = rng.choice([0.3, 0.7], 100)
    frame = _beside(rng, pl.Series([f"w{value}" for value in values]), lambda i: shares[values[i]])
    table = np.bincount(values * 2 + _codes(frame), minlength=200).reshape(-1, 2)
    return Planted(frame, float(stats.chi2_contingency(table[table.sum(axis=1) > 0]).pvalue))


def numeric(rng: Rng) -> Planted:
    """A number whose middle half goes with one label."""
    values = rng.normal(size=400)
    frame = _beside(rng, pl.Series(values), lambda i: 0.6 if abs(values[i]) < 0.67 else 0.4)
    fifth = np.searchsorted(np.quantile(values, [0.2, 0.4, 0.6, 0.8]), values)
    table = np.bincount(fifth * 2 + _codes(frame), minlength=10).reshape(-1, 2)
    return Planted(frame, float(stats.chi2_contingency(table).pvalue))


def _by_source(rng: Rng, n: int, sources: int, has: float, strength: Callable[[int], float]) -> Planted:
    source = rng.integers(0, sources, n)
    frame = pairs(rng, n, lambda _: text(rng))
    labels = _codes(frame)
    agrees = rng.random(n) < np.array([strength(one) for one in source])
    marked = (rng.random(n) < has) & (np.where(agrees, labels, 1 - labels) == 1)
    texts = [f"{one} planted" if mark else one for one, mark in zip(frame["hypothesis"], marked, strict=True)]
    frame = frame.with_columns(hypothesis=pl.Series(texts), source=pl.Series([f"s{one}" for one in source]))
    p: list[float] = []
    for one in range(sources):
        here = source == one
        p.append(_of_all_words(frame["hypothesis"].filter(pl.Series(here)), labels[here], "planted"))
    return Planted(frame, min(1.0, sources * min(p)))


def opposite(rng: Rng) -> Planted:
    """A word that points one way in one source and the other way in the other."""
    return _by_source(rng, 400, 2, 0.25, lambda source: (0.15, 0.85)[source])


def tenth(rng: Rng) -> Planted:
    """A word that leaks in one of ten sources."""
    return _by_source(rng, 1_000, 10, 0.4, lambda source: 0.97 if source == 3 else 0.5)


def overlap(rng: Rng) -> Planted:
    """Hypotheses of one label repeat more words of their premise."""
    premises: list[str] = []

    def premise(_: int) -> str:
        premises.append(text(rng, 8, 14))
        return premises[-1]

    frame = pairs(rng, 400, lambda _: text(rng), premise)
    labels = _codes(frame)
    texts = []
    for given, one, label in zip(frame["premise"], frame["hypothesis"], labels, strict=True):
        copied = int(rng.binomial(3, 0.45 if label else 0.3))
        texts.append(" ".join([*one.split(), *rng.choice(given.split(), copied)]))
    frame = frame.with_columns(hypothesis=pl.Series(texts))
    shared = [
        len(set(a.split()) & set(b.split()))
        for a, b in zip(frame["premise"], frame["hypothesis"], strict=True)
    ]
    return Planted(frame, _greater(np.array(shared, dtype=np.float64), labels))


def negation(rng: Rng) -> Planted:
    """One of ten negations in 28 % of one label and 9 % of the other."""
    words = ("not", "never", "nobody", "no", "nothing", "cannot", "isn't", "don't", "nor", "without")

    def write(label: int) -> str:
        said = (
            f"the man {rng.choice(words)} walks "
            if rng.random() < (0.28 if label else 0.09)
            else "the man walks "
        )
        return said + text(rng)

    frame = pairs(rng, 400, write)
    having = np.array([bool(set(one.split()) & set(words)) for one in frame["hypothesis"]])
    return Planted(frame, _fisher(having, _codes(frame)))


def repeated_answer(rng: Rng) -> Planted:
    """Answers of a pool that many questions offer are right in 40 % of their offers."""
    pool = [text(rng) for _ in range(12)]

    def choices(answer: int, _: str) -> list[str]:
        offered = [text(rng) for _ in range(4)]
        if rng.random() < 0.6:
            place = answer if rng.random() < 0.4 else (answer + int(rng.integers(1, 4))) % 4
            offered[place] = str(rng.choice(pool))
        return offered

    frame = questions(rng, 400, choices)
    right = [row["choices"][row["answer"]] in pool for row in frame.iter_rows(named=True)]
    offered = sum(any(choice in pool for choice in row) for row in frame["choices"].to_list())
    return Planted(frame, float(stats.binomtest(sum(right), offered, 0.25).pvalue))


def copied_answer(rng: Rng) -> Planted:
    """A third of the right answers repeat two words of the question, and a tenth of the wrong ones."""

    def choices(answer: int, question: str) -> list[str]:
        offered = [text(rng).split() for _ in range(4)]
        for i, words in enumerate(offered):
            if rng.random() < (0.33 if i == answer else 0.15):
                words[:2] = rng.choice(question.split(), 2)
        return [" ".join(words) for words in offered]

    frame = questions(rng, 300, choices)
    score = 0.0
    for row in frame.iter_rows(named=True):
        shared = np.array(
            [len(set(choice.split()) & set(row["question"].split())) for choice in row["choices"]]
        )
        score += (shared[row["answer"]] == shared.max()) / (shared == shared.max()).sum()
    return Planted(frame, float(stats.binomtest(round(score), frame.height, 0.25).pvalue))


def characters(rng: Rng) -> Planted:
    """A curly apostrophe in 14 % of one label and a straight one otherwise, 4 % curly in the other."""
    frame = pairs(
        rng,
        400,
        lambda label: f"bobo{'’' if rng.random() < (0.14 if label else 0.04) else chr(39)}s {text(rng)}",
    )
    return Planted(frame, _fisher(frame["hypothesis"].str.contains("’").to_numpy(), _codes(frame)))


def row_order(rng: Rng) -> Planted:
    """The share of a label rises from 35 to 65 % along the file."""
    frame = _beside(rng, pl.Series(np.zeros(400)), lambda i: 0.35 + 0.3 * i / 400).drop("beside")
    return Planted(frame, _greater(np.arange(400.0), _codes(frame)))


def identifier(rng: Rng) -> Planted:
    """Ids whose number is larger for one label."""
    frame = pairs(rng, 400, lambda _: text(rng))
    labels = _codes(frame)
    numbers = rng.permutation(9_000)[:400]
    higher = np.sort(numbers)[np.argsort(np.argsort(rng.normal(size=400) + 0.35 * labels))]
    frame = frame.with_columns(id=pl.Series([f"item-{number}" for number in higher]))
    return Planted(frame, _greater(higher.astype(np.float64), labels))


def near_copies(rng: Rng) -> Planted:
    """A tenth of the test examples are training examples with a word more and the same label."""
    train = pairs(rng, 400, lambda _: text(rng))
    test = pairs(rng, 200, lambda _: text(rng))
    copied = train[:20].with_columns(
        premise=pl.Series([nearly(rng, one) for one in train["premise"][:20]]),
        hypothesis=pl.Series([nearly(rng, one) for one in train["hypothesis"][:20]]),
    )
    return Planted(train, float(stats.binomtest(20, 20, 0.5).pvalue), pl.concat([copied, test[20:]]))


def frequency(rng: Rng) -> Planted:
    """Premises that stand in several pairs have one label more often."""
    pool = [text(rng) for _ in range(60)]
    premise = lambda label: str(rng.choice(pool)) if rng.random() < (0.55 if label else 0.4) else text(rng)  # noqa: E731
    frame = pairs(rng, 400, lambda _: text(rng), premise)
    often = frame["premise"].is_in(pool).to_numpy().astype(np.float64)
    return Planted(frame, _greater(often, _codes(frame)))


@dataclass(frozen=True)
class Leak:
    """A leak: what it is, the test beside ours, and the findings that name it (a pattern of ids and titles)."""

    plant: Callable[[Rng], Planted]
    test: str
    named: str
    #: Whether it is stated as information, because it may be part of the task.
    information: bool = False


LEAKS: dict[str, Leak] = {
    "word": Leak(word, "Fisher's exact test of every word, BH", "planted"),
    "bigram": Leak(bigram, "Fisher's exact test of every bigram, BH", "red fox|fox red"),
    "length": Leak(length, "Mann–Whitney", "length|longer|shorter"),
    "position, 40 % of 200": Leak(position, "chi-square", "position|place|first|fixed"),
    "column of 100 values": Leak(many_values, "chi-square", "beside"),
    "number, not monotone": Leak(numeric, "chi-square of fifths", "beside"),
    "opposite ways in two slices": Leak(opposite, "Fisher's by slice, BH × slices", "“planted”"),
    "one of ten slices": Leak(tenth, "Fisher's by slice, BH × slices", "“planted”"),
    "overlap": Leak(overlap, "Mann–Whitney", "partial_input/overlap", information=True),
    "negation": Leak(negation, "Fisher's exact test", "negation|“n"),
    "repeated answer": Leak(repeated_answer, "binomial", "repeat|often|commonest|rarest|frequen"),
    "copied answer": Leak(copied_answer, "binomial", "copied|overlap|words of the question"),
    "characters": Leak(characters, "Fisher's exact test", "apostrophe|characters"),
    "order of rows": Leak(row_order, "Mann–Whitney", "columns/order"),
    "id": Leak(identifier, "Mann–Whitney", "columns/id"),
    "near copies of train": Leak(near_copies, "binomial", "near-copies-in-train"),
    "frequency in pairs": Leak(frequency, "Mann–Whitney", "pair_graph"),
}  # fmt: skip


def named(planted: Planted, leak: Leak) -> bool:
    """Return whether a card has a finding that names the leak, as more than information where that is expected."""
    card = cc.audit(cc.load(planted.train, test=planted.test), settings=QUICK)
    return any(
        (finding.severity != "info" or leak.information)
        and re.search(leak.named, " ".join([finding.id, finding.title, finding.text, *finding.parts]))
        for finding in card.findings
    )


def cells(scale: float, seed: int) -> Iterator[Cell]:
    """Yield the power for every leak, as a row of the page."""
    runs = max(2, round(RUNS * scale))
    for name in LEAKS:
        yield Cell(name, partial(_power, name, runs, seed))


def _power(name: str, runs: int, seed: int) -> dict[str, object]:
    leak = LEAKS[name]
    drawn = [leak.plant(np.random.default_rng([seed + i, 15])) for i in range(runs)]
    simple = sum(planted.simple <= 0.05 for planted in drawn) / runs
    share = sum(named(planted, leak) for planted in drawn) / runs
    n = f"{drawn[0].train.height:,}"
    return asdict(
        Row("power", "a finding names it", name, n, runs, share, f"{100 * simple:.0f} % ({leak.test})")
    )
