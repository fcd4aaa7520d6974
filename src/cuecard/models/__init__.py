"""Models of texts: sentence vectors, and what can be trained."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard.models.text_model import MODELS

if TYPE_CHECKING:
    from cuecard.models.bias_experts import BiasExpert
    from cuecard.models.debiasing import Debias
    from cuecard.models.embeddings import EMBEDDERS, Embedder, check_embedding, embed
    from cuecard.models.examples import Dynamics
    from cuecard.models.linear.learner import LinearModel
    from cuecard.models.neural import ESIM, BiLSTM, NeuralModel, SiameseLSTM, Transformer
    from cuecard.models.ngram_models import FastText, LinearText
    from cuecard.models.saved import load_model
    from cuecard.models.text_model import CONDITIONS, Condition, Step, TextModel

MODELS.declare("bilstm", "cuecard.models.neural:BiLSTM")
MODELS.declare("siamese-lstm", "cuecard.models.neural:SiameseLSTM")
MODELS.declare("siamese-lstm-plain", "cuecard.models.neural:PlainSiameseLSTM")
MODELS.declare("esim", "cuecard.models.neural:ESIM")
MODELS.declare("transformer", "cuecard.models.neural:Transformer")
MODELS.declare("fasttext", "cuecard.models.ngram_models:FastText")
MODELS.declare("fasttext-plain", "cuecard.models.ngram_models:PlainFastText")
MODELS.declare("linear", "cuecard.models.ngram_models:LinearText")

__all__ = [
    "CONDITIONS",
    "EMBEDDERS",
    "ESIM",
    "MODELS",
    "BiLSTM",
    "BiasExpert",
    "Condition",
    "Debias",
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
]

__getattr__ = lazy_names(__name__)
