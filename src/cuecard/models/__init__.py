"""Models of texts: sentence vectors, and what can be trained on them."""

from cuecard.models.embeddings import EMBEDDERS, Embedder, check_embedding, embed

__all__ = ["EMBEDDERS", "Embedder", "check_embedding", "embed"]
