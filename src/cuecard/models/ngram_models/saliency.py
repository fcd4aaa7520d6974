"""Saliency of models of word n-grams: what the presence of each word adds to the prediction, in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from cuecard.data import Instances
from cuecard.models.linear.input_features import InputRows, WordBlock
from cuecard.models.linear.ngram_features import BITS, HashColumns, word_keys
from cuecard.models.ngram_models import _kernels
from cuecard.models.saliency.maps import SaliencyMaps, in_table
from cuecard.stats.arrays import Floats

if TYPE_CHECKING:
    from cuecard.models.ngram_models.model import NGramModel


def ngram_saliency(model: NGramModel, data: Instances) -> SaliencyMaps:
    """Return for every word the norm, over the features it is part of, of the gradient of the prediction.

    The gradient is that of the predicted label's probability with respect to a feature's presence, its value in
    the row times its weight along the change of the margins. Of data whose rows compete, that of a row's score.
    """
    rows = model.read(data)
    direction = _direction(model, rows)
    squares = {side: np.zeros(len(rows.tokens(side).ids)) for side in ("premise", "hypothesis")}
    gains, first = model.gains(), 0
    keys = word_keys(rows.encoded.vocabulary)
    for block, (name, (kind, _)) in zip(model.blocks(rows), model.feature_blocks().items(), strict=True):
        own = gains[first : first + block.shape[1]]
        first += block.shape[1]
        if not isinstance(kind, WordBlock):
            continue
        column = HashColumns(model.states_[name]["slots"], model.states_[name]["idf"]).numbers()
        values = block.data * np.einsum(
            "ij,ij->i", own[block.indices], np.repeat(direction, np.diff(block.indptr), axis=0)
        )
        entries = (block.indptr.astype(np.int64), block.indices.astype(np.int32), values)
        scratch, mask = np.zeros(block.shape[1]), np.uint64((1 << BITS) - 1)
        premise, hypothesis = rows.encoded.premise, rows.encoded.hypothesis
        if kind.side is None:
            stamp = np.full(len(keys), -1, dtype=np.int64)
            _kernels.add_shared(
                *entries, premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, keys, mask,
                column, scratch, stamp, squares["premise"], squares["hypothesis"],
            )  # fmt: skip
        else:
            tokens = rows.tokens(kind.side)
            norms = np.zeros(len(tokens.ids))
            _kernels.add_ngrams(
                *entries, tokens.ids, tokens.offsets, keys, kind.ngrams, mask, column, scratch, norms
            )
            if kind.side != "joined":
                squares[kind.side] += norms
            else:
                lengths = np.column_stack([premise.lengths, hypothesis.lengths]).ravel()
                of_premise = np.repeat(np.tile([True, False], len(tokens)), lengths)
                squares["premise"] += norms[of_premise]
                squares["hypothesis"] += norms[~of_premise]
    seen = {"full": ("premise", "hypothesis"), "premise": ("premise",)}.get(model.condition_, ("hypothesis",))
    tables = [_table(rows, squares, side, side in seen) for side in ("premise", "hypothesis")]
    return SaliencyMaps.normalised(tables[0][0], tables[1][0], tables[0][1], tables[1][1])


def _direction(model: NGramModel, rows: InputRows) -> Floats:
    """Return how the predicted label's probability changes with the margins, up to a factor per row."""
    if model.grouped:
        return np.ones((len(rows.data), 1))
    margins = model.margins(model.features(rows))
    each, predicted = np.arange(len(margins)), margins.argmax(axis=1)
    margins[each, predicted] = -np.inf
    direction = np.asarray(-softmax(margins, axis=1))
    direction[each, predicted] = 1
    return direction


def _table(
    rows: InputRows, squares: dict[str, Floats], side: str, seen: bool
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the norms of one text's words as rows × places; no places if the model may not read it."""
    tokens = rows.tokens("premise" if side == "premise" else "hypothesis")
    if not seen:
        return np.zeros((len(tokens), 0)), np.zeros(len(tokens), np.int64)
    lengths = tokens.lengths
    inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    table = np.zeros(inside.shape)
    table[inside] = np.sqrt(squares[side])
    return in_table(table, inside)
