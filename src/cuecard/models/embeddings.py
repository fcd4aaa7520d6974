"""Texts become vectors: by TF-IDF and SVD, by a sentence encoder, or by a model fine-tuned on the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_matrix, diags_array
from threadpoolctl import threadpool_limits

from cuecard.cache import cached_arrays
from cuecard.data import Instances
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.models.huggingface import (
    FROM_DISK,
    checkpoint_digest,
    loading,
    minilm_folder,
    read_tokenizer,
)
from cuecard.models.saved import DESCRIPTION, file_digest, load_model, read_description
from cuecard.registry import Registry, unknown_name
from cuecard.stats.arrays import Array, Singles
from cuecard.text import Tokens, tokenise

#: Dimensions kept; the clusters are then made on fewer.
DIMENSIONS = 128
#: Random directions beyond the kept ones, and how often they are turned towards the largest components.
FURTHER_DIRECTIONS, POWER_ITERATIONS = 10, 4
#: A word of one text alone says nothing about which texts are alike.
MINIMUM_TEXTS = 2
#: Texts that a sentence encoder reads at a time, and tokens that it reads of each; sentences rarely come near it.
BATCH, MAXIMUM_TOKENS = 64, 256


def lexical_embedding(
    texts: pl.Series | Tokens, *, tokens: str = "default", dimensions: int = DIMENSIONS, seed: int = 0
) -> Singles:
    """Return vectors of the texts: rows of length one of log(1 + count) × idf, projected on the first dimensions.

    A text without any word that occurs in two texts is the zero vector. Texts may come tokenised.
    """
    weighted = tfidf(texts, tokens)
    rank = min(dimensions, *(side - 1 for side in weighted.shape))
    if rank < 1:
        return np.zeros((len(texts), 1), dtype=np.float32)
    with threadpool_limits(limits=1):  # the number of threads must not change the last digit
        left, singular, _ = largest_components(weighted, rank, seed=seed)
    return np.asarray(left * singular, dtype=np.float32)


def largest_components(matrix: csr_matrix, rank: int, *, seed: int) -> tuple[Array, Array, Array]:
    """Return the largest singular values with their left vectors (columns) and right vectors (rows).

    By random projection and power iterations (Halko et al. 2009), in the precision of the matrix: the numbers of
    ``sklearn.utils.extmath.randomized_svd(matrix, rank, n_iter=4, random_state=seed)``, bit for bit.
    """
    from scipy import linalg

    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix
    size = rank + FURTHER_DIRECTIONS
    base = np.random.RandomState(seed).normal(size=(tall.shape[1], size)).astype(matrix.dtype)
    for _ in range(POWER_ITERATIONS):
        base, _ = linalg.lu(tall @ base, permute_l=True, check_finite=False)
        base, _ = linalg.lu(tall.T @ base, permute_l=True, check_finite=False)
    base, _ = linalg.qr(tall @ base, mode="economic", check_finite=False)
    rotated, singular, right = linalg.svd(base.T @ tall, full_matrices=False)
    left = base @ rotated
    # A pair of vectors and their opposites serve alike: the largest entry of a long one is positive.
    deciding = right.T if wide else left
    signs = np.sign(deciding[np.abs(deciding).argmax(axis=0), np.arange(deciding.shape[1])])
    left, right = (left * signs)[:, :rank], (right * signs[:, None])[:rank]
    return (right.T, singular[:rank], left.T) if wide else (left, singular[:rank], right)


def tfidf(texts: pl.Series | Tokens, tokens: str = "default") -> csr_matrix:
    """Return the weighted words of every text as sparse rows of length one."""
    counts, _, rarity = _counted_words(texts, tokens)
    return _weighted(counts, rarity)


def _counted_words(
    texts: pl.Series | Tokens, tokens: str
) -> tuple[csr_matrix, pl.Series, npt.NDArray[np.float32]]:
    """Return how often each text has each word that occurs in two, these words by alphabet, and how rare they are."""
    encoded = texts if isinstance(texts, Tokens) else tokenise(texts, tokens)
    counts = _counts(encoded)
    frequency = np.bincount(counts.indices, minlength=encoded.n_types)
    # In the order of the alphabet, so that the order of words in the texts has no influence at all.
    shared = encoded.vocabulary.arg_sort().to_numpy()
    shared = shared[frequency[shared] >= MINIMUM_TEXTS]
    rarity = np.log((1 + len(encoded)) / (1 + frequency[shared])) + 1
    return counts[:, shared], encoded.vocabulary.gather(shared), rarity.astype(np.float32)


def _counts(encoded: Tokens) -> csr_matrix:
    counts = csr_matrix(
        (np.ones(len(encoded.ids), dtype=np.float32), encoded.ids, encoded.offsets),
        shape=(len(encoded), encoded.n_types),
    )
    counts.sum_duplicates()
    return counts


def _weighted(counts: csr_matrix, rarity: npt.NDArray[np.float32]) -> csr_matrix:
    """Return rows of length one of log(1 + count) × rarity."""
    counts.data = np.log1p(counts.data)
    weighted = csr_matrix(counts @ diags_array(rarity))
    lengths = np.sqrt(np.asarray(weighted.power(2).sum(axis=1)).ravel())
    return csr_matrix(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ weighted)


@dataclass(frozen=True, eq=False)
class WeightedWords:
    """The words of some texts and how rare they are there, by which other texts become vectors, too."""

    words: pl.Series
    rarity: npt.NDArray[np.float32]

    @classmethod
    def of(cls, texts: pl.Series, tokens: str) -> WeightedWords:
        """Return the words that occur in two of the texts."""
        _, words, rarity = _counted_words(texts, tokens)
        return cls(words, rarity)

    def rows(self, texts: pl.Series, tokens: str) -> csr_matrix:
        """Return the weighted words of every text as sparse rows of length one; other words do not count."""
        encoded = tokenise(texts, tokens)
        place = encoded.vocabulary.replace_strict(
            self.words, pl.arange(len(self.words), eager=True), default=None, return_dtype=pl.Int64
        )
        known = place.is_not_null().to_numpy()
        chosen = csr_matrix(
            (np.ones(int(known.sum()), np.float32), (np.flatnonzero(known), place.drop_nulls().to_numpy())),
            shape=(encoded.n_types, len(self.words)),
        )
        return _weighted(csr_matrix(_counts(encoded) @ chosen), self.rarity)


def encode_sentences(texts: pl.Series, folder: Path) -> Singles:
    """Return one vector per text from the checkpoint in a folder, from disk where they were made before."""
    if not list(folder.glob("*.safetensors")) or not (folder / "config.json").is_file():
        raise InputError(
            f"{folder}: there is no checkpoint (config.json with *.safetensors); weights in other formats are "
            "not loaded because unpickling them would run code."
        )
    # Retrained weights must never meet old vectors.
    made_of = f"mean-or-classifier-input 1 {MAXIMUM_TOKENS} {checkpoint_digest(folder)}"
    return _cached_vectors(made_of, [texts], lambda: _encode(texts, folder))


def _encode(texts: pl.Series, folder: Path) -> Singles:
    """Return the mean of the last layer over the tokens of every text; of a classifier, what enters its last layer."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "models", "A transformer embedding")
    if not len(texts):
        return np.zeros((0, 1), dtype=np.float32)
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

    from cuecard.models.neural.inference import outputs_of
    from cuecard.models.neural.modules import TransformerReader
    from cuecard.models.neural.transformer import PieceRows

    tokenizer = read_tokenizer(folder)
    with loading(folder):
        architectures = AutoConfig.from_pretrained(folder, **FROM_DISK).architectures or []
        classifies = any(name.endswith("ForSequenceClassification") for name in architectures)
        kind = AutoModelForSequenceClassification if classifies else AutoModel
        reader = TransformerReader(kind.from_pretrained(folder, use_safetensors=True, **FROM_DISK).float())
    read = reader.features if classifies else reader.mean_of_tokens
    rows = PieceRows.of(None, texts, tokenizer, MAXIMUM_TOKENS)
    return outputs_of(reader, rows, np.arange(len(texts)), batch_size=BATCH, read=read)


def _cached_vectors(made_of: str, columns: Sequence[pl.Series], make: Callable[[], Singles]) -> Singles:
    """Return one vector per row of some columns, from disk where they were made of the same before."""
    key = blake2b(made_of.encode(), digest_size=20)
    for column in columns:
        for value in column:
            encoded = b"\0" if value is None else str(value).encode("utf-8", "surrogatepass")
            key.update(len(encoded).to_bytes(8, "little") + encoded)
    return cached_arrays("vectors", key.hexdigest(), [len(columns[0])], lambda: [make()])[0]


def is_trained(folder: Path) -> bool:
    """Return whether a folder was written by a model's `save`, not by another program."""
    try:
        return (folder / DESCRIPTION).is_file() and "model" in read_description(folder)
    except InputError:
        return True  # a broken file of ours is told when it is read


def trained_vectors(data: Instances, folder: Path) -> Singles:
    """Return one vector per row from the model saved in a folder, from disk where they were made before."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    made_of = "\n".join(["trained 2", *(f"{file.name} {file_digest(file)}" for file in files)])
    columns = [data.table[name] for name in ("example_id", "premise", "hypothesis")]
    return _cached_vectors(made_of, columns, lambda: _vectors(data, folder))


def _vectors(data: Instances, folder: Path) -> Singles:
    model = load_model(folder)
    alone = getattr(model, "embed_alone", None)
    one_text = not data.grouped and any((data.table[side] == "").all() for side in ("premise", "hypothesis"))
    vectors = np.asarray(alone(data) if alone and one_text else model.embed(data), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(data) or not np.isfinite(vectors).all():
        raise InputError(
            f"{folder}: the model returned vectors of shape {vectors.shape} for {len(data)} rows, or missing "
            "values."
        )
    return vectors


class Embedder(Protocol):
    """A function from distinct texts to their vectors, one row each."""

    def __call__(self, texts: pl.Series, *, tokens: str, seed: int) -> Singles:
        """Return the vectors of the texts."""
        ...


EMBEDDERS: Registry[Embedder] = Registry("embedding", group="cuecard.embedders")


@EMBEDDERS.register("tfidf")
def _tfidf(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
    return lexical_embedding(texts, tokens=tokens, seed=seed)


@EMBEDDERS.register("minilm")
def _minilm(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
    del tokens, seed  # the encoder has its own tokens and draws nothing at random
    return encode_sentences(texts, minilm_folder())


def embed(
    texts: pl.Series,
    method: str = "tfidf",
    *,
    tokens: str = "default",
    seed: int = 0,
    data: Instances | None = None,
    tokenised: Tokens | None = None,
) -> tuple[Singles, npt.NDArray[np.int64]]:
    """Return vectors of the distinct texts, and which of them each text has.

    Args:
        texts: the texts; a missing one counts as empty.
        method: "tfidf", "minilm", another registered name, the folder of a model that was trained and saved here, or
            the folder of a transformer checkpoint with its weights as safetensors. A sentence encoder gives the mean
            of its last layer; a trained model or fine-tuned classifier gives what enters its last layer, as in PECO.
        tokens: tokenisation for "tfidf".
        seed: seed of what is drawn at random.
        data: for a model trained here, the instances it reads: one per text, with equal texts read alike. Without
            them, each text is read as a hypothesis without a premise.
        tokenised: for "tfidf", the texts in that tokenisation where it is at hand.
    """
    texts = texts.cast(pl.String).fill_null("")
    distinct = texts.unique(maintain_order=True)
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()
    check_embedding(method)
    if method == "tfidf" and tokenised is not None:
        first = np.empty(len(distinct), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        return lexical_embedding(tokenised.gather(first), seed=seed), codes
    if method in EMBEDDERS.names():
        return EMBEDDERS.get(method)(distinct, tokens=tokens, seed=seed), codes
    folder = Path(method)
    if is_trained(folder):
        _, first = np.unique(codes, return_index=True)
        return trained_vectors(_rows(texts) if data is None else data, folder)[first], codes
    return encode_sentences(distinct, folder), codes


def _rows(texts: pl.Series) -> Instances:
    """Return the texts as hypotheses of pairs, for a model that reads instances."""
    columns = {
        "example_id": pl.int_range(len(texts), eager=True).cast(pl.String),
        "position": pl.zeros(len(texts), pl.Int32, eager=True),
        "split": pl.repeat("train", len(texts), eager=True),
        "premise": pl.repeat("", len(texts), eager=True),
        "hypothesis": texts,
        "label": pl.repeat("none", len(texts), dtype=pl.Enum(["none"]), eager=True),
    }
    return Instances(pl.DataFrame(columns), "pair", ("none",))


def check_embedding(method: str) -> None:
    """Raise if there is neither an embedding of that name nor a folder."""
    if method in EMBEDDERS.names() or Path(method).is_dir():
        return
    if "/" in method or "\\" in method or Path(method).exists():
        names = ", ".join(EMBEDDERS.names())
        raise UsageError(
            f"{method} is not a folder: give one with a trained model or a transformer checkpoint, or one of {names}."
        )
    raise unknown_name("embedding", method, [*EMBEDDERS.names(), "PATH"])
