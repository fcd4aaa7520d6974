"""Word vectors to begin with: learned from the training texts, or read from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cuecard.data.reading.formats import check_regular
from cuecard.errors import InputError
from cuecard.models.neural.word_rows import FIRST_WORD, PADDING, UNKNOWN, Vocabulary
from cuecard.models.saved import file_digest
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Singles
from cuecard.text import Tokens

EPOCHS = 5
WINDOW = 5
NEGATIVES = 5
#: Learning rate at the beginning and at the end.
RATES = (0.05, 0.0005)
#: A word more frequent than this share of the text is left out now and then, the more frequent the more often.
FREQUENT = 1e-3
#: Wrong answers are drawn in proportion to the count to this power.
FLATTENING = 0.75
_DRAWS = 1 << 20


def cbow_vectors(
    texts: Sequence[Tokens], weights: Floats, n_words: int, dimensions: int, *, seed: int
) -> Singles:
    """Return vectors of all word numbers, learned from weighted texts; those of no word are zero.

    A text is drawn as often as its weight says (with replacement, where weights differ): an epoch of weighted
    texts is one of a set in which they have these shares.

    Args:
        texts: columns of texts, each with one text per weight.
        weights: how much the texts of a row count.
        n_words: how many word numbers there are.
        dimensions: of the vectors.
        seed: of all that is drawn.
    """
    ids = np.concatenate([text.ids for text in texts])
    ends = np.cumsum([0] + [len(text.ids) for text in texts])
    offsets = np.concatenate([[0], *(end + t.offsets[1:] for end, t in zip(ends[:-1], texts, strict=True))])
    weight = np.tile(weights, len(texts))
    generator = np.random.default_rng([seed, 3])
    counts = np.bincount(ids, weights=np.repeat(weight, np.diff(offsets)), minlength=n_words)
    counts[:UNKNOWN] = 0
    vectors = ((generator.random((n_words, dimensions)) - 0.5) / dimensions).astype(np.float32)
    contexts = np.zeros_like(vectors)
    if counts.sum() > 0:
        share = counts / counts.sum()
        with np.errstate(divide="ignore"):
            keep = np.minimum(1.0, np.sqrt(FREQUENT / share) + FREQUENT / share).astype(np.float32)
        flat = counts**FLATTENING
        negatives = generator.choice(n_words, size=_DRAWS, p=flat / flat.sum()).astype(np.int32)
        rates = np.linspace(*RATES, EPOCHS + 1)
        even = np.allclose(weight, weight[0])
        for epoch in range(EPOCHS):
            n = len(weight)
            order = generator.permutation(n) if even else generator.choice(n, size=n, p=weight / weight.sum())
            _native.cbow_epoch(
                ids,
                offsets,
                order,
                keep,
                negatives,
                WINDOW,
                NEGATIVES,
                rates[epoch],
                rates[epoch + 1],
                int(generator.integers(1 << 30)),
                vectors,
                contexts,
            )
    vectors[:UNKNOWN] = 0
    vectors[UNKNOWN + 1 : FIRST_WORD] = 0
    return vectors


#: Spread of the vectors of words that the file lacks.
SPREAD = 0.1


def filed_vectors(path: str, vocabulary: Vocabulary, dimensions: int, *, seed: int) -> Singles:
    """Return a vector for every number of the vocabulary: the file's, or a random one where it lacks the word.

    A first line of two numbers, the header of word2vec's text format, is passed over.
    """
    generator = np.random.default_rng([seed, 5])
    vectors = generator.normal(0, SPREAD, (len(vocabulary), dimensions)).astype(np.float32)
    vectors[PADDING] = 0
    numbers = {word: FIRST_WORD + i for i, word in enumerate(vocabulary.words)}
    for line, (word, values) in _lines(path, dimensions):
        if (number := numbers.get(word)) is not None:
            vectors[number] = _vector(path, line, values, dimensions)
    return vectors


def check_width(path: str, dimensions: int) -> None:
    """Raise if the first vector of the file has another length, before anything is trained."""
    for line, (_, values) in _lines(path):
        _vector(path, line, values, dimensions)
        return
    raise InputError(f"{path} holds no word vectors: each line is a word and its numbers, between spaces.")


def vectors_digest(path: str) -> str:
    """Return a hash of the file's content."""
    try:
        check_regular(Path(path), rows=False)
        return file_digest(Path(path))
    except OSError as error:
        raise _unreadable(path, error) from None


def _lines(path: str, dimensions: int = -1) -> Iterator[tuple[int, tuple[str, list[str]]]]:
    """Yield the words with their values; with `dimensions`, the word is what precedes that number of values.

    Some words of GloVe's largest file have spaces, such as ". . .".
    """
    try:
        check_regular(Path(path), rows=False)
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                word, *values = line.rstrip().rsplit(" ", dimensions)
                if values and not (number == 1 and len(values) == 1):
                    yield number, (word, values)
    except OSError as error:
        raise _unreadable(path, error) from None


def _vector(path: str, line: int, values: list[str], dimensions: int) -> Singles:
    if len(values) != dimensions:
        raise InputError(
            f"{path}, line {line}: the vector has {len(values)} numbers, expected {dimensions}; write --set "
            f"dimensions={len(values)}."
        )
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError:
        raise InputError(f"{path}, line {line}: not all values of the vector are numbers.") from None
    if not np.isfinite(vector).all():
        raise InputError(f"{path}, line {line}: a vector has a value that is not finite.")
    return vector


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(
        f"{path}: the word vectors cannot be read ({error.strerror}); name a file with vectors=FILE."
    )
