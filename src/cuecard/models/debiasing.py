"""Ways to train a model so that it does not use cues; what comes out is a model as any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cuecard.data import Examples, Instances
from cuecard.errors import UsageError
from cuecard.models.bias_experts import WORDS, BiasExpert
from cuecard.models.examples import training_examples
from cuecard.models.text_model import (
    FitJob,
    Kind,
    Objective,
    TextModel,
    check_objective,
    scaled_confidence,
    visible,
)
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.removal import Eraser, leace

if TYPE_CHECKING:
    from cuecard.models.recipe import Recipe


def refit_last_layer(model: TextModel, data: Instances, groups: Ints, *, strength: float = 1.0) -> None:
    """Fit the last layer on examples in which every group counts the same (Kirichenko et al. 2023).

    The model keeps its features; `strength` is scikit-learn's C.
    """
    sizes = np.bincount(groups)
    weights = len(groups) / (np.count_nonzero(sizes) * np.maximum(sizes, 1)[groups])
    _set_last_layer(model, *_fitted(model, model.embed(data), data, weights, strength))


def erase_cues(model: TextModel, train: Instances, expert: Floats, *, strength: float = 1.0) -> None:
    """Take out of the features which answer the cues point to, and fit the last layer on what is left.

    The eraser is affine, so it is folded into the last layer: predictions are those of erased features.
    """
    features = model.embed(train)
    _check_labels(train)
    eraser = leace(features, np.eye(expert.shape[1])[expert.argmax(axis=1)])
    eraser = Eraser(strength * eraser.projection, eraser.mean)
    weights, intercept = _fitted(model, eraser(features), train, np.ones(len(features)), 1.0)
    _set_last_layer(model, *eraser.folded(weights, intercept))


def _fitted(
    model: TextModel, features: Floats, data: Instances, weights: Floats, strength: float
) -> tuple[Floats, Floats]:
    """Return weights (labels × dimensions) and intercept of a weighted multinomial regression on features."""
    from sklearn.linear_model import LogisticRegression

    _check_labels(data)
    gold = Examples(data, known_labels=tuple(model.labels_)).gold
    has_label = gold >= 0
    if len(np.unique(gold[has_label])) < len(model.labels_):
        raise UsageError(
            "Fitting the last layer again needs held-out examples of every label: give more with --dev."
        )
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-12
    learner = LogisticRegression(C=strength, max_iter=1000)
    learner.fit((features[has_label] - centre) / spread, gold[has_label], sample_weight=weights[has_label])
    coefficients, intercept = learner.coef_, learner.intercept_
    if len(model.labels_) == 2:  # one margin, of the second label
        coefficients, intercept = (
            np.vstack([-coefficients, coefficients]) / 2,
            np.array([-1, 1]) * intercept / 2,
        )
    return np.ascontiguousarray(coefficients / spread), np.asarray(
        intercept - (coefficients / spread) @ centre
    )


def _set_last_layer(model: TextModel, weights: Floats, intercept: Floats) -> None:
    """Give a model another last layer, if it has one that can be set: weights are labels × dimensions."""
    set_layer = getattr(model, "set_last_layer", None)
    if set_layer is None:
        raise UsageError(
            f"The model {model.name!r} has no last layer that can be fitted again: choose fasttext, bilstm, "
            "siamese-lstm, esim or transformer."
        )
    set_layer(weights, intercept)


def _check_labels(data: Instances) -> None:
    if data.grouped:
        raise UsageError(
            f"Fitting the last layer again only applies to pairs and single texts; this dataset holds {data.task} data."
        )


#: Method → the strength it has by default, and what that is.
STRENGTHS: dict[str, tuple[float, str]] = {
    "product-of-experts": (1.0, "exponent of the expert"),
    "learned-mixin": (0.03, "weight of the entropy of the mixed-in expert"),
    "confidence": (1.0, "how much of the expert's probability flattens the teacher, 0 to 1"),
    "group-robust": (0.01, "step size of the weights of groups"),
    "upweight": (4.0, "weight of the examples that an early model gets wrong"),
    "last-layer": (1.0, "inverse of the penalty of the new last layer"),
    "erase": (1.0, "share of the concept that is removed, 0 to 1"),
}
METHODS = tuple(STRENGTHS)
#: Those that change a model which is trained already.
AFTER_TRAINING = ("last-layer", "erase")
#: Epochs of the early model of "upweight", for models that have epochs.
EARLY_EPOCHS = 1


@dataclass(frozen=True)
class Debias:
    """How a model is kept from using cues while it is trained.

    - "product-of-experts" (Hinton 2002; Clark et al. 2019): trained together with a fixed bias expert, whose
      log-probabilities are added to the model's; it is used without.
    - "learned-mixin" (Clark et al. 2019): the same, and the model learns per example how much of the expert to add.
    - "confidence" (Utama et al. 2020): learns the probabilities of a plainly trained teacher, flattened where the
      expert is sure of the label.
    - "group-robust" (Sagawa et al. 2020): minimises the loss of the worst group: the expert's answer × label.
    - "upweight" (Liu et al. 2021, JTT): trained again with more weight on what an early model gets wrong.
    - "last-layer" (Kirichenko et al. 2023): the last layer is fitted again on held-out examples with balanced groups.
    - "erase" (Belrose et al. 2023, LEACE): what enters the last layer loses everything that linearly predicts which
      label the cues point to, and the last layer is fitted again.

    Args:
        method: one of these.
        expert: what the bias expert reads, see `BiasExpert`.
        strength: of the method; its own default by default.
        seed: of the expert's folds.
    """

    method: str
    expert: str = WORDS
    strength: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no hours."""
        if self.method not in METHODS:
            raise unknown_name("debiasing method", self.method, list(METHODS))
        BiasExpert(self.expert)
        if not 0 <= self.amount < np.inf or (self.method == "last-layer" and not self.amount):
            raise UsageError(f"The strength of {self.method} must be a positive number, not {self.amount}.")
        if self.method in ("confidence", "erase") and self.amount > 1:
            raise UsageError(f"The strength of {self.method} must be at most 1, not {self.amount:g}.")

    @property
    def amount(self) -> float:
        """The strength, or the method's own."""
        return STRENGTHS[self.method][0] if self.strength is None else self.strength

    @property
    def contents(self) -> dict[str, Any]:
        """Everything that it depends on besides the data."""
        return {"method": self.method, "expert": self.expert, "strength": self.amount, "seed": self.seed}


def fit_debiased(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    """Return the recipe's model, trained as the method says."""
    expert = BiasExpert(debias.expert, seed=debias.seed)
    expert.check(job.data)
    visible(job.data, job.condition)
    return _FITS[debias.method](recipe, debias, job)


def _trained(recipe: Recipe, job: FitJob, objective: Objective | None = None) -> TextModel:
    model = recipe.new()
    if objective is not None:
        if not hasattr(model, "objective"):
            check_objective(objective, recipe.model)
        model.objective = objective  # type: ignore[attr-defined]
    return job.fit(model)


def _stage(job: FitJob, name: str) -> FitJob:
    """Return the job of a model that another one is made from: nothing is recorded, its checkpoint is its own."""
    return replace(job, dynamics=False, checkpoint=_inside(job.checkpoint, name))


def _inside(checkpoint: Path | None, name: str) -> Path | None:
    return None if checkpoint is None else Path(checkpoint) / name


def _cross_fitted(debias: Debias, train: Instances) -> Floats:
    return _of_seen_labels(BiasExpert(debias.expert, seed=debias.seed).cross_fitted(train), train)


def _of_seen_labels(values: Floats, train: Instances) -> Floats:
    """Return the columns of the labels that training examples have: a model knows no others."""
    if train.grouped:
        return values
    return values[:, [train.labels.index(label) for label in training_examples(train).labels]]


def _with_expert(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    kind: Kind = "learned-mixin" if debias.method == "learned-mixin" else "product-of-experts"
    return _trained(recipe, job, Objective(kind, debias.amount, expert=_cross_fitted(debias, job.data)))


def _confidence(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    from cuecard.models.fitted import answer_probabilities

    teacher = _trained(recipe, _stage(job, "teacher"))
    examples = training_examples(job.data)
    of_gold = np.exp(_cross_fitted(debias, job.data))[np.arange(len(examples)), examples.gold]
    targets = scaled_confidence(
        _of_seen_labels(answer_probabilities(teacher, job.data), job.data), debias.amount * of_gold
    )
    student = replace(job, checkpoint=_inside(job.checkpoint, "student"))
    return _trained(recipe, student, Objective("confidence", debias.amount, targets=targets))


def _group_robust(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    groups = cue_groups(_cross_fitted(debias, job.data), job.data)
    return _trained(recipe, job, Objective("group-robust", debias.amount, groups=groups))


def _upweight(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    from cuecard.models.fitted import answer_probabilities

    early = _trained(recipe.with_options(epochs=EARLY_EPOCHS), _stage(job, "early"))
    examples = training_examples(job.data)
    wrong = _of_seen_labels(answer_probabilities(early, job.data), job.data).argmax(axis=1) != examples.gold
    weights = np.where(wrong, debias.amount, 1.0)[job.data.example_codes]
    before = np.ones(len(job.data)) if job.weights is None else np.asarray(job.weights, np.float64)
    final = replace(job, weights=weights * before, checkpoint=_inside(job.checkpoint, "final"))
    return _trained(recipe, final)


def _after_training(recipe: Recipe, debias: Debias, job: FitJob) -> TextModel:
    model = _trained(recipe, job)
    change_last_layer(model, debias, job.data, job.validation)
    return model


def change_last_layer(
    model: TextModel, debias: Debias, train: Instances, validation: Instances | None = None
) -> None:
    """Do to a model that is trained already what the methods of `AFTER_TRAINING` do."""
    expert = BiasExpert(debias.expert, seed=debias.seed)
    if debias.method == "erase":
        erase_cues(model, train, expert.cross_fitted(train), strength=debias.amount)
        return
    held = validation if validation is not None else held_out_part(model, train)
    refit_last_layer(
        model, held, cue_groups(expert.log_probabilities(train, held), held), strength=debias.amount
    )


def cue_groups(expert: Floats, data: Instances) -> Any:
    """Return the group of every example: what the cues say × what is right."""
    gold = training_examples(data).gold
    return np.unique(expert.argmax(axis=1) * expert.shape[1] + gold, return_inverse=True)[1].astype(np.int64)


def held_out_part(model: TextModel, data: Instances) -> Instances:
    """Return the training examples that a model kept apart to stop early on, or all where it kept none."""
    from cuecard.models.learner import held_out_examples

    share, seed = getattr(model, "held_out", 0.0), getattr(model, "seed", 0)
    held = held_out_examples(data.n_examples, share, seed)
    return data.rows(held[data.example_codes]) if held.any() else data


_FITS: dict[str, Callable[[Any, Debias, FitJob], TextModel]] = {
    "product-of-experts": _with_expert,
    "learned-mixin": _with_expert,
    "confidence": _confidence,
    "group-robust": _group_robust,
    "upweight": _upweight,
    "last-layer": _after_training,
    "erase": _after_training,
}
