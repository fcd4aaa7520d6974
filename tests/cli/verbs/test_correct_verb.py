from __future__ import annotations

import polars as pl
import pytest

from cuecard.data.demo import demo_nli, demo_predictions, write_demo


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("correct")
    demo = demo_nli(500, seed=1)
    write_demo(demo, folder)
    demo_predictions(demo, follow=0.5).filter(pl.col("split") == "test").write_csv(folder / "bert.csv")
    return folder


def test_the_terminal_shows_both_sides_and_the_next_command(cuecard, files, tmp_path):
    out = tmp_path / "c.csv"
    ran = cuecard(
        "correct", files / "train.parquet", "--test", files / "test.parquet",
        "--predictions", f"bert={files / 'bert.csv'}", "--out", out,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    for text in ("bert corrected for", "before", "after", "on the other folds", "Next: cuecard probe"):
        assert text in " ".join(ran.out.split())
    probed = cuecard(
        "probe", files / "train.parquet", "--test", files / "test.parquet",
        "--predictions", out, "--only", "permutation_test", "--quiet",
    )  # fmt: skip
    assert probed.code == 0, probed.err


def test_a_dev_split_and_its_predictions_belong_together(cuecard, files, tmp_path):
    out = tmp_path / "c.csv"
    ran = cuecard(
        "correct", files / "train.parquet", "--test", files / "test.parquet",
        "--predictions", files / "bert.csv", "--dev", files / "test.parquet", "--out", out,
    )  # fmt: skip
    assert ran.code == 2
    assert "--dev and --dev-predictions belong together" in ran.err
    assert not out.exists()
