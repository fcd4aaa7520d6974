"""Vectors from a model trained here: loaded by name from its folder, reading texts in their place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from cuecard.audits import Clusters
from cuecard.audits.clusters.clustering import as_read
from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, embed
from cuecard.models.embeddings import is_trained
from small_sets import choice_instances, pair_instances

TOPICS = ["sleep bed nap", "song stage guitar", "soup stove cook", "snow ski cold"]


@dataclass
class WordWeights:
    """A small real model: every word has a vector, its mean label one-hot; a text is the mean of its words."""

    name: ClassVar[str] = "word_weights_for_test"
    least: int = 1
    labels_: tuple[str, ...] = ()

    def fit(self, data: Instances, **_: Any) -> Self:
        self.labels_ = data.labels
        onehot = np.eye(len(data.labels))[data.label_codes]
        sums: dict[str, npt.NDArray[np.float64]] = {}
        for row, text in enumerate(data.table["hypothesis"]):
            for word in str(text).split():
                sums[word] = sums.get(word, np.zeros(len(data.labels))) + onehot[row]
        self.words_ = {w: s / s.sum() for w, s in sums.items() if s.sum() >= self.least}
        return self

    def embed(self, data: Instances) -> npt.NDArray[np.float64]:
        rows = []
        for premise, hypothesis in data.table.select("premise", "hypothesis").iter_rows():
            parts = [
                np.mean(
                    [self.words_[w] for w in (text or "").split() if w in self.words_] or [self._none()],
                    axis=0,
                )
                for text in (premise, hypothesis)
            ]
            rows.append(np.concatenate(parts))
        return np.array(rows)

    def predict_proba(self, data: Instances) -> npt.NDArray[np.float64]:
        return self.embed(data)[:, len(self.labels_) :]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        words = {word: list(vector) for word, vector in self.words_.items()}
        about = {"model": self.name, "parameters": asdict(self), "words": words}
        (folder / "model.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder: Path) -> Self:
        about = json.loads((folder / "model.json").read_text())
        model = cls(about["parameters"]["least"], tuple(about["parameters"]["labels_"]))
        model.words_ = {word: np.array(vector) for word, vector in about["words"].items()}
        return model

    def _none(self) -> npt.NDArray[np.float64]:
        return np.zeros(len(self.labels_))


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    MODELS.add(WordWeights.name, WordWeights)
    yield
    MODELS._items.pop(WordWeights.name)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))


def topical(n: int, seed: int) -> Instances:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        topic = i % len(TOPICS)
        label = "yes" if topic == 0 and rng.random() < 0.9 else ("no", "yes")[int(rng.integers(2))]
        words = " ".join([*rng.permutation(TOPICS[topic].split())[:2], f"x{rng.integers(60)}"])
        rows.append(("train", f"{TOPICS[i % 3]} seen", words, label))
    return pair_instances(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    WordWeights().fit(topical(200, 0)).save(place)
    return place


def test_texts_are_embedded_by_the_model_that_the_folder_names(folder: Path) -> None:
    texts = pl.Series(["sleep bed", "snow", "sleep bed", None])
    vectors, codes = embed(texts, str(folder))
    assert codes.tolist() == [0, 1, 0, 2]
    model = WordWeights.load(folder)
    np.testing.assert_allclose(
        vectors[0, 2:], np.mean([model.words_["sleep"], model.words_["bed"]], axis=0), rtol=1e-6
    )
    assert not vectors[2].any()


def test_clusters_are_made_of_what_enters_the_models_last_layer(folder: Path) -> None:
    data = topical(400, 1)
    result = Clusters(
        embed=str(folder), k=5, map="none", sweep=False, restarts=2, transformations=("shuffled_words",)
    )
    summary = result.run(data).summary
    assert summary["p_value"] <= 0.01
    assert summary["embedding"] == str(folder)
    assert summary["components"] == 4


def test_each_scope_puts_the_text_in_its_place(folder: Path) -> None:
    data = topical(12, 2)
    alone, first, both = (as_read(data, scope).table for scope in ("hypothesis", "premise", "both"))
    assert alone["premise"].unique().to_list() == [""]
    assert alone["hypothesis"].equals(data.table["hypothesis"])
    assert first["hypothesis"].unique().to_list() == [""]
    assert both.equals(data.table)
    changed = as_read(data, "both", pl.Series(["new"] * 12)).table
    assert changed["hypothesis"].unique().to_list() == ["new"]
    summary = Clusters(embed=str(folder), k=3, scope="both", map="none", sweep=False, restarts=1).run(
        topical(200, 3)
    )
    assert summary.summary["scope"] == "both"


def test_choices_are_embedded_row_by_row(folder: Path) -> None:
    questions = [("train", f"q{i}", [f"{TOPICS[j]} x{i}" for j in range(4)], i % 4) for i in range(60)]
    result = Clusters(embed=str(folder), k=4, map="none", sweep=False, restarts=1).run(
        choice_instances(questions)
    )
    assert result.summary["instances"] == 240


def test_vectors_are_kept_and_retrained_weights_never_meet_old_ones(folder: Path, tmp_path: Path) -> None:
    texts = pl.Series(["sleep bed", "snow"])
    before, _ = embed(texts, str(folder))
    assert len(list((tmp_path / "cache" / "vectors").iterdir())) == 1
    WordWeights().fit(topical(200, 9)).save(folder)
    after, _ = embed(texts, str(folder))
    assert not np.array_equal(before, after)


def test_a_folder_that_cannot_be_used_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    texts = pl.Series(["sleep bed", "snow"])
    (folder / "model.json").write_text('{"model": "word_weights_for_tests"}')
    with pytest.raises(UsageError, match="Did you mean 'word_weights_for_test'"):
        embed(texts, str(folder))
    (folder / "model.json").write_text("{cut sho")
    with pytest.raises(InputError, match="cannot be read"):
        embed(texts, str(folder))
    (folder / "model.json").write_text('{"architecture": "other"}')
    assert not is_trained(folder)
    with pytest.raises(InputError, match="no checkpoint"):
        embed(texts, str(folder))
