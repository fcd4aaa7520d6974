"""All torch models of words: what they learn, what they cannot see, and what they do with odd input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_cues import TINY, cue_choices, cue_pairs
from small_sets import pair_instances

pytest.importorskip("torch")

from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, load_model
from cuecard.models.examples import accuracy, examples_of

NAMES = ["bilstm", "siamese-lstm", "esim"]


def fitted(name: str, data: Any, *, epochs: int = 5, condition: Any = "full", **parameters: Any) -> Any:
    fit = {key: parameters.pop(key) for key in ("weights", "dynamics", "validation") if key in parameters}
    return MODELS.get(name)(**{**TINY, "epochs": epochs, **parameters}).fit(data, condition=condition, **fit)


def score(model: Any, data: Any) -> float:
    return accuracy(model.predict_proba(data), examples_of(data, model.labels_))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_cue_is_learned_and_survives_saving(name: str, tmp_path: Path) -> None:
    model = fitted(name, cue_pairs())
    unseen = cue_pairs(100, seed=1)
    assert score(model, unseen) > 0.95
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(model)
    assert (again.predict_proba(unseen) == model.predict_proba(unseen)).all()
    assert (again.embed(unseen) == model.embed(unseen)).all()
    assert again.embed(unseen).shape[0] == 100
