"""Texts as integers: token ids, offsets and a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts: those of text i are `ids[offsets[i]:offsets[i + 1]]`, indices into `vocabulary`."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of every text."""
        return np.diff(self.offsets)

    def words(self, i: int) -> list[str]:
        """Return the tokens of one text as strings."""
        return self.vocabulary.gather(self.ids[self.offsets[i] : self.offsets[i + 1]]).to_list()
