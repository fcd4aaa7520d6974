"""The smallest model that learns: the commonest label of each first word, counted epoch by epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.models import MODELS, Step
from cuecard.models.examples import Dynamics
from cuecard.models.text_model import visible


@dataclass
class FirstWord:
    """Shares of labels by the first words of what it may read; of rows that are right, for grouped data."""

    name: ClassVar[str] = "first-word"

    epochs: int = 2
    smoothing: float = 1.0
    seed: int = 0
    labels_: tuple[str, ...] = field(default=(), init=False)

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
        self.labels_, self.condition_, self.grouped_ = data.labels, condition, data.grouped
        weight = np.ones(len(data)) if weights is None else np.asarray(weights)
        state = checkpoint / "state.json" if checkpoint else None
        self.counts_: dict[str, list[float]] = {}
        done, self.trained_epochs_ = 0, 0
        if state and state.exists():
            kept = json.loads(state.read_text())
            self.counts_, done = kept["counts"], kept["epoch"]
        recorded = []
        for epoch in range(done, self.epochs):
            for word, label, w in zip(self._words(data), data.label_codes.tolist(), weight, strict=True):
                self.counts_.setdefault(word, [self.smoothing] * len(data.labels))[label] += float(w)
            self.trained_epochs_ += 1
            recorded.append(self._shares(data))
            if state:
                state.parent.mkdir(parents=True, exist_ok=True)
                state.write_text(json.dumps({"counts": self.counts_, "epoch": epoch + 1}))
            if watch:
                watch(Step(epoch + 1, self.epochs, 1, 1, 0.5))
        if dynamics:
            gold = np.array([s[np.arange(len(data)), data.label_codes] for s in recorded], dtype=np.float32)
            correct = np.array([s.argmax(axis=1) == data.label_codes for s in recorded])
            self.dynamics_ = Dynamics(gold, correct, np.zeros(len(data), dtype=bool))
        return self

    def _words(self, data) -> list[str]:
        parts = [part for part in visible(data, self.condition_) if part is not None]
        return [" ".join((t or "").split(" ")[0] for t in texts) for texts in zip(*parts, strict=True)]

    def _shares(self, data) -> Any:
        flat = [self.smoothing] * len(self.labels_)
        counts = np.array([self.counts_.get(word, flat) for word in self._words(data)])
        return counts / counts.sum(axis=1, keepdims=True)

    def predict_proba(self, data):
        shares = self._shares(data)
        if not self.grouped_:
            return shares
        right = shares[:, 0]
        return right / np.bincount(data.example_codes, weights=right)[data.example_codes]

    def embed(self, data):
        return self._shares(data)

    def save(self, folder: Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        about = {
            "model": self.name, "counts": self.counts_, "labels": self.labels_, "condition": self.condition_,
            "grouped": self.grouped_, "epochs": self.epochs,
        }  # fmt: skip
        (Path(folder) / "model.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder: Path):
        about = json.loads((Path(folder) / "model.json").read_text())
        model = cls(about["epochs"])
        model.labels_, model.counts_ = tuple(about["labels"]), about["counts"]
        model.condition_, model.grouped_ = about["condition"], about["grouped"]
        return model


def rain_or_sun(
    n: int, seed: int, *, labels=("no", "yes"), premise="p{} said", premises=4, hypotheses=50
) -> pl.DataFrame:
    """Return pairs whose hypothesis begins with "rain" four times in five if the label is no; sentences recur."""
    rng = np.random.default_rng(seed)
    label = rng.choice(labels, n)
    cue = rng.random(n) < np.where(label == "no", 0.8, 0.2)
    return pl.DataFrame(
        {
            "premise": [premise.format(a) for a in rng.integers(0, premises, n)],
            "hypothesis": [
                f"{'rain' if c else 'sun'} h{a}"
                for a, c in zip(rng.integers(0, hypotheses, n), cue, strict=True)
            ],
            "label": label,
        }
    )


@contextmanager
def registered(kind: type[Any] = FirstWord, name: str = "first-word") -> Iterator[None]:
    """Register a model for a while."""
    MODELS.add(name, kind)
    try:
        yield
    finally:
        del MODELS._items[name]
