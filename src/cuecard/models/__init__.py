"""Models of texts: sentence vectors, and what can be trained."""

from cuecard.models.embeddings import EMBEDDERS, Embedder, check_embedding, embed
from cuecard.models.linear import LinearModel
from cuecard.models.ngram_features import ngram_features

__all__ = ["EMBEDDERS", "Embedder", "LinearModel", "check_embedding", "embed", "ngram_features"]
