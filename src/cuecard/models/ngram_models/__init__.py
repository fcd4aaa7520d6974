"""Models of word n-grams that need nothing but numpy and compiled loops: a linear one, and averaged vectors."""

from cuecard.models.ngram_models.fasttext import FastText, PlainFastText
from cuecard.models.ngram_models.model import LinearText, NGramModel

__all__ = ["FastText", "LinearText", "NGramModel", "PlainFastText"]
