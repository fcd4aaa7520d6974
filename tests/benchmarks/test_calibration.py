"""The short form of the calibration page: level, power and coverage hold in wide bands, and clean data stay quiet.

Bands are so wide that chance hardly leaves them, and so narrow that counting copies as examples, taking weights for
known, judging by hits or resampling shares would.
"""

from __future__ import annotations

import itertools
from functools import partial

import polars as pl
import pytest
from benchmarks.calibration import model_tests, score, units
from benchmarks.calibration.audit_sections import mixed, repeats, weighted, weighted_topics
from benchmarks.calibration.clean_sets import claims, clean_set
from benchmarks.calibration.clean_shapes import clean_shape
from benchmarks.calibration.edited_copies import COMMON_BEGINNINGS, alarms, edited_set
from benchmarks.calibration.intervals import graph_excess
from benchmarks.calibration.judged import CASES, judge_coverage
from benchmarks.calibration.page import page
from benchmarks.calibration.remedy_sections import corrected_gap
from benchmarks.calibration.rows import Row
from benchmarks.calibration.shuffled_sets import block_shuffled
from benchmarks.calibration.stored_cells import Cell, resumed
from benchmarks.demo_shapes import repeated

from cuecard.audits import AUDITS
from cuecard.data.demo import demo_choice, demo_nli


@pytest.mark.parametrize("task", ["text", "pair", "choice", "preference"])
@pytest.mark.parametrize("near", [False, True])
def test_copies_make_no_cues(task, near):
    rates = units.null_cues(partial(repeats, task, 120, "three", near), 3)
    assert rates.significant <= 0.67  # 100 % where copies count as examples
    assert rates.finding <= 0.34


@pytest.mark.parametrize("kind", ["inverse_frequency", "pareto"])
def test_weights_make_no_cues(kind):
    assert (
        units.null_cues(partial(weighted, "text", 400, kind, "none"), 6, weights="weight").significant <= 0.35
    )


def test_differing_numbers_of_choices_make_no_cues():
    assert units.null_cues(partial(mixed, 200), 5).significant <= 0.4


def test_few_distinct_hypotheses_make_no_cues():
    [(significant, tested)] = units.significant_under_blocks(1)
    assert significant <= 0.02 * tested  # nearly half of them where pairs count as examples


def test_a_planted_word_is_seen_in_copies_too():
    assert units.planted_power(4, copies="three", strength=0.9) >= 0.75


def test_clusters_of_copies_keep_the_level_and_topics_are_seen():
    assert units.peco_rejections(partial(repeats, "pair", 80, "three", False), 4) <= 0.5
    assert units.peco_rejections(partial(units.topics, 200, 0.8), 3) == 1


def test_clusters_see_topics_under_weights_that_tell_the_label():
    draw = partial(weighted_topics, 300, 0.8)
    assert (
        units.peco_rejections(draw, 3, weights="weight") == 1
    )  # never, where labels only change with like weights


def test_near_copies_of_short_choices_keep_the_level_of_clusters():
    draw = partial(repeats, "choice", 100, "three", True, words=7)
    assert units.peco_rejections(draw, 12) <= 0.34


def test_slices_by_columns_that_say_nothing_are_rarely_significant():
    assert score.slice_rejections(partial(repeats, "pair", 150, "none", False), 4) <= 0.5


def test_intervals_of_shares_of_selected_cues_cover():
    held = units.share_coverage(4, seed=50)
    assert held["corrected"] >= 0.75


def test_the_score_test_keeps_its_level():
    assert score.score_test_level(400, n=200, rare=0.1) <= 0.09
    assert score.copies_level(400, units=60, copies=5) <= 0.09  # > 25 % with examples as units


def test_partial_input_keeps_its_level_with_copies_and_weights():
    draws = (
        (partial(repeats, "pair", 100, "three", False), None),
        (partial(weighted, "pair", 150, "pareto", "none"), "weight"),
    )
    for draw, weights in draws:
        assert score.whole_audit_level(draw, 5, "hypothesis_only", weights=weights) <= 0.4


def test_the_score_sees_what_hits_do_not():
    found = score.partial_input_rejections(3, n=400, strength=0.6)
    assert found["score"] >= 0.66 > found["hits"]


def test_the_pair_graph_keeps_its_level_and_sees_a_leak():
    assert score.pair_graph_rejections(15, n=150)["chain"] <= 0.2
    assert score.pair_graph_rejections(4, n=300, strength=0.8)["chain"] == 1


def test_intervals_of_the_distribution_test_cover():
    found = model_tests.distribution_test(model_tests.evenly(0.95), (20, 200, 200), 40)
    assert found["coverage"] >= 0.85 > found["bootstrap"]
    assert found["rejected"] <= 0.15


def test_a_cue_that_travels_with_length_is_not_taken_for_one_that_is_used():
    found = model_tests.cue_given_length(40, n=400)
    assert found["length held fixed"] <= 0.16 < 0.9 < found["not held fixed"]


@pytest.mark.parametrize(
    ("task", "shape"),
    [("text", "many copies"), ("pair", "near copies"), ("choice", "mixed k"), ("preference", "copies"),
     ("pair", "label weights"), ("text", "heavy weights"), ("pair", "test split")],
)  # fmt: skip
def test_whole_cards_of_clean_data_raise_no_alarm(task, shape):
    assert list(claims(clean_set(task, shape, 200, 7), skip=("clusters",))) == []


def test_block_shuffles_keep_one_label_per_text_and_one_right_choice():
    pairs = repeated(demo_nli(120, seed=0).instances, 3)
    shuffled = block_shuffled(pairs, seed=1)
    assert shuffled.table.group_by("hypothesis").agg(pl.col("label").n_unique())["label"].max() == 1
    assert (shuffled.label_codes != pairs.label_codes).mean() > 0.4
    choices = block_shuffled(demo_choice(60, seed=0).instances, seed=1)
    right = choices.table.group_by("split", "example_id").agg((pl.col("label") == choices.labels[0]).sum())
    assert right["label"].to_list() == [1] * choices.n_examples


def test_the_page_has_every_figure_with_its_runs_and_interval():
    row = Row("level", "any cue", "pair, copies", "300", 40, 0.025, "100 %").as_json()
    cards = [{"task": "pair", "shape": "plain", "n": 50, "findings": names} for names in (["cues/x"], [])]
    text = page({"whole cards": cards, "blocks": [{"significant": 0, "tested": 820}], "cues": [row]})
    assert "| any cue | pair, copies | 300 | 40 | 100 % | 2.5 % [0, 13] |" in text
    assert "| generated, pair | 2 | 1 | 50 % [9, 91] |" in text
    assert "0 of 820" in text
    assert "`cues/x`" in text


def test_edits_of_a_source_with_a_random_label_hardly_ever_make_a_finding():
    # All twelve cards have one where edits are independent; at a level of 5 %, more than two have a chance of 2 %.
    shapes = {"20 % of the words replaced": 160, "a third of the words of a template replaced": 48}
    cards = itertools.product(("pair", "choice", "preference"), shapes.items(), (1, 2))
    assert sum(alarms(task, shape, sources, seed) for task, (shape, sources), seed in cards) <= 2


def test_growing_prefixes_that_begin_alike_make_no_finding():
    skip = tuple(name for name in AUDITS.names() if name != "partial_input")
    found = [
        claims(edited_set("choice", COMMON_BEGINNINGS, 60, seed), skip=skip) for seed in range(4)
    ]  # all where folds keep together what shares a choice, and leave no room for versions of a question
    assert sum(map(bool, found)) <= 1


def test_the_pair_graphs_excess_holds_zero_for_random_labels():
    held = [graph_excess(200, seed, split=True) for seed in range(20)]
    assert sum(now for now, _ in held) >= 18  # 16 where the majority share is taken as known


@pytest.mark.parametrize(("name", "measured", "both", "ties"), CASES)
def test_intervals_about_judges_hold_where_comparisons_share_prompts(name, measured, both, ties):
    for held in judge_coverage(measured, both, ties, 200, 150, 7).values():
        assert held >= 0.90


def test_a_correction_for_significant_words_leaves_no_gap_of_the_cues():
    found = [corrected_gap(seed) for seed in (1, 2)]
    assert not any(now for now, _ in found)
    assert all(padded for _, padded in found)


@pytest.mark.parametrize(
    ("task", "shape", "section"), [("preference", "many copies", "style"), ("pair", "templates", "clusters")]
)
def test_texts_of_few_sources_keep_the_level(task, shape, section):
    skip = [name for name in AUDITS.names() if name != section]
    alarms = [claims(clean_shape(task, shape, 90_000 + seed), skip=tuple(skip)) for seed in range(6)]
    assert (
        sum(bool(found) for found in alarms) <= 1
    )  # 2 to 4 where only near copies of a text and its prompt count once


def test_an_interrupted_simulation_continues_with_the_next_cell(tmp_path):
    computed = []

    def cell(name, fails=False):
        def compute():
            computed.append(name)
            if fails:
                raise KeyboardInterrupt
            return {"of": name}

        return Cell(name, compute)

    path = tmp_path / "cells.jsonl"
    with pytest.raises(KeyboardInterrupt):
        list(resumed([cell("a"), cell("b", fails=True)], path))
    assert list(resumed([cell("a"), cell("b")], path)) == [{"of": "a"}, {"of": "b"}]
    assert computed == ["a", "b", "b"]
    assert not path.exists()


def test_cells_above_the_level_are_named():
    cells = [
        {
            "task": "pair",
            "shape": shape,
            "cards": 40,
            "alarms": alarms,
            "findings": {"cues/x": alarms} if alarms else {},
        }
        for shape, alarms in (("plain", 1), ("copies", 12))
    ]
    written = page({"clean shapes": cells})
    assert "| copies | 12 / 40 |" in written
    assert "Cells surely above 5 %: pair, copies." in written
