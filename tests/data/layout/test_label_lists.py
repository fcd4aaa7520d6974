"""Of lists of labels one is compared with the rest, or every set is a class."""

from __future__ import annotations

import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from cuecard.data import load
from cuecard.data.layout.scores import label_lists


def test_labels_that_begin_after_two_hundred_empty_rows_are_labels():
    assert label_lists(pl.Series([None] * 250 + ["pos", "neg"] * 20)) is None
    assert label_lists(pl.Series(["[x]"] * 250 + ["y"])) is None


def test_sets_of_labels_are_the_same_classes_in_train_and_test():
    def rows(joy: int, fear: int, both: int) -> pl.DataFrame:
        sets = [["joy"]] * joy + [["fear"]] * fear + [["joy", "fear"]] * both
        return pl.DataFrame({"text": [f"text {i}" for i in range(len(sets))], "labels": sets})

    data = load(rows(400, 400, 20), test=rows(50, 49, 1), labels="labels has *")
    test = data.table.filter(pl.col("split") == "test")
    assert set(test["label"].cast(pl.String)) == {"joy", "fear", "fear + joy"}


def numbered_lists(folder):
    """Write lists of numbers of classes, whose names the file has as Hugging Face datasets write them."""
    frame = pa.table(
        {
            "text": [f"text {i}" for i in range(40)],
            "labels": [[i % 3] if i % 2 else [0, 2] for i in range(40)],
        }
    )
    names = {"names": ["joy", "fear", "awe"], "_type": "ClassLabel"}
    described = {"info": {"features": {"labels": {"feature": names, "_type": "Sequence"}}}}
    pq.write_table(
        frame.replace_schema_metadata({"huggingface": json.dumps(described)}), folder / "train.parquet"
    )
    return folder / "train.parquet"


def test_numbers_of_classes_in_lists_have_the_names_of_the_file(tmp_path):
    file = numbered_lists(tmp_path)
    data = load(file)
    assert data.labels == ("joy", "not joy")
    assert data.table["all labels"].to_list()[:2] == [["joy", "awe"], ["fear"]]
    assert "the most frequent one, 'joy', is" in data.report.notes[0]
    assert load(file, labels="labels has fear").labels == ("fear", "not fear")
    assert load(file, labels="labels has 1").labels == ("1", "not 1")
    assert load(file, labels="labels has *").table["labels"].to_list()[0] == ["joy", "awe"]
