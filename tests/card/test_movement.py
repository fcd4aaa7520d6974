"""What moved beyond noise between two cards: quiet on noise, loud on a planted change."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Measure
from cuecard.card import compare
from cuecard.card.card import SplitInfo
from cuecard.card.movement import cue_movements, movements
from cuecard.stats.intervals import wilson
from cuecard.stats.multiple_testing import holm
from policy_cards import card_with


def accuracy(k: int, n: int, name: str) -> Measure:
    low, high = (float(end) - 0.5 for end in wilson(k, n))
    return Measure(f"partial_input.{name}.excess", k / n - 0.5, low, high, 0.0, n, "points", "higher", name)


def card(rng, shift: float = 0.0, fingerprint: str = ""):
    measures = [accuracy(int(rng.binomial(500, 0.6 + shift * (i == 0))), 500, f"m{i}") for i in range(12)]
    made = card_with(*measures)
    made.dataset = made.dataset.model_copy(update={"fingerprint": fingerprint or str(rng.random())})
    return made


def test_equal_sources_move_in_at_most_one_of_twenty_comparisons():
    rng = np.random.default_rng(0)
    false = np.mean([bool(movements(card(rng), card(rng))) for _ in range(400)])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_planted_change_is_the_one_that_moved():
    rng = np.random.default_rng(1)
    [moved] = movements(card(rng), card(rng, 0.2))
    assert moved.direction == "worse"
    assert moved.after.label == "m0"
    assert moved.change.low > 0
    [back] = movements(card(rng, 0.2), card(rng))
    assert back.direction == "better"


def test_another_audit_of_the_same_data_is_no_change_of_the_data():
    rng = np.random.default_rng(2)
    assert movements(card(rng, fingerprint="a"), card(rng, 0.3, fingerprint="a")) == []


def test_a_share_without_interval_is_judged_as_a_sample():
    def copies(value):
        one = Measure("overview.repeated", value, n=1000, unit="share", worse="higher")
        made = card_with(one)
        made.dataset = made.dataset.model_copy(update={"fingerprint": str(value)})
        return made

    assert movements(copies(0.010), copies(0.012)) == []
    assert movements(copies(0.010), copies(0.100))[0].direction == "worse"


def cues(*rows: tuple[str, str, int, int, bool], family: str = "word", chance: float = 0.5) -> pl.DataFrame:
    table = []
    for feature, label, k, n, significant in rows:
        low, high = (float(end) for end in wilson(k, n))
        table.append((family, feature, label, k / n, low, high, chance, significant, True, -3.0, n, n))
    names = [
        "family",
        "feature",
        "label",
        "share",
        "share_low",
        "share_high",
        "chance",
        "significant",
        "is_cue",
        "log10_p",
        "train_count",
        "effective_n",
    ]
    return pl.DataFrame(table, schema=names, orient="row")


def three_labels(*features: tuple[str, tuple[int, int, int]]):
    """A card of 3,000 pairs with three labels; a cue is listed under the label that stands out."""
    names = ["contradiction", "entailment", "neutral"]
    rows = []
    for feature, counts in features:
        at = int(np.argmax(np.abs(np.array(counts) / sum(counts) - 1 / 3)))
        rows.append((feature, names[at], counts[at], sum(counts), True))
    table = cues(*rows, chance=1 / 3)
    made = card_with()
    made.dataset = made.dataset.model_copy(
        update={
            "labels": names,
            "splits": {"train": SplitInfo(examples=3000, instances=3000, labels=dict.fromkeys(names, 1000))},
        }
    )
    counts_of = {f"train_{name}": [c[i] for _, c in features] for i, name in enumerate(names)}
    made.attach(
        {"cues": table.with_columns(**{k: pl.Series(v, dtype=pl.Int64) for k, v in counts_of.items()})}
    )
    return made


def with_cues(*rows):
    made = card_with()
    made.attach({"cues": cues(*rows)})
    return made


def test_cues_that_grew_appeared_or_turned_are_worse_and_those_within_noise_are_not_listed():
    before = with_cues(
        ("rare", "yes", 3, 5, False),
        ("steady", "yes", 70, 100, True),
        ("grown", "yes", 120, 200, True),
        ("turned", "yes", 90, 100, True),
        ("mended", "yes", 95, 100, True),
    )
    after = with_cues(
        ("rare", "yes", 3, 5, False),
        ("steady", "yes", 73, 100, True),
        ("grown", "yes", 190, 200, True),
        ("turned", "no", 90, 100, True),
        ("mended", "yes", 52, 100, False),
        ("fresh", "no", 30, 30, True),
    )
    moved = {one.feature: (one.direction, one.label) for one in cue_movements(before, after)}
    assert moved == {
        "grown": ("worse", "yes"),
        "turned": ("worse", "no"),
        "fresh": ("worse", "no"),
        "mended": ("better", "yes"),
    }


def test_a_cue_that_another_label_stands_for_is_compared_by_the_same_label():
    before = three_labels(("negative", (101, 37, 109)), ("turned", (5, 5, 90)))
    after = three_labels(("negative", (95, 44, 102)), ("turned", (90, 5, 5)))
    [moved] = cue_movements(before, after)
    assert (moved.feature, moved.label, moved.direction) == ("turned", "contradiction", "worse")
    assert (moved.share_before, moved.share_after) == (0.05, 0.9)


def test_a_cue_that_rules_its_label_out_afterwards_has_turned():
    before = three_labels(("turned", (10, 10, 80)))
    after = three_labels(("turned", (50, 49, 1)))
    [moved] = cue_movements(before, after)
    assert (moved.label, moved.direction, moved.share_before, moved.share_after) == (
        "neutral",
        "worse",
        0.8,
        0.01,
    )


def test_equal_sources_have_no_worse_cue():
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([4.0, 4.0, 4.0], size=150)
    sizes = rng.integers(5, 200, size=150)

    def drawn():
        return three_labels(
            *(
                (f"w{i}", tuple(rng.multinomial(n, p)))
                for i, (n, p) in enumerate(zip(sizes, shares, strict=True))
            )
        )

    false = np.mean([bool(cue_movements(drawn(), drawn())) for _ in range(100)])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)


def test_a_new_cue_that_is_hardly_more_frequent_and_a_bin_drawn_anew_are_no_change():
    before = three_labels(("steady", (3, 1, 1)))
    rare = three_labels(("steady", (3, 1, 1)), ("fresh", (9, 0, 0)))
    assert cue_movements(before, rare) == []
    assert cue_movements(rare, before) == []
    frequent = three_labels(("steady", (3, 1, 1)), ("fresh", (90, 0, 0)))
    [moved] = cue_movements(before, frequent)
    assert (moved.feature, moved.direction, moved.share_before) == ("fresh", "worse", None)
    frequent.attach({"cues": frequent.tables["cues"].with_columns(family=pl.lit("length"))})
    assert cue_movements(before, frequent) == []


def test_the_verdict_of_a_comparison_is_its_first_line():
    from io import StringIO

    from rich.console import Console

    from cuecard.report import render_comparison

    rng = np.random.default_rng(1)
    [worse] = compare([card(rng), card(rng, 0.2)])
    assert worse.worse
    assert worse.as_dict()["worse"] is True
    console = Console(file=StringIO(), width=120)
    render_comparison(worse, console)
    lines = [line for line in console.file.getvalue().splitlines() if line]
    assert lines[0] == "Worse: 1 measure got worse beyond noise."
    assert "m0" in lines[2]
    grown = with_cues(("grown", "yes", 190, 200, True))
    grown.dataset = grown.dataset.model_copy(update={"fingerprint": "other"})
    [cues_only] = compare([with_cues(("grown", "yes", 120, 200, True)), grown])
    page = Console(file=StringIO(), width=120)
    render_comparison(cues_only, page)
    assert "▲ worse  “grown” yes 60.0 % → 95.0 %" in page.file.getvalue().replace("\xa0", " ")
    assert "95 % CI" in lines[2]


def test_cards_of_different_tasks_are_not_judged():
    from cuecard.report.comparison.card_diff import verdict_of

    [apart] = compare([card_with(), card_with(task="choice")])
    assert not apart.comparable
    assert verdict_of(apart) == "Not judged: the tasks differ."


def test_holm_is_that_of_the_definition():
    p = np.random.default_rng(3).random(8) ** 3
    order = np.argsort(p)
    expected = [max((8 - j) * p[order[j]] for j in range(i + 1)) for i in range(8)]
    assert holm(p)[order] == pytest.approx(np.minimum(expected, 1))


def test_a_share_that_stays_while_chance_moves_is_printed_with_both_chance_levels():
    from io import StringIO

    from rich.console import Console

    from cuecard.report import render_comparison

    before, after = with_cues(("no", "yes", 160, 200, True)), with_cues(("no", "yes", 160, 200, False))
    after.attach({"cues": after.tables["cues"].with_columns(chance=pl.lit(0.8))})
    [one] = compare([before, after])
    page = Console(file=StringIO(), width=120)
    render_comparison(one, page)
    printed = page.file.getvalue().replace("\xa0", " ")
    assert "▼ better  “no” yes 80.0 % → 80.0 % (chance 50.0 % → 80.0 %)" in printed
