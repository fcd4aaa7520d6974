from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.demo import demo_choice, demo_nli, write_demo


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_stress_writes_two_sets_that_read_back_and_together_are_the_scored_examples(cuecard, tmp_path, make):
    # Of fewer examples, partial input gives none away.
    written = write_demo(make(3000, seed=0), tmp_path / "data")
    ran = cuecard("stress", written["train"], "--test", written["test"], "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    sizes = json.loads(ran.out)["examples"]
    for split in ("train", "test"):
        rows = pl.read_parquet(written[split])
        parts = [pl.read_parquet(tmp_path / "out" / f"{split}_{part}.parquet") for part in ("hard", "easy")]
        assert [part.height for part in parts] == [sizes[f"{split}/{part}"] for part in ("hard", "easy")]
        # As they came: the same columns and values, in the same order.
        places = rows.with_row_index("place")
        for part in parts:
            assert part.schema == rows.schema
            found = part.join(places, on=rows.columns, how="left", maintain_order="left", nulls_equal=True)
            assert found["place"].null_count() == 0
            assert load(tmp_path / "out" / f"{split}_hard.parquet").n_examples == parts[0].height
        assert sum(part.height for part in parts) == rows.height
    assert pl.read_parquet(tmp_path / "out" / "balance.parquet")["count"].sum() == sum(sizes.values())


def test_stress_says_what_is_wrong_in_one_sentence(cuecard, tmp_path):
    ran = cuecard("stress", tmp_path / "none.csv", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "none.csv" in ran.err
    assert not (tmp_path / "out").exists()


def test_rows_of_a_csv_file_keep_their_columns_format_and_order(cuecard, tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(600):
        label = ("yes", "no")[i % 2]
        words = " ".join(f"w{k}" for k in rng.integers(0, 80, 4))
        hint = {"yes": " sun", "no": " rain"}[label] if rng.random() < 0.5 else ""
        rows.append(
            {
                "nr": f"{i:04}",
                "sentence1": f"premise {i}",
                "sentence2": words + hint,
                "gold": label,
                "note": "",
            }
        )
    rows[7]["gold"] = ""  # without a label it is neither hard nor easy
    table = pl.DataFrame(rows)
    table.write_csv(tmp_path / "data.csv")
    more = ("--columns", "premise=sentence1,hypothesis=sentence2,label=gold", "--holdout", 0.3)
    ran = cuecard("stress", tmp_path / "data.csv", *more, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert f"Test hard:   {tmp_path / 'out' / 'test_hard.csv'}" in ran.out
    names = {f"{split}_{part}.csv" for split in ("train", "test") for part in ("hard", "easy")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names | {"balance.parquet"}
    lines = (tmp_path / "data.csv").read_text().splitlines()
    together = []
    for name in names:
        header, *written = (tmp_path / "out" / name).read_text().splitlines()
        assert header == lines[0]
        assert [lines.index(line) for line in written] == sorted(lines.index(line) for line in written)
        together += written
    assert sorted(together) == sorted(line for line in lines[1:] if not line.startswith("0007"))


def test_a_part_without_examples_has_no_file_and_the_terminal_says_so(cuecard, tmp_path):
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 80, 6)) for _ in range(400)]
    labels = rng.choice(["yes", "no"], 200)
    pl.DataFrame({"premise": texts[::2], "hypothesis": texts[1::2], "label": labels}).write_csv(
        tmp_path / "even.csv"
    )
    ran = cuecard("stress", tmp_path / "even.csv", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "200 of 200 examples are hard. None is easy, so no file of easy examples is written." in ran.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"train_hard.csv", "balance.parquet"}
    assert "Train easy" not in ran.out


def test_too_few_examples_are_told_with_the_number_needed(cuecard, tmp_path):
    pl.DataFrame({"premise": ["a b", "c d"], "hypothesis": ["e", "f"], "label": ["yes", "no"]}).write_csv(
        tmp_path / "two.csv"
    )
    ran = cuecard("stress", tmp_path / "two.csv", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "Partial input cannot run here: needs at least 20 training examples, found 2." in ran.err
    assert not (tmp_path / "out").exists()
