"""Trainable models with one interface: fit, predict probabilities."""

from cuecard.models.linear import LinearModel
from cuecard.models.ngram_features import ngram_features

__all__ = ["LinearModel", "ngram_features"]
