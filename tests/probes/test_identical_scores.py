"""Scores of identical pairs from files and from a built-in model, and what is said about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.probes import identical_scores, matching_label
from cuecard.probes.identical_pair_scores import identical_pairs
from cuecard.run import probe


@pytest.fixture(scope="module")
def data() -> Instances:
    rng = np.random.default_rng(0)
    n = 300
    label = rng.integers(0, 2, n)
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0, "split": ["train"] * 200 + ["test"] * 100,
            "premise": [f"word{i % 50} {'tall' if y else 'short'}" for i, y in enumerate(label)],
            "hypothesis": [f"word{i % 20}" for i in range(n)],
            "label": pl.Series(np.where(label == 1, "duplicate", "not_duplicate")).cast(
                pl.Enum(["duplicate", "not_duplicate"])
            ),
        }
    )  # fmt: skip
    return Instances(table, "pair", ("duplicate", "not_duplicate"))


def test_scores_are_matched_by_id_or_by_sentence_whatever_their_order(
    data: Instances, tmp_path: Path
) -> None:
    pairs = identical_pairs(data, sample=40, seed=3)
    shuffled = pairs.with_columns(p_duplicate=0.1 * pl.col("frequency").clip(upper_bound=9)).sample(
        fraction=1, shuffle=True, seed=0
    )
    shuffled.select("example_id", "p_duplicate").write_csv(tmp_path / "by_id.csv")
    shuffled.select("premise", score="p_duplicate").write_ndjson(tmp_path / "by_text.jsonl")
    for name in ("by_id.csv", "by_text.jsonl"):
        found = identical_scores(data, str(tmp_path / name))
        assert found["model"].unique().to_list() == [Path(name).stem]
        assert (found["score"] - 0.1 * found["frequency"].clip(upper_bound=9)).abs().max() < 1e-12
        assert set(found["example_id"]) == set(pairs["example_id"])


def test_predicted_labels_count_as_zero_and_one_and_models_stand_in_one_file(
    data: Instances, tmp_path: Path
) -> None:
    pairs = identical_pairs(data).select("example_id", label=pl.lit("duplicate"))
    both = pl.concat(
        [
            pairs.with_columns(model=pl.lit("always"), prediction=pl.lit("duplicate")),
            pairs.with_columns(model=pl.lit("never"), prediction=pl.lit("not_duplicate")),
        ]
    )
    both.write_parquet(tmp_path / "scores.parquet")
    card = probe(data, [], identical_pairs=(str(tmp_path / "scores.parquet"),))
    assert list(card.sections) == ["identical_pairs"]
    found = card["identical_pairs"].summary["models"]
    assert (found["always"]["matched"], found["never"]["matched"]) == (1.0, 0.0)
    assert found["always"]["rho"] is None


def test_a_score_that_rises_with_frequency_is_said_with_its_numbers(data: Instances, tmp_path: Path) -> None:
    pairs = identical_pairs(data)
    pairs.with_columns(score=(0.3 + 0.06 * pl.col("frequency")).clip(upper_bound=1)).write_csv(
        tmp_path / "a.csv"
    )
    pairs.with_columns(score=pl.lit(0.9)).write_csv(tmp_path / "b.csv")
    card = probe(data, [], identical_pairs=(f"biased={tmp_path / 'a.csv'}", f"fair={tmp_path / 'b.csv'}"))
    titles = {finding.title: finding.severity for finding in card.findings}
    assert titles == {
        "biased scores identical pairs of frequent sentences higher": "medium",
        "fair scores rare and frequent identical pairs equally": "info",
    }
    rise = card.measure("identical_pairs.rise.biased")
    assert 0 < rise.low <= rise.value <= rise.high  # scores are constant within both groups
    assert card.measure("identical_pairs.matched.fair").value == 1
    assert {finding.id for finding in card.findings} == {"identical_pairs/biased", "identical_pairs/fair"}
    text = next(f.text for f in card.findings if "biased" in f.title)
    frequent = pairs.filter(pl.col("frequency") >= 10)
    assert f"0.90 for the {frequent.height} that occur at least 10 times" in text


def test_a_trend_too_small_to_matter_is_called_nearly_alike(data: Instances, tmp_path: Path) -> None:
    pairs = identical_pairs(data)
    pairs.with_columns(score=0.7 + 0.0005 * pl.col("frequency")).write_csv(tmp_path / "a.csv")
    (finding,) = probe(data, [], identical_pairs=(f"m={tmp_path / 'a.csv'}",)).findings
    assert (finding.severity, finding.title) == (
        "info",
        "m scores rare and frequent identical pairs nearly equally",
    )
    pairs.with_columns(score=pl.lit(0.9)).write_csv(tmp_path / "b.csv")
    (finding,) = probe(data, [], identical_pairs=(f"m={tmp_path / 'b.csv'}",)).findings
    assert "a difference of 0.00 (95 % CI 0.00 to 0.00)" in finding.text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_built_in_model_is_trained_and_asked(data: Instances) -> None:
    found = identical_scores(data, "mine=linear")
    assert found["model"].unique().to_list() == ["mine"]
    assert found.height == identical_pairs(data).height
    assert found["score"].is_between(0, 1).all()
    assert found["score"].n_unique() > 10


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"example_id": ["identical-1"]}, "no scores among example_id"),
        ({"score": [0.5]}, "does not say which pair"),
        ({"example_id": ["identical-9999"], "score": [0.5]}, "about no sentence of train"),
        ({"example_id": ["identical-1"], "score": [1.5]}, "row 1 has 1.5 as score"),
        ({"example_id": ["identical-1"] * 2, "score": [0.5] * 2}, "keep one per pair"),
        ({"example_id": ["identical-1"], "prediction": ["paraphrase"]}, "not a label of the data"),
    ],
)
def test_a_file_that_does_not_fit_is_named(
    data: Instances, tmp_path: Path, columns: dict[str, list[object]], complaint: str
) -> None:
    pl.DataFrame(columns).write_csv(tmp_path / "scores.csv")
    with pytest.raises(InputError, match=complaint):
        identical_scores(data, str(tmp_path / "scores.csv"))


def test_a_file_that_does_not_exist_is_named_before_anything_is_computed(data: Instances) -> None:
    with pytest.raises(InputError, match=r"nowhere.csv does not exist"):
        probe(data, [], identical_pairs=("m=nowhere.csv",))


def test_two_files_of_one_name_are_told_to_get_names(data: Instances, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        identical_pairs(data).with_columns(score=0.5).write_csv(tmp_path / folder / "m.csv")
    with pytest.raises(UsageError, match="NAME=FILE"):
        probe(data, [], identical_pairs=tuple(str(tmp_path / f / "m.csv") for f in ("one", "two")))


def test_the_matching_label_is_known_by_name_or_asked_for(data: Instances) -> None:
    assert matching_label(data) == "duplicate"
    assert matching_label(data, "not_duplicate") == "not_duplicate"
    odd = Instances(data.table.with_columns(label=pl.lit("x").cast(pl.Enum(["x", "y"]))), "pair", ("x", "y"))
    with pytest.raises(UsageError, match="--match; the labels are x, y"):
        matching_label(odd)
    with pytest.raises(UsageError, match="duplicat"):
        matching_label(data, "duplicat")
