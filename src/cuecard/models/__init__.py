"""Models of texts: sentence vectors, and what can be trained on them."""

from cuecard.models.embeddings import EMBEDDERS, Embedder, embed

__all__ = ["EMBEDDERS", "Embedder", "embed"]
