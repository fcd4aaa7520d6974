"""Saved models and checkpoints that are not whole are told, never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from told_sets import told_by_word, told_choices

from cuecard.errors import InputError
from cuecard.models import MODELS, FastText
from cuecard.models.linear.ngram_features import BITS
from cuecard.models.saved import load_model, read_arrays, write_arrays


def outside(slots: Any) -> Any:
    return np.where(np.arange(len(slots)) == 3, 1 << BITS, slots).astype(np.int32)


def negative(slots: Any) -> Any:
    return np.where(np.arange(len(slots)) == 3, -1, slots).astype(np.int32)


DAMAGES = [
    ("fasttext", "vectors", lambda a: a[:-1]),
    ("fasttext", "vectors", lambda a: a.astype(np.float64)),
    ("fasttext", "vectors", lambda a: a[:, :-1]),
    ("fasttext", "output", lambda a: a[:-1]),
    ("fasttext", "bias", lambda a: a[:, None]),
    ("linear", "coef", lambda a: a[:-1]),
    ("linear", "intercept", lambda a: a[:0]),
    ("linear", "hypothesis words/slots", outside),
    ("fasttext", "hypothesis words/slots", negative),
    ("fasttext", "shared words/idf", lambda a: a[:-1]),
    ("linear", "overlap/0", lambda a: a[::-1]),
    ("linear", "overlap/0", None),
    ("fasttext", "premise single words/slots", None),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    for name in ("linear", "fasttext"):
        MODELS.get(name)(epochs=1).fit(told_by_word()).save(folder / name)
    return folder


@pytest.mark.parametrize(("name", "array", "damage"), DAMAGES)
def test_arrays_that_do_not_fit_are_refused(
    saved: Path, tmp_path: Path, name: str, array: str, damage: Any
) -> None:
    arrays = read_arrays(saved / name / "model.safetensors")
    whole = arrays.pop(array)
    if damage is not None:
        arrays[array] = np.ascontiguousarray(damage(whole))
    write_arrays(tmp_path / "model.safetensors", arrays)
    (tmp_path / "model.json").write_text((saved / name / "model.json").read_text())
    with pytest.raises(InputError, match="is damaged or of another version"):
        load_model(tmp_path)


@pytest.mark.parametrize(("key", "value"), [("task", "song"), ("labels", ["one"]), ("condition", None)])
def test_a_description_of_nothing_known_is_refused(saved: Path, tmp_path: Path, key: str, value: Any) -> None:
    found = json.loads((saved / "linear" / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**found, key: value}))
    (tmp_path / "model.safetensors").write_bytes((saved / "linear" / "model.safetensors").read_bytes())
    with pytest.raises(InputError, match="is damaged or of another version"):
        load_model(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "3", "[" * 100_000, '{"task": ' + "9" * 5_000 + "}"], ids=len)
def test_a_description_that_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(InputError, match=r"model\.json (cannot be read as JSON|holds no JSON object)"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["linear", "fasttext"])
def test_a_whole_model_of_choices_is_read(name: str, tmp_path: Path) -> None:
    data = told_choices(60)
    model = MODELS.get(name)(epochs=1).fit(data)
    model.save(tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict_proba(data), model.predict_proba(data))


@pytest.mark.parametrize("key", ["state", "progress"])
def test_a_checkpoint_that_lacks_something_is_told(tmp_path: Path, key: str) -> None:
    FastText(epochs=1).fit(told_by_word(), checkpoint=tmp_path)
    found = json.loads((tmp_path / "checkpoint.json").read_text())
    del found[key]
    (tmp_path / "checkpoint.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=r"is damaged .*: delete the folder to retrain"):
        FastText(epochs=1).fit(told_by_word(), checkpoint=tmp_path)


def test_a_checkpoint_whose_arrays_do_not_fit_is_told(tmp_path: Path) -> None:
    FastText(epochs=1).fit(told_by_word(), checkpoint=tmp_path)
    arrays = read_arrays(tmp_path / "state-1.safetensors")
    write_arrays(tmp_path / "state-1.safetensors", {**arrays, "now.0": arrays["now.0"][:-1]})
    with pytest.raises(InputError, match=r"is damaged \(now.0 is .*: delete the folder to retrain"):
        FastText(epochs=1).fit(told_by_word(), checkpoint=tmp_path)
