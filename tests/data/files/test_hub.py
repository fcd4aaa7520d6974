"""Folders that Hugging Face's `save_to_disk` writes are read without its package."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from cuecard.data import load
from cuecard.errors import InputError
from mapped import mapped

FEATURES = {
    "premise": {"dtype": "string", "_type": "Value"},
    "hypothesis": {"dtype": "string", "_type": "Value"},
    "label": {"names": ["entailment", "neutral", "contradiction"], "_type": "ClassLabel"},
}


def save(folder: Path, labels: list[int], *, files: int = 1, stream: bool = True) -> Path:
    """Write a dataset the way `save_to_disk` lays it out: Arrow files, their list, and the features."""
    folder.mkdir(parents=True)
    n = len(labels)
    table = pa.table(
        {"premise": [f"p{i}" for i in range(n)], "hypothesis": [f"h{i}" for i in range(n)], "label": labels}
    )
    names = [f"data-{i:05d}-of-{files:05d}.arrow" for i in range(files)]
    for i, name in enumerate(names):
        part = table.slice(i * n // files, n // files)
        opened = pa.ipc.new_stream if stream else pa.ipc.new_file
        with opened(str(folder / name), part.schema) as writer:
            writer.write_table(part)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    return folder


@pytest.mark.parametrize("stream", [True, False])
def test_a_saved_dataset_names_its_classes(tmp_path, stream):
    data = load(save(tmp_path / "mine", [2, 0, 1, -1], files=2, stream=stream))
    assert data.name == "mine"
    assert data.labels == ("entailment", "neutral", "contradiction")
    assert data.table["label"].to_list() == ["contradiction", "entailment", "neutral"]
    assert data.table["premise"].to_list() == ["p0", "p1", "p2"]
    assert data.report.dropped == {"missing label": 1}


def dictionary(folder: Path, splits: list[str]) -> Path:
    for split in splits:
        save(folder / split, [0, 1, 2])
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
    return folder


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        (["train", "test"], ("train", "test")),
        (["validation", "train"], ("train", "test")),
        (["train", "validation", "test"], ("train", "dev", "test")),
        (["test"], ("train",)),
    ],
)
def test_a_saved_dictionary_fills_its_splits(tmp_path, splits, expected):
    assert load(dictionary(tmp_path / "d", splits)).splits == expected


def test_a_split_of_a_dictionary_can_be_named(tmp_path):
    folder = dictionary(tmp_path / "d", ["train", "validation", "test"])
    data = load(folder / "validation", test=folder / "test")
    assert data.splits == ("train", "test")
    assert load(folder, test=folder).test is not None


def test_a_dictionary_without_train_asks_for_one_split(tmp_path):
    with pytest.raises(InputError, match="has no training split, only dev, test"):
        load(dictionary(tmp_path / "d", ["dev", "test"]))


def test_a_saved_dictionary_can_be_mapped_from_disk(tmp_path):
    folder = dictionary(tmp_path / "d", ["train", "test"])
    data = mapped(folder, rows=2)
    assert data.table.equals(load(folder).table)
    assert data.labels == ("entailment", "neutral", "contradiction")


class FakeDataset:
    """As much of `datasets.Dataset` as is read."""

    __module__ = "datasets.arrow_dataset"

    def __init__(self, labels: list[str]) -> None:
        self.table = pa.table({"text": [f"t{i}" for i in range(len(labels))], "label": labels})
        self.features: dict[str, object] = {}

    def with_format(self, _: str) -> pa.Table:
        return self.table


def test_a_dictionary_of_datasets_in_memory_fills_its_splits():
    data = load({"validation": FakeDataset(["x", "y"]), "train": FakeDataset(["y", "x", "y"])})
    assert data.splits == ("train", "test")
    assert (data.train.n_examples, data.test.n_examples) == (3, 2)
    assert load({"anything": FakeDataset(["x", "y"])}).splits == ("train",)
    with pytest.raises(InputError, match="has no training split"):
        load({"dev": FakeDataset(["x", "y"]), "test": FakeDataset(["x", "y"])})
