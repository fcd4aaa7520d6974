"""Cues that changed between two cards: one list, with a verdict that is quiet on noise."""

from __future__ import annotations

from io import StringIO

import numpy as np
import polars as pl
from rich.console import Console

from cuecard.card import compare
from cuecard.card.card import SplitInfo
from cuecard.card.changes import cue_changes
from cuecard.report import render_comparison
from cuecard.stats.intervals import wilson
from policy_cards import card_with


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


def test_cues_that_grew_appeared_or_turned_are_worse_and_one_that_stays_within_noise_is_not_listed():
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
    changes = cue_changes(before, after)
    assert {one.feature: (one.kind, one.direction, one.label) for one in changes} == {
        "grown": ("stronger", "worse", "yes"),
        "turned": ("turned", "worse", "no"),
        "fresh": ("new", "worse", "no"),
        "mended": ("gone", "better", "yes"),
    }
    assert changes[-1].feature == "mended"
    back = {one.feature: (one.kind, one.direction) for one in cue_changes(after, before)}
    assert back["grown"] == ("weaker", "better")
    assert back["fresh"] == ("gone", "better")


def test_a_cue_that_another_label_stands_for_is_compared_by_the_same_label():
    before = three_labels(("negative", (101, 37, 109)), ("turned", (5, 5, 90)))
    after = three_labels(("negative", (95, 44, 102)), ("turned", (90, 5, 5)))
    [moved] = cue_changes(before, after)
    assert (moved.feature, moved.kind, moved.label, moved.direction) == (
        "turned",
        "turned",
        "contradiction",
        "worse",
    )
    assert (moved.share_before, moved.share_after) == (0.05, 0.9)


def test_a_cue_that_rules_its_label_out_afterwards_has_turned():
    before = three_labels(("turned", (10, 10, 80)))
    after = three_labels(("turned", (50, 49, 1)))
    [moved] = cue_changes(before, after)
    assert moved.kind == "turned"
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

    false = np.mean([bool(moved_cues(drawn(), drawn())) for _ in range(100)])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)


def test_a_new_cue_that_is_hardly_more_frequent_and_a_bin_drawn_anew_are_no_change():
    before = three_labels(("steady", (3, 1, 1)))
    rare = three_labels(("steady", (3, 1, 1)), ("fresh", (9, 0, 0)))
    [listed] = cue_changes(before, rare)
    assert (listed.kind, listed.direction) == ("new", "within noise")
    assert moved_cues(before, rare) == moved_cues(rare, before) == []
    frequent = three_labels(("steady", (3, 1, 1)), ("fresh", (90, 0, 0)))
    [moved] = cue_changes(before, frequent)
    assert (moved.feature, moved.direction, moved.share_before) == ("fresh", "worse", None)
    frequent.attach({"cues": frequent.tables["cues"].with_columns(family=pl.lit("length"))})
    assert "fresh" not in {one.feature for one in cue_changes(before, frequent)}
    assert moved_cues(before, frequent) == []


def moved_cues(before, after):
    return [one for one in cue_changes(before, after) if one.direction != "within noise"]


def printed(before, after, *, every_number: bool = False) -> str:
    after.dataset = after.dataset.model_copy(update={"fingerprint": "other"})
    [comparison] = compare([before, after])
    console = Console(file=StringIO(), width=120)
    render_comparison(comparison, console, every_number=every_number)
    return console.file.getvalue().replace("\xa0", " ")


def test_a_cue_is_printed_once_with_its_verdict_or_among_those_within_noise():
    before = with_cues(("grown", "yes", 120, 200, True), ("border", "yes", 61, 100, True))
    after = with_cues(("grown", "yes", 190, 200, True), ("border", "yes", 60, 100, False))
    page = printed(before, after)
    assert "▲ worse  “grown” yes 60.0 % → 95.0 %, from chance +35.0 (95 % CI +27.4 to +42.3)" in page
    assert "Within noise or not judged: 1 cue (--all lists them)" in page
    assert "border" not in page
    page = printed(before, after, every_number=True)
    assert "Changes of the list of cues within noise: 1 gone" in page
    assert page.count("“grown”") == page.count("“border”") == 1


def test_a_share_that_stays_as_it_is_shown_is_no_change():
    before, after = with_cues(("lunch", "yes", 0, 100, True)), with_cues(("lunch", "yes", 0, 98, False))
    assert "lunch" not in printed(before, after, every_number=True)


def test_a_cue_of_a_label_that_the_other_version_lacks_is_not_compared():
    before, after = with_cues(("no", "yes", 190, 200, True)), with_cues(("no", "yes", 190, 200, True))
    after.dataset = after.dataset.model_copy(update={"labels": ["JA", "NEIN"]})
    after.attach({"cues": after.tables["cues"].with_columns(label=pl.lit("JA"))})
    assert cue_changes(before, after) == []


def test_features_of_one_name_in_two_families_have_verdicts_of_their_own():
    old, new = (
        with_cues(("no", "yes", 120, 200, True)),
        with_cues(("no", "yes", 190, 200, True)),
    )
    for card, count in ((old, 61), (new, 60)):
        other = cues(("no", "yes", count, 100, count == 61), family="negation")
        card.attach({"cues": pl.concat([card.tables["cues"], other])})
    verdicts = {one.family: one.direction for one in cue_changes(old, new)}
    assert verdicts == {"word": "worse", "negation": "within noise"}


def test_a_share_that_stays_while_chance_moves_is_printed_with_both_chance_levels():
    before, after = with_cues(("no", "yes", 160, 200, True)), with_cues(("no", "yes", 160, 200, False))
    after.attach({"cues": after.tables["cues"].with_columns(chance=pl.lit(0.8))})
    assert "▼ better  “no” yes 80.0 % → 80.0 % (chance 50.0 % → 80.0 %)" in printed(before, after)


def test_only_words_are_quoted():
    before, after = with_cues(("no", "yes", 61, 100, True)), with_cues(("no", "yes", 60, 100, False))
    for card, significant in ((before, True), (after, False)):
        other = cues(("negation", "yes", 61 if significant else 60, 100, significant), family="negation")
        card.attach({"cues": pl.concat([card.tables["cues"], other])})
    page = printed(before, after, every_number=True)
    assert "− “no” yes" in page
    assert "− a negation yes" in page
