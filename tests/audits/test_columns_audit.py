"""Leaks beside the texts: planted ones are named and among the first findings, clean data stay quiet."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import numpy as np
import polars as pl
import pytest

from cuecard import audit
from cuecard.analysis import Finding, most_serious_first
from cuecard.audits import Columns
from cuecard.audits.column_cells import Cells, Learner, numbers_of
from cuecard.data import Instances
from cuecard.data.examples import Examples

WORDS = [f"w{i}" for i in range(3000)]


def texts(labels, *, ids=None, split=None, names=("no", "yes", "open"), seed=0, **extra) -> Instances:
    """Return texts of random words, with these labels and extra columns."""
    rng, n = np.random.default_rng(1_000 + seed), len(labels)
    columns = {
        "example_id": ids or [str(i + 1) for i in range(n)],
        "position": pl.Series([0] * n, dtype=pl.Int32),
        "split": split or ["train"] * n,
        "premise": [""] * n,
        "hypothesis": [" ".join(rng.choice(WORDS, 8)) for _ in range(n)],
        "label": pl.Series([names[i] for i in labels], dtype=pl.Enum(names)),
    }
    return Instances(pl.DataFrame(columns | extra), "text", names, "planted")


def questions(copied: float, seed: int = 0, n: int = 400) -> Instances:
    """Return questions of four choices, the right one of which repeats words of the question more often."""
    rng, rows = np.random.default_rng(seed), []
    for q in range(n):
        words, right = rng.choice(WORDS, 12, replace=False), int(rng.integers(4))
        for place in range(4):
            repeated = 3 if place == right and rng.random() < copied else int(rng.integers(2))
            choice = [*rng.choice(words, repeated, replace=False), *rng.choice(WORDS, 5 - repeated)]
            answer = "right" if place == right else "wrong"
            likelihood = float(rng.normal()) + 3 * copied * (place == right)
            rows.append((str(q + 1), place, "train", " ".join(words), " ".join(choice), answer, likelihood))
    names = ["example_id", "position", "split", "premise", "hypothesis", "label", "likelihood"]
    schema = dict.fromkeys(names, pl.String) | {"position": pl.Int32, "likelihood": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row").cast({"label": pl.Enum(["right", "wrong"])})
    return Instances(table, "choice", ("right", "wrong"), "questions")


def first(data: Instances, **parameters: object) -> Finding:
    return most_serious_first(Columns(**parameters).run(data).findings)[0]


def noisy(seed: int, n: int = 600, wrong: float = 0.1):
    """Return labels, and the same with a share of them drawn wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    return rng, labels, np.where(rng.random(n) < wrong, 1 - labels, labels)


def days(rng, late):
    start = date(2021, 1, 1)
    return [start + timedelta(days=int(one)) for one in late * 200 + rng.integers(0, 200, len(late))]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("written", [None, "%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S"])
def test_a_class_that_was_collected_later(seed, written):
    rng, labels, late = noisy(seed)
    when = days(rng, late)
    values = (
        pl.Series(when)
        if written is None
        else [datetime(d.year, d.month, d.day).strftime(written) for d in when]
    )
    finding = first(texts(labels, collected=values, seed=seed))
    assert finding.title == "The extra column collected predicts the label"
    assert finding.severity == "medium"
    assert finding.low <= finding.value <= finding.high
    assert finding.value == pytest.approx(0.9, abs=0.05)
    assert "from " in finding.text
    assert "are “yes”; before," in finding.text
    if written is None:
        assert "from 2021-07" in finding.text


@pytest.mark.parametrize("seed", range(3))
def test_the_time_of_day(seed):
    rng, labels, late = noisy(seed)
    hours = [time(int(h), 30) for h in late * 12 + rng.integers(0, 12, len(late))]
    assert first(texts(labels, at=hours)).title == "The extra column at predicts the label"
    assert first(texts(labels, at=[f"{h:%H:%M}" for h in hours])).value > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_the_time_of_day_on_any_day(seed):
    rng, labels, late = noisy(seed)
    moments = [
        datetime(2024, 1, int(rng.integers(1, 29)), int(h), 30)
        for h in late * 12 + rng.integers(0, 12, len(late))
    ]
    for values in (moments, [f"{moment:%Y-%m-%d %H:%M}" for moment in moments]):
        finding = first(texts(labels, at=values, seed=seed))
        assert finding.title == "The extra column at predicts the label"
        assert "from 12:30:00 on" in finding.text


@pytest.mark.parametrize("seed", range(3))
def test_a_folder_that_ends_in_a_number(seed):
    rng, labels, late = noisy(seed)
    files = [f"batch{1 + one}/item_{rng.integers(10**5):05d}.txt" for one in late]
    finding = first(texts(labels, file=files, seed=seed))
    assert finding.title == "The id or file name file predicts the label"
    assert "at “batch2/item_”" in finding.text


@pytest.mark.parametrize("seed", range(20))
def test_moments_and_files_that_say_nothing(seed):
    rng, labels, _ = noisy(seed)
    n = len(labels)
    at = [datetime(2024, 1, int(d), int(h), 30) for d, h in rng.integers(1, 24, (n, 2))]
    files = [f"batch{rng.integers(1, 4)}/item_{rng.integers(10**5):05d}.txt" for _ in range(n)]
    result = Columns().run(texts(labels, at=at, file=files, seed=seed))
    assert [f for f in result.findings if f.severity in ("high", "medium")] == []


@pytest.mark.parametrize("seed", range(3))
def test_ids_and_file_names_that_order_the_label_are_flaws(seed):
    rng, labels, late = noisy(seed)
    names = [f"a_{i:05d}" for i in late * 1_000 + rng.permutation(len(late))]
    finding = first(texts(labels, ids=names))
    assert finding.title == "The id or file name example_id predicts the label"
    assert (finding.severity, finding.role) == ("low", "flaw")
    assert "from a_01" in finding.text
    assert "No model should see it" in finding.text
    finding = first(texts(labels, file=[f"{name}.txt" for name in names]))
    assert finding.title == "The id or file name file predicts the label"
    letters = [f"{rng.integers(10**6)}.jpg#{i}{'ne'[one]}" for i, one in enumerate(late)]
    assert "at “#.jpg##e”" in first(texts(labels, ids=letters)).text


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_is_a_flaw_that_no_model_sees(seed):
    rng = np.random.default_rng(seed)
    for labels in (
        np.sort(rng.integers(0, 2, 400)),
        np.repeat(rng.integers(0, 2, 60), 10),
        np.arange(400) % 2,
    ):
        finding = first(texts(labels, seed=seed))
        assert finding.title == "The order of rows predicts the label"
        assert (finding.severity, finding.role) == ("low", "flaw")
        assert "does not see the order of the file" in finding.text
    half = len(labels) // 2
    parted = texts(labels, split=["train"] * half + ["test"] * half)
    assert first(parted).n == half


@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_many_values_that_decide_the_label(seed):
    rng, labels, _ = noisy(seed)
    apart = np.where(labels, 1.0, -1.0) * rng.uniform(0.1, 2, len(labels))
    finding = first(texts(labels, x=apart))
    assert finding.title == "The extra column x decides the label"
    assert finding.id == "columns/decides"
    assert "where it is a vote, a score or the id of a template, it is annotation, not a leak" in finding.text
    sources = [f"s{value}" for value in labels * 100 + rng.integers(0, 100, len(labels))]
    finding = first(texts(labels, source=sources))
    assert finding.title == "The extra column source decides the label"
    assert "; at “s" in finding.text
    middle = np.where(labels, rng.uniform(0.4, 0.6, len(labels)), rng.choice([0, 0.6], len(labels)))
    middle = middle + np.where(labels, 0, rng.uniform(0, 0.4, len(labels)))
    finding = first(texts(labels, x=middle))
    assert finding.value > 0.85


def test_votes_are_annotation_and_no_leak():
    _, labels, votes = noisy(1)
    for name, values in (("vote_1", votes), ("second", [("no", "yes")[one] for one in votes])):
        finding = first(texts(labels, **{name: values}))
        assert finding.title == f"The annotation {name} predicts the label"
        assert (finding.severity, finding.role) == ("low", "flaw")
        assert "a part of the annotation, not a leak" in finding.text


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_named_alone_and_together(seed):
    rng, labels, one = noisy(seed, 1_500, 0.3)
    other = np.where(rng.random(len(labels)) < 0.3, 1 - labels, labels)
    third = np.where(rng.random(len(labels)) < 0.3, 1 - labels, labels)
    data = texts(
        labels, genre=np.array(["u", "v"])[one], era=other, place=third, noise=rng.integers(0, 2, len(labels))
    )
    result = Columns().run(data)
    (finding,) = result.findings
    for column in ("genre", "era", "place"):
        assert column in finding.text
    assert "noise" not in finding.text
    together = next(m for m in result.measures if m.name == "columns.together.accuracy")
    assert together.value > finding.value + 0.04
    assert "All extra columns together have an accuracy of" in finding.text
    alone = next(m for m in result.measures if m.name == "columns.column.genre.accuracy")
    assert alone.value == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_with_most_words_of_the_question(seed):
    findings = most_serious_first(Columns().run(questions(0.5, seed)).findings)
    copied, likelihood = sorted(findings, key=lambda finding: finding.title, reverse=True)
    assert copied.title == "The right answer has the most words of the question"
    assert copied.value == pytest.approx(0.61, abs=0.08)
    assert "may be the task or a shortcut" in copied.text
    assert "the answer with the highest value" in likelihood.text
    assert Columns().run(questions(0.0, seed)).findings == []


def test_on_a_whole_card_a_planted_column_is_among_the_first_three():
    rng, labels, late = noisy(7)
    card = audit(texts(labels, collected=pl.Series(days(rng, late))), cache=False)
    assert "columns/column" in [finding.id for finding in card.findings[:3]]


def test_the_finding_that_names_the_column_holds_that_of_all_extra_columns():
    _, labels, source = noisy(2)
    card = audit(
        texts(labels, source=[f"s{one}" for one in source]), only=["columns", "partial_input"], cache=False
    )
    ids = [finding.id for finding in card.findings]
    assert ids[0] == "columns/column"
    assert "partial_input/metadata" not in ids
    assert any("extra columns" in part.lower() for part in card.findings[0].parts)


def clean(seed: int) -> Instances:
    """Return labels that nothing predicts, beside columns of every kind; a third of the sets are copies."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([60, 200, 500])), int(rng.choice([2, 3]))
    shares = 0.9 * rng.dirichlet(np.full(k, rng.choice([1, 20]))) + 0.1 / k
    extra = {
        "day": [date(2020, 1, 1) + timedelta(days=int(one)) for one in rng.integers(0, 300, n)],
        "x": rng.normal(size=n),
        "worker": [f"w{one}" for one in rng.integers(0, 40, n)],
        "file": [f"f_{one:05d}.txt" for one in rng.permutation(n)],
        "count": rng.poisson(3, n),
    }
    source = np.sort(rng.integers(0, n // 3, n)) if seed % 3 == 0 else np.arange(n)
    labels = rng.choice(k, n, p=shares)[source]
    ids = [f"q{one}" for one in rng.permutation(n)]
    data = texts(labels, ids=ids, seed=seed, **extra)
    return data.with_columns(hypothesis=data.table["hypothesis"].gather(source), source=pl.Series(source))


def test_clean_data_stay_quiet():
    loud = [seed for seed in range(200) if Columns().run(clean(seed)).findings]
    assert len(loud) <= 10  # 5 % of 200; none at the time of writing


def test_the_best_threshold_is_that_of_all_thresholds():
    rng = np.random.default_rng(3)
    labels, numbers = rng.integers(0, 3, 60), rng.integers(0, 12, 60).astype(float)
    learner = Learner.of(Examples(texts(labels)), 0)
    cells = Cells("x", "column", np.zeros(60, dtype=np.int64), pl.Series(numbers), numbers)
    example, right = learner.threshold(cells.numbers)
    by_hand = {
        value: sum(np.bincount(labels[side]).max() for side in (numbers >= value, numbers < value))
        for value in np.unique(numbers)[1:]
    }
    assert right == max(by_hand.values()) == by_hand[numbers[example]]


def test_predictions_come_from_other_folds():
    _, labels, _ = noisy(5, 200)
    learner = Learner.of(Examples(texts(labels)), 0)
    codes = np.random.default_rng(0).integers(0, 7, 200)
    found = learner.probabilities(codes)
    for i in range(0, 200, 17):
        elsewhere = learner.fold != learner.fold[i]
        alike = np.bincount(labels[elsewhere & (codes == codes[i])], minlength=3)
        prior = np.bincount(labels[elsewhere], minlength=3) + 1 / 3
        expected = alike + prior / prior.sum()
        assert found[i] == pytest.approx(expected / expected.sum())


def test_what_orders_a_column():
    assert numbers_of(pl.Series(["x", "y"])) is None
    assert numbers_of(pl.Series([date(2021, 1, 1), None])).tolist()[0] == 18_628
    assert np.isnan(numbers_of(pl.Series([float("inf"), None]))).all()


@pytest.mark.parametrize("copies", [1, 4])
def test_columns_that_say_nothing_are_rarely_named(copies):
    alarms = 0
    for seed in range(30):
        rng, n = np.random.default_rng([seed, 8]), 240 // copies
        columns = {
            "labels": rng.integers(0, 2, n),
            "number": rng.normal(size=n),
            "writer": rng.integers(0, 60, n).astype(str),
            "year": rng.integers(1990, 2026, n),
        }
        columns = {name: np.repeat(values, copies) for name, values in columns.items()}
        data = texts(columns.pop("labels"), names=("no", "yes"), seed=seed, **columns)
        if copies > 1:
            same = data.table["hypothesis"].gather(np.repeat(np.arange(0, 240, copies), copies))
            data = data.with_columns(hypothesis=same)
        alarms += any(finding.severity != "info" for finding in Columns().run(data).findings)
    assert alarms <= 5  # 99 % of Binomial(30, 0.05)


def test_a_number_whose_middle_goes_with_a_label_and_a_trend_of_rows_are_named_as_often_as_by_simple_tests():
    named = 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 9])
        numbers = rng.normal(size=400)
        data = texts(
            (rng.random(400) < np.where(np.abs(numbers) < 0.67, 0.6, 0.4)).astype(int),
            number=numbers,
            seed=seed,
        )
        named += any("number" in finding.title for finding in Columns().run(data).findings)
        labels = (rng.random(400) < 0.35 + 0.3 * np.arange(400) / 400).astype(int)
        named += any("order" in finding.title for finding in Columns().run(texts(labels, seed=seed)).findings)
    assert (
        named >= 12
    )  # 15 by chi-square of fifths and Mann–Whitney; 2 where an interval of the accuracy decided


def test_a_row_after_a_copy_is_not_said_to_follow_a_label():
    table = texts(np.tile([0, 1], 200)).table.with_columns(
        pl.col("hypothesis").gather(np.arange(400) // 2 * 2)
    )
    data = Instances(table, "text", ("no", "yes", "open"), "copies")
    says = {row["column"]: row["says"] for row in Columns().run(data).tables["columns"].iter_rows(named=True)}
    assert (
        "after a row of the same or a similar text, 100\xa0% of 200 examples are “yes”"
        in says["previous row"]
    )
    assert "labelled “none”" not in says["previous row"]


def test_what_is_associated_without_more_accuracy_has_no_number_beside_its_title():
    rng = np.random.default_rng(0)
    labels = (rng.random(800) < np.where(np.arange(800) < 80, 0.55, 0.9)).astype(int)
    finding = first(texts(labels))
    assert finding.title == "The order of rows is associated with the label"
    assert (finding.value, finding.chance) == (None, None)
    assert "accuracy" in finding.text
