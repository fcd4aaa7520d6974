"""A model from another package: the commonest label of hypotheses that end in -ing, and of the others."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from cuecard.models.text_model import visible


@dataclass
class RhymeModel:
    """Label shares by whether the hypothesis ends in -ing."""

    name: ClassVar[str] = "rhyme-model"

    smoothing: float = 1.0
    labels_: tuple[str, ...] = field(default=(), init=False)
    dynamics_: None = field(default=None, init=False)

    def fit(
        self,
        data,
        *,
        weights=None,
        condition="full",
        validation=None,
        dynamics=False,
        checkpoint=None,
        watch=None,
    ):
        """Count labels."""
        self.labels_, self.condition_ = data.labels, condition
        counts = np.full((2, len(data.labels)), self.smoothing)
        np.add.at(counts, (self._ends(data), data.label_codes), 1.0 if weights is None else weights)
        self.shares_ = counts / counts.sum(axis=1, keepdims=True)
        return self

    def _ends(self, data):
        _, hypothesis = visible(data, self.condition_)
        return hypothesis.str.contains(r"(?i)ing\W*$").to_numpy().astype(np.int64)

    def predict_proba(self, data):
        """Return the shares of each row's ending."""
        return self.shares_[self._ends(data)]

    def embed(self, data):
        """Return the ending as a vector of one number."""
        return self._ends(data)[:, None].astype(float)

    def save(self, folder):
        """Write everything as JSON."""
        about = {
            "model": self.name, "labels": self.labels_, "shares": self.shares_.tolist(), "condition": self.condition_
        }  # fmt: skip
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "model.json").write_text(json.dumps(about), encoding="utf-8")

    @classmethod
    def load(cls, folder):
        """Read what `save` wrote."""
        about = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
        model = cls()
        model.labels_, model.condition_ = tuple(about["labels"]), about["condition"]
        model.shares_ = np.array(about["shares"])
        return model
