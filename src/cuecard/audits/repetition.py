"""Texts that occur again and again: how many distinct ones there are, what they give away, and which are no texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cuecard.analysis import Finding, severity_of
from cuecard.data import Instances, Task
from cuecard.data.row_numbers import row_table
from cuecard.features.units import dependence
from cuecard.stats import binomial_log_p, q_values, wilson, within_example_test
from cuecard.stats.arrays import Bools, Floats, Ints, chunks, divided, rows_where
from cuecard.stats.units.codes import dense_codes, distinct_codes, first_of_code
from cuecard.text import encode
from cuecard.wording import listed, of_responses, percent, plural

#: Texts are heavily repeated if at most this share of the training instances are distinct.
FEW_TEXTS = 0.5
#: A premise is often written for several hypotheses: fewer distinct ones than this get a sentence.
FEW_PREMISES = 0.1
#: A text is tested by itself if it occurs in at least this many training examples.
LEAST_EXAMPLES = 20
#: It is a finding if the lower end of its label's interval is this far above chance.
NOTABLE_GAIN = 0.1
ALPHA = 0.05


@dataclass(frozen=True)
class RepeatedText:
    """A text that occurs in many training examples, and the label it goes with."""

    text: str
    n: int
    label: str
    share: float
    low: float
    high: float
    chance: float


def with_distinct_texts(n: int, units: int, task: Task) -> str:
    """Return " with 87 distinct texts" for n examples of which some are copies, and nothing where none are."""
    if units >= n:
        return ""
    one, many = ("distinct text", "distinct texts")
    if task in ("choice", "preference"):
        one, many = ("distinct set of answers", "distinct sets of answers")
    return of_responses(f" with {plural(units, one, many)}", task)


def repetition_findings(data: Instances) -> list[Finding]:
    """Return heavy repetition, repeated texts that go with a label, and placeholder texts."""
    if not data.labelled:
        return []
    return [*_few_texts(data), *_similar_texts(data), *_telling(data), *_placeholders(data)]


def _few_texts(data: Instances) -> list[Finding]:
    """Return what is said about texts of which few are distinct, or nearly all alike.

    Such a set is smaller than it looks, and tests count that in. It gives no label away by itself, so it is graded low;
    a repeated text that goes with a label, and copies of test examples in train, are findings of their own.
    """
    if data.weight is not None:  # a response stands in several pairs of its row
        return []
    findings = []
    where = "training set" if len(data.splits) > 1 else "data"
    for column, most in (("hypothesis", FEW_TEXTS), ("premise", FEW_PREMISES)):
        if column == "premise" and data.task != "pair":
            continue
        near = data.train.units("premise" if column == "premise" else "hypothesis")
        n, groups = len(near), distinct_codes(near)
        if n < LEAST_EXAMPLES or groups > most * n:
            continue
        distinct = data.train.distinct_texts("premise" if column == "premise" else "hypothesis")
        one, many = _named(data, column)
        if few := distinct <= most * n:
            alike = f" ({groups:,} if near copies count once)" if groups < distinct else ""
            what = f"has {plural(n, one, many)} but only {plural(distinct, 'distinct text')}{alike}."
        else:
            what = (
                f"has {plural(distinct, 'distinct text')} among {plural(n, one, many)}, but they form only "
                f"{plural(groups, 'group')} of near copies, which share most of their words, as sentences from a "
                "template do."
            )
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="low",
                title=f"Few distinct {many}" if few else f"Most {many} are near copies",
                text=f"The {where} {what} Copies count in tests and intervals as far as their labels differ.",
                value=(distinct if few else groups) / n,
                n=n,
                key=f"few-texts/{column}",
                counted="instances",
            )
        )
    return findings


def _similar_texts(data: Instances) -> list[Finding]:
    """Return what is said where labels of similar texts agree far more than those of words that go with a label."""
    agreement = None if data.cluster is not None else dependence(encode(data), "hypothesis")
    if agreement is None or not agreement.dependent:
        return []
    many, noun = _named(data, "hypothesis")[1], "training text" if len(data.splits) > 1 else "text"
    return [
        Finding(
            section="overview",
            role="flaw",
            severity="low",
            title=f"Similar {many} have the same label",
            text=f"For {plural(agreement.pairs, noun)}, the most similar other text has "
            f"{percent(agreement.similarity, 0)} of its words in the same order (rare words count more), and their "
            f"labels correlate by {agreement.correlation:.2f} (95 % CI {agreement.low:.2f} to {agreement.high:.2f}). "
            "They may be edits of one source or sentences of one template, so similar texts count as one observation "
            "in tests and are in one fold. If a column names the source, add --cluster COLUMN.",
            value=agreement.correlation,
            low=agreement.low,
            high=agreement.high,
            n=agreement.pairs,
            unit="score",
            key="similar-texts",
            counted="instances",
        )
    ]


def _named(data: Instances, column: str) -> tuple[str, str]:
    if column == "premise":
        return ("prompt", "prompts") if data.task == "preference" else ("premise", "premises")
    names = {"pair": ("hypothesis", "hypotheses"), "text": ("text", "texts"), "choice": ("choice", "choices")}
    return names.get(data.task, ("response", "responses"))


def _telling(data: Instances) -> list[Finding]:
    """Return one finding about the texts whose copies lean to a label, led by the one that gives most away."""
    texts = [] if data.fixed_options else repeated_texts(data.train)
    if not texts:
        return []
    first = texts[0]
    others = (
        f" {plural(len(texts) - 1, 'other repeated text predicts', 'other repeated texts predict')} a label."
        if len(texts) > 1
        else ""
    )
    noun = {"choice": "question", "preference": "preference"}.get(data.task, "example")
    one, many = noun, f"{noun}s"
    where = (
        f"{plural(first.n, one, many)} that offer it"
        if data.grouped
        else f"{plural(first.n, one, many)} with it"
    )
    covered = first.n / max(data.train.n_examples, 1)
    finding = Finding(
        section="overview",
        severity="low",
        title=of_responses("A repeated answer predicts the label", data.task)
        if data.grouped
        else "A repeated text predicts the label",
        text=f"“{first.text}” is {first.label} in {percent(first.share)} of the {where} (95 % CI "
        f"{percent(first.low)} to {percent(first.high)}); chance is {percent(first.chance)}.{others}",
        value=first.share,
        low=first.low,
        high=first.high,
        chance=first.chance,
        n=first.n,
        label=first.label,
        key="repeated-text",
        coverage=covered,
    )
    return [replace(finding, severity=severity_of(finding.gain))]


def repeated_texts(train: Instances) -> list[RepeatedText]:
    """Return the texts of many training examples that go with a label beyond chance, what gives most away first.

    Shares are of all examples with the text. Here the text itself is what is tested, so its examples count one by one;
    copies of a whole example are one in the test and the interval, because they have its label whatever the text. The
    right answer of a question is
    exchangeable among its choices; the label of another example has the prior of the set, with or without these copies,
    whichever is larger: where near copies have different labels, the first one may have the same label each time.
    """
    is_first = _without_copies(train)
    tests = _tests_within_examples(train, is_first) if train.grouped else _tests_of_rows(train, is_first)
    if not len(tests.first):
        return []
    shares = _shares_of_all(train, tests.first, tests.leaning)
    chance = shares.chance if train.grouped else tests.chance
    return _notable(train, tests.first, shares, tests.trials, chance, tests.leaning, tests.log_p)


@dataclass(frozen=True, eq=False)
class _Tests:
    """The first row of every frequent text, its independent examples, the label it leans to, and the test of that."""

    first: Ints
    trials: Ints
    leaning: Ints
    chance: Floats
    log_p: Floats


def _tests_of_rows(train: Instances, counts: Bools) -> _Tests:
    """Return the tests of texts whose rows are examples, of which some count."""
    units, labels, n_labels = train.units("hypothesis"), train.label_codes, len(train.labels)
    often = np.zeros(int(units.max(initial=-1)) + 1, dtype=np.int64)
    for chunk in chunks(len(units)):
        np.add.at(often, units[chunk][counts[chunk]], 1)
    frequent = often >= LEAST_EXAMPLES
    having = rows_where(len(units), lambda chunk: counts[chunk] & frequent[units[chunk]])
    kept, first = np.unique(units[having], return_index=True)
    if not len(kept):
        return _Tests(kept, kept, kept, np.zeros(0), np.zeros(0))
    own = np.searchsorted(kept, units[having])
    table = np.bincount(own * n_labels + labels[having], minlength=len(kept) * n_labels)
    table = table.reshape(len(kept), n_labels)
    prior, with_copies = (
        np.bincount(codes, minlength=n_labels) / max(len(codes), 1) for codes in (labels[counts], labels)
    )
    prior = np.maximum(prior, with_copies)
    trials = table.sum(axis=1)
    each = binomial_log_p(table, trials[:, None], prior)
    above = np.where(table / trials[:, None] > prior, each, 0.0)
    leaning = above.argmin(axis=1)
    log_p = np.minimum(above.min(axis=1) + np.log(n_labels), 0.0)
    return _Tests(having[first], trials, leaning, prior[leaning], log_p)


def _tests_within_examples(train: Instances, counts: Bools) -> _Tests:
    """Return the tests of choices within their questions, of which some count."""
    rows_kept, train = np.flatnonzero(counts), train.rows(counts)
    units = dense_codes(train.units("hypothesis"))
    rows = pl.DataFrame(
        {
            "unit": units,
            "example": train.example_codes,
            "label": train.label_codes,
            "row": np.arange(len(units)),
        }
    )
    often = rows.group_by("unit").agg(pl.col("example").n_unique(), pl.col("row").min()).sort("unit")
    kept = np.flatnonzero((often["example"] >= LEAST_EXAMPLES).to_numpy())
    if not len(kept):
        return _Tests(kept, kept, kept, np.zeros(0), np.zeros(0))
    cells = (
        rows.with_columns(k=pl.len().over("example"))
        .group_by("unit", "example")
        .agg(pl.col("k").first(), m=pl.len(), right=(pl.col("label") == 0).any())
        .group_by("unit", "k", "m")
        .agg(n=pl.len(), right=pl.col("right").sum())
        .sort("unit", "k", "m")
    )
    unit, k, m, n, right = (
        cells[name].cast(pl.Int64).to_numpy() for name in ("unit", "k", "m", "n", "right")
    )
    test = within_example_test(unit, k, m, n, right, n_features=int(units.max(initial=-1)) + 1)
    first = rows_kept[often["row"].to_numpy()[kept]]
    leaning = np.where(test.z[kept] >= 0, 0, 1)
    return _Tests(first, test.informative[kept], leaning, np.zeros(len(kept)), test.log_p()[kept])


@dataclass(frozen=True, eq=False)
class _Shares:
    """How many examples have each text, the share of them that has its label, and what chance gives choices."""

    n: Ints
    share: Floats
    chance: Floats


def _shares_of_all(train: Instances, first: Ints, label: Ints) -> _Shares:
    """Return the shares of labels among all examples with some texts, given by the first row of each."""
    units = train.units("hypothesis")
    of_text = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.int32)
    of_text[units[first]] = np.arange(len(first))
    having = rows_where(len(units), lambda chunk: of_text[units[chunk]] >= 0)
    text = of_text[units[having]].astype(np.int64)
    if not train.grouped:
        n = np.bincount(text, minlength=len(first))
        k = np.bincount(text[train.label_codes[having] == label[text]], minlength=len(first))
        return _Shares(n, divided(k, n), np.zeros(len(first)))
    sizes = np.bincount(train.example_codes)
    right = train.label_codes[having] == 0
    offers = np.unique(text * len(sizes) + train.example_codes[having])
    n = np.bincount(offers // len(sizes), minlength=len(first))
    k = np.bincount(text[right], minlength=len(first))
    expected = np.bincount(text, 1 / sizes[train.example_codes[having]], minlength=len(first))
    share, chance = divided(k, n), divided(expected, n)
    return _Shares(n, np.where(label == 0, share, 1 - share), np.where(label == 0, chance, 1 - chance))


def _without_copies(train: Instances) -> Bools:
    """Return which rows are of the first of all examples that are copies of each other, premise and all."""
    first = first_of_code(train.units("example"))
    if train.grouped:  # an example with all its choices
        kept = np.zeros(train.n_examples, dtype=np.bool_)
        kept[train.example_codes[first]] = True
        first = kept[train.example_codes]
    return first


def _notable(
    train: Instances, first: Ints, shares: _Shares, trials: Ints, chance: Floats, leaning: Ints, log_p: Floats
) -> list[RepeatedText]:
    """Return the texts whose label is surely far from chance; `trials` are their independent examples."""
    low, high = wilson(np.rint(shares.share * trials), trials)
    low, high = np.minimum(low, shares.share), np.maximum(high, shares.share)
    good = (q_values(log_p) <= ALPHA) & (np.nan_to_num(low) - chance >= NOTABLE_GAIN)
    gain = np.nan_to_num((low - chance) / np.maximum(1 - chance, 1e-9)) * shares.n
    order = np.flatnonzero(good)[np.argsort(-gain[good], kind="stable")]
    if not len(order):
        return []
    texts = train.table[first[order].astype(np.int64)]["hypothesis"]
    return [
        RepeatedText(
            str(text)[:80],
            int(shares.n[i]),
            train.labels[int(leaning[i])],
            float(shares.share[i]),
            float(low[i]),
            float(high[i]),
            float(chance[i]),
        )
        for i, text in zip(order, texts, strict=True)
    ]


def _placeholders(data: Instances) -> list[Finding]:
    findings = []
    rows = row_table(data).with_row_index("row")
    for column in ("premise", "hypothesis"):
        written = rows.filter(f"{column}_placeholder")
        if written.is_empty():
            continue
        common = (
            written.group_by(f"{column}_text")
            .agg(pl.len().alias("count"), pl.col("row").min())
            .sort(["count", "row"], descending=[True, False])
            .head(3)
        )
        texts = data.table[common["row"].to_numpy().astype(np.int64)][column]
        examples = [
            f"“{text.strip()}” {plural(n, 'time')}" for text, n in zip(texts, common["count"], strict=True)
        ]
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="low",
                title="Some texts are placeholders",
                text=f"{plural(len(written), 'instance')} {'have' if len(written) > 1 else 'has'} a placeholder as "
                f"{_named(data, column)[0]}: {listed(examples)}.",
                value=len(written) / len(data),
                n=len(written),
                key=f"placeholders/{column}",
                counted="instances",
            )
        )
    return findings
