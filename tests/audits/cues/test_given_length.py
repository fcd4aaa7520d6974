from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.demo_shapes import demo_long_answers

from cuecard.audits import Cues
from cuecard.audits.cues.redundancy import length_properties
from small_sets import pair_instances


def test_words_of_a_length_biased_set_are_one_finding_and_the_planted_word_stays():
    result = Cues().run(demo_long_answers(1_500, word="zebra", seed=0))
    cues = result.tables["cues"]
    words = cues.filter(pl.col("significant") & (pl.col("family") != "length"))
    assert words.height >= 30  # before: as many cues
    assert words.filter(~pl.col("by_length"))["feature"].to_list() == ["zebra"]
    summary = result.summary
    assert summary["by_length"] == words.height - 1
    measures = {measure.name: measure.value for measure in result.measures}
    assert measures["cues.given_length"] == summary["significant"] - summary["by_length"]
    told = [finding.title for finding in result.findings if finding.severity != "info"]
    assert any("“zebra”" in title for title in told)
    assert not any(title.startswith("“") and "zebra" not in title for title in told)
    longest = next(finding for finding in result.findings if finding.cue == "length:longest")
    assert longest.parts[-1] == f"{summary['by_length']} features that go with length"
    text = result.findings[0].text
    assert f"{summary['by_length']} more features go with length" in text
    assert text.startswith(
        f"{summary['significant'] - summary['by_length']:,} of {summary['features']:,} features"
    )


def test_without_a_bias_of_length_nothing_is_explained_by_it():
    result = Cues(features=("word", "length")).run(
        demo_long_answers(1_500, strength=0.5, word="zebra", seed=1)
    )
    assert result.summary["by_length"] == 0
    zebra = result.tables["cues"].filter(pl.col("feature") == "zebra").row(0, named=True)
    assert zebra["significant"]
    assert not zebra["by_length"]
    assert abs(zebra["z_given_length"] - zebra["z"]) < 1


def test_a_task_without_choices_has_no_such_columns():
    rows = [("train", "p", f"{'never' if i % 2 else 'so'} w{i}", "ab"[i % 2]) for i in range(40)]
    result = Cues().run(pair_instances(rows))
    assert "by_length" not in result.tables["cues"].columns
    assert result.summary["by_length"] is None
    assert "cues.given_length" not in {measure.name for measure in result.measures}


def test_the_properties_of_length():
    found = length_properties(np.array([3, 7, 7, 1, 1]), np.array([0, 3]))
    assert found[:, 0].tolist() == [0, 1, 1, 1, 1]
    assert found[:, 1].tolist() == [1, 0, 0, 1, 1]
    assert np.allclose([found[:3, 2].sum(), found[3:, 2].sum()], 0)
    assert np.array_equal(np.sign(found[:, 3]), np.sign(found[:, 2]))
