"""Models that torch trains; torch itself is imported only when one of them is fitted or loaded."""

from cuecard.models.neural.model import NeuralModel
from cuecard.models.neural.transformer import Transformer
from cuecard.models.neural.word_models import ESIM, BiLSTM, PlainSiameseLSTM, SiameseLSTM, WordModel

__all__ = ["ESIM", "BiLSTM", "NeuralModel", "PlainSiameseLSTM", "SiameseLSTM", "Transformer", "WordModel"]
