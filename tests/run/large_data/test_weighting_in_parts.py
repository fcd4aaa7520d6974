"""Weights of a dataset that is gone through in parts are those of the dataset in memory."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.run.large_data.test_streaming import as_files

import cuecard as cc
from cuecard.data import load
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.errors import InputError, UsageError
from cuecard.run import debias_file
from mapped import mapped

SECTION = "lexical_weights"
#: What is about all examples, whatever the size of the sample.
ABOUT_ALL = (
    "features",
    "constrained",
    "ess",
    "max_weight",
    "quantiles",
    "histogram",
    "target",
    "label_shares",
)


def pairs(n: int = 900) -> pl.DataFrame:
    """Return pairs with cues, some of them without a label, and a column that differs between files."""
    table = demo_nli(n, seed=4).instances.train.table
    frame = table.select("premise", "hypothesis", pl.col("label").cast(pl.String))
    some = pl.int_range(pl.len()) % 50 == 7
    return frame.with_columns(
        label=pl.when(some).then(None).otherwise("label"), source=pl.int_range(pl.len())
    )


def choices(n: int = 250) -> pl.DataFrame:
    table = demo_choice(n, seed=2).instances.train.table
    return table.group_by("example_id", maintain_order=True).agg(
        pl.col("premise").first().alias("question"),
        pl.col("hypothesis").alias("choices"),
        pl.col("position").filter(pl.col("label") == "right").first().alias("answer"),
    )


def preferences(n: int = 300) -> pl.DataFrame:
    frame = pairs(n).with_columns(text=pl.concat_str("hypothesis", "source", separator=" thing "))
    return frame.select(
        prompt="premise",
        chosen=pl.concat_str(pl.lit("sure "), "text"),
        rejected=pl.col("hypothesis").reverse(),
    )


def same(card: cc.Card, expected: cc.Card) -> None:
    """Fail unless everything but the provenance is equal."""
    apart = {"provenance": True, "dataset": {"notes", "files", "name"}}
    assert card.model_dump(exclude=apart) == expected.model_dump(exclude=apart)
    assert card.tables.keys() == expected.tables.keys()
    for name, table in expected.tables.items():
        assert_frame_equal(card.tables[name], table, check_exact=True)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 110)
    monkeypatch.setattr("cuecard.data.loading.FEWEST_ROWS", 20)
    monkeypatch.setattr("cuecard.stats.entropy_balancing.constraints._ROWS", 90)
    monkeypatch.setattr("cuecard.data.space.SMALL", 0)
    monkeypatch.setattr("cuecard.data.space.LARGE", 1 << 12)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (pairs, {"min_count": 20}),
        (pairs, {"min_count": 15, "ngrams": 2, "balance_labels": True, "scope": "hypothesis"}),
        (pairs, {"min_count": 10, "max_weight": 2.0, "features": ("word", "length", "negation")}),
        (pairs, {"min_count": 3, "ngrams": 2, "target": "overall"}),
        (pairs, {"min_count": 20, "ridge": "cv", "trade_off": (0.1,)}),
        (choices, {"min_count": 20}),
        (preferences, {"min_count": 20}),
        (choices, {"min_count": 10, "min_ess": 0.9, "features": ("word", "position")}),
    ],
)
def test_any_number_of_parts_gives_the_weights_and_the_card_of_the_dataset_in_memory(
    make, options, tmp_path, small_parts
):
    frame = make()
    expected = None
    for files, groups, kind in ((1, 5, "parquet"), (3, 2, "parquet"), (2, 1, "jsonl")):
        folder = as_files(frame, tmp_path / f"{files}-{groups}-{kind}", files=files, groups=groups, kind=kind)
        debiased = cc.debias(folder, memory="1KB", **options)
        assert "chunks" in debiased.card.provenance.engine
        if expected is None:
            expected = cc.debias(load(folder), **options)
        assert debiased.weights.tolist() == expected.weights.tolist()
        same(debiased.card, expected.card)


def test_with_a_smaller_sample_the_weights_and_what_is_about_them_stay_the_same(
    tmp_path, small_parts, monkeypatch
):
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", 200)
    folder = as_files(pairs(), tmp_path / "files", files=2, groups=3)
    debiased = cc.debias(folder, memory="1KB", min_count=20, ridge="exact")
    expected = cc.debias(load(folder), min_count=20, ridge="exact")
    assert debiased.weights.tolist() == expected.weights.tolist()
    one, other = debiased.card[SECTION], expected.card[SECTION]
    assert {name: one.summary[name] for name in ABOUT_ALL} == {
        name: other.summary[name] for name in ABOUT_ALL
    }
    assert one.summary["err"]["constrained"] == other.summary["err"]["constrained"]
    for name in ("balance", "unbalanced"):
        assert_frame_equal(debiased.card.tables[name], expected.card.tables[name], check_exact=True)
    assert any("a random sample of 200 training examples" in note for note in debiased.card.dataset.notes)
    listed = debiased.card.tables["examples"]
    assert listed.height == 200
    everywhere = expected.card.tables["examples"].select("example_id", "weight")
    assert_frame_equal(
        listed.select("example_id", "weight"),
        listed.select("example_id").join(everywhere, on="example_id", maintain_order="left"),
    )


@pytest.mark.parametrize("name", ["weighted", "weighted.parquet", "weighted.csv", "weighted.jsonl"])
def test_the_rows_that_are_written_part_by_part_are_those_of_the_dataset_in_memory(
    name, tmp_path, small_parts, monkeypatch
):
    monkeypatch.setattr("cuecard.data.output.FILE_ROWS", 170)
    folder = as_files(pairs(), tmp_path / "files", files=3, groups=2)
    frame = pl.read_parquet(folder / "01.parquet").drop("source").with_columns(new=pl.lit(True))
    frame.write_parquet(folder / "01.parquet")
    written = []
    for memory in ("1KB", "1TB"):
        place = tmp_path / memory
        place.mkdir()
        debias_file(folder, place / name, memory=memory, min_count=20)
        assert [path.name for path in place.iterdir()] == [name]
        written.append(place / name)
    in_parts, in_memory = written
    if name.endswith(".parquet"):
        assert_frame_equal(pl.read_parquet(in_parts), pl.read_parquet(in_memory), check_exact=True)
    elif name == "weighted":
        names = [path.name for path in sorted(in_parts.iterdir())]
        assert names == [f"part-{i:05d}.parquet" for i in range(4)]
        for each in names:
            assert_frame_equal(
                pl.read_parquet(in_parts / each), pl.read_parquet(in_memory / each), check_exact=True
            )
    else:
        assert in_parts.read_bytes() == in_memory.read_bytes()


def test_lists_and_enumerations_are_written_as_they_are(tmp_path, small_parts):
    frame = choices().with_columns(
        kind=pl.lit("a").cast(pl.Enum(["a", "b"])), more=pl.struct(a=1, b=pl.lit("x"))
    )
    folder = as_files(frame, tmp_path / "files", files=2, groups=2)
    debias_file(folder, tmp_path / "weighted.parquet", memory="1KB", min_count=20)
    written = pl.read_parquet(tmp_path / "weighted.parquet")
    assert_frame_equal(written.drop("weight"), frame)
    assert written["weight"].mean() == pytest.approx(1)
    with pytest.raises(UsageError, match="holds lists"):
        debias_file(folder, tmp_path / "weighted.csv", memory="1KB", min_count=20)


def test_rows_without_a_label_have_weight_0(tmp_path, small_parts):
    frame = pairs()
    folder = as_files(frame, tmp_path / "files", files=2, groups=2)
    debiased = debias_file(folder, tmp_path / "weighted.parquet", memory="1KB", min_count=20)
    weights = pl.read_parquet(tmp_path / "weighted.parquet")["weight"]
    labelled = frame["label"].is_not_null()
    assert weights.filter(~labelled).to_list() == [0.0] * int((~labelled).sum())
    assert weights.filter(labelled).to_list() == debiased.weights.tolist()
    assert debiased.card.dataset.dropped == {"missing label": int((~labelled).sum())}


@pytest.mark.parametrize("name", ["weighted", "weighted.parquet"])
def test_a_write_that_fails_leaves_nothing(name, tmp_path, small_parts, monkeypatch):
    folder = as_files(pairs(), tmp_path / "files", files=2, groups=2)
    (tmp_path / "out").mkdir()

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(InputError, match="No space left on device"):
        debias_file(folder, tmp_path / "out" / name, memory="1KB", min_count=20)
    assert list((tmp_path / "out").iterdir()) == []


def test_an_existing_column_is_refused_before_anything_is_learned(tmp_path, small_parts, monkeypatch):
    folder = as_files(pairs().with_columns(weight=pl.lit(1.0)), tmp_path / "files", files=2, groups=2)
    monkeypatch.setattr("cuecard.run.debiasing.run_section", None)
    with pytest.raises(InputError, match="already have a column 'weight'"):
        debias_file(folder, tmp_path / "weighted", memory="1KB")


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("neutral", {}),
        ("lexical", {"solver": "softmax"}),
        ("lexical", {"features": ("significant",)}),
        ("lexical", {"reaudit": ("overview",), "shuffles": 0}),
    ],
)
def test_every_method_and_option_works_at_any_size(method, options, tmp_path, small_parts):
    folder = as_files(pairs(), tmp_path / "files", files=2, groups=2)
    debiased, expected = (cc.debias(data, method, **options) for data in (mapped(folder), load(folder)))
    assert debiased.weights.tolist() == expected.weights.tolist()


def test_labels_that_are_missing_are_an_error(tmp_path, small_parts):
    """One class alone, no label at all, and a class that only the test split has."""
    cases = {
        "one": (pl.lit("neutral"), "only one class"),
        "none": (pl.lit(None, dtype=pl.String), "label"),
    }
    for name, (label, reason) in cases.items():
        folder = as_files(pairs().with_columns(label=label), tmp_path / name, files=2, groups=2)
        with pytest.raises(InputError, match=reason):
            cc.debias(folder, memory="1KB")
    folder = tmp_path / "splits"
    folder.mkdir()
    frame = pairs()
    frame.filter(pl.col("label") != "neutral").write_parquet(folder / "train.parquet")
    frame[-100:].write_parquet(folder / "test.parquet")
    with pytest.raises(InputError, match="no train row has the label 'neutral'"):
        cc.debias(folder, memory="1KB")
