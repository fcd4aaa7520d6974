"""Models of texts: sentence vectors, and what can be trained."""

from cuecard.models.embeddings import EMBEDDERS, Embedder, check_embedding, embed
from cuecard.models.linear import LinearModel
from cuecard.models.ngram_features import ngram_features
from cuecard.models.ngram_models import FastText, LinearText
from cuecard.models.text_model import CONDITIONS, MODELS, Condition, Step, TextModel

__all__ = [
    "CONDITIONS",
    "EMBEDDERS",
    "MODELS",
    "Condition",
    "Embedder",
    "FastText",
    "LinearModel",
    "LinearText",
    "Step",
    "TextModel",
    "check_embedding",
    "embed",
    "ngram_features",
]
