"""Models of texts: sentence vectors, and what can be trained."""

from cuecard.models.dynamics import Dynamics
from cuecard.models.embeddings import EMBEDDERS, Embedder, check_embedding, embed
from cuecard.models.linear import LinearModel
from cuecard.models.neural import ESIM, BiLSTM, NeuralModel, SiameseLSTM, Transformer
from cuecard.models.ngram_features import ngram_features
from cuecard.models.ngram_models import FastText, LinearText
from cuecard.models.saved import load_model
from cuecard.models.text_model import CONDITIONS, MODELS, Condition, Step, TextModel

__all__ = [
    "CONDITIONS",
    "EMBEDDERS",
    "ESIM",
    "MODELS",
    "BiLSTM",
    "Condition",
    "Dynamics",
    "Embedder",
    "FastText",
    "LinearModel",
    "LinearText",
    "NeuralModel",
    "SiameseLSTM",
    "Step",
    "TextModel",
    "Transformer",
    "check_embedding",
    "embed",
    "load_model",
    "ngram_features",
]
