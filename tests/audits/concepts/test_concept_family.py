"""Concepts that a card's folder holds are features wherever a family is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits import Concepts, Cues
from cuecard.errors import InputError, UsageError
from cuecard.features import family_named
from cuecard.probes.cues.members import cue_stress_set
from cuecard.remedies import LexicalWeights
from cuecard.remedies.correction import ListedCues


def _pairs(n: int, seed: int) -> pl.DataFrame:
    """Return pairs whose hypothesis is about the sea or the town; those about the sea are more often "yes"."""
    rng = np.random.default_rng((5, seed))
    sea = rng.random(n) < 0.3
    yes = rng.random(n) < np.where(sea, 0.9, 0.33)
    words = {True: ["ship", "wave", "sail", "harbour"], False: ["street", "tram", "shop", "square"]}
    texts = [
        " ".join([*rng.choice(words[bool(one)], 3), f"number{i % 97}", f"{seed}thing{i}"])
        for i, one in enumerate(sea)
    ]
    premises = [f"premise {seed} {i}" for i in range(n)]
    return pl.DataFrame({"premise": premises, "hypothesis": texts, "label": np.where(yes, "yes", "no")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of a card, and the data of its training set and test set."""
    place = tmp_path_factory.mktemp("concepts")
    _pairs(700, 1).write_parquet(place / "train.parquet")
    _pairs(300, 2).write_parquet(place / "test.parquet")
    card = cc.audit(place / "train.parquet", test=place / "test.parquet", audits=[Concepts(embed="tfidf")])
    (place / "tables").mkdir()
    for name, table in card.tables.items():
        table.write_parquet(place / "tables" / f"{name}.parquet")
    return place


@pytest.fixture(scope="module")
def concept(folder: Path) -> str:
    """The name of the strongest concept."""
    table = pl.read_parquet(folder / "tables" / "concept_cues.parquet")
    assert table["significant"][0]
    return str(table["concept"][0])


def test_the_cue_audit_tests_them(folder: Path, concept: str) -> None:
    data = cc.load(folder / "train.parquet", test=folder / "test.parquet")
    cues = Cues(features=("word", f"concept={folder}")).run(data).tables["cues"]
    row = cues.filter(pl.col("family") == "concept", pl.col("feature") == concept).row(0, named=True)
    told = pl.read_parquet(folder / "tables" / "concept_cues.parquet").filter(pl.col("concept") == concept)
    assert row["significant"]
    assert row["label"] == told["label"][0]
    assert row["test_count"] == told["test_count"][0]  # the same texts of the test set
    assert row["train_count"] > told["train_count"][0]  # both halves of the training set


def test_one_is_explained(folder: Path, concept: str) -> None:
    explanation = cc.explain(
        folder / "train.parquet", f"concept={folder}:{concept}", test=folder / "test.parquet"
    )
    assert explanation.family == "concept"
    assert explanation.association is not None
    assert explanation.association["q_value"] is not None


def test_weights_balance_them(folder: Path, concept: str) -> None:
    data = cc.load(folder / "train.parquet")
    result = LexicalWeights(features=(f"concept={folder}",), min_count=20, shuffles=0).run(data)
    balanced = pl.concat([t for name, t in result.tables.items() if "feature" in t.columns][:1])
    assert concept in balanced["feature"].to_list()


def test_examples_with_one_are_chosen_for_a_stress_set(folder: Path, concept: str) -> None:
    data = cc.load(folder / "train.parquet", test=folder / "test.parquet")
    chosen = cue_stress_set(data, f"concept={folder}:{concept}")
    assert len(chosen.balanced) > 20


def test_predictions_are_corrected_for_one(folder: Path, concept: str) -> None:
    data = cc.load(folder / "train.parquet", test=folder / "test.parquet")
    name = f"concept={folder}:{concept}"
    listed = ListedCues.of(data, Cues(features=("word",)), names=["ship", name])
    assert listed.table.select("family", "feature").rows() == [("word", "ship"), ("concept", concept)]
    assert listed.cue_set(data).members.having.shape[1] == 2


def test_places_without_concepts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs the folder of a card with concepts"):
        family_named("concept")
    with pytest.raises(InputError, match="there is no card with concepts"):
        family_named(f"concept={tmp_path}")
    with pytest.raises(UsageError, match="reads no file"):
        family_named("word=somewhere")
    (tmp_path / "tables").mkdir()
    for name in ("concepts", "concept_weights"):
        (tmp_path / "tables" / f"{name}.parquet").write_text("no table")
    with pytest.raises(InputError, match="cannot be read"):
        family_named(f"concept={tmp_path}")
