"""What a feature family is: named binary features, computed for a whole encoded dataset at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.registry import Registry
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class Presence:
    """Which instances have which features: a binary matrix in compressed rows, no feature twice in a row.

    The features of instance i are `names[indices[indptr[i]:indptr[i + 1]]]`.
    """

    names: pl.Series
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of instances and of features."""
        return len(self.indptr) - 1, len(self.names)

    def rows(self) -> npt.NDArray[np.int64]:
        """Return the instance of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int64), np.diff(self.indptr))

    def matrix(self) -> sparse.csr_matrix:
        """Return the presence matrix as scipy's sparse rows of ones."""
        ones = np.ones(len(self.indices), dtype=np.float64)
        return sparse.csr_matrix((ones, self.indices, self.indptr), shape=self.shape)

    @classmethod
    def from_columns(cls, columns: dict[str, npt.NDArray[np.bool_]], n: int) -> Presence:
        """Build from one boolean array per feature; for families with few features."""
        if not columns:
            return cls(pl.Series([], dtype=pl.String), np.zeros(n + 1, np.int64), np.empty(0, np.int32))
        rows, features = np.nonzero(np.column_stack(list(columns.values())))
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
        return cls(pl.Series(list(columns), dtype=pl.String), indptr, features.astype(np.int32))


@runtime_checkable
class Family(Protocol):
    """A set of named binary features of an instance.

    `languages` are the languages it works for (None: any); a family that cannot answer for a dataset is skipped
    with a reason, the others run.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    languages: ClassVar[frozenset[str] | None]

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have which of this family's features."""
        ...


FAMILIES: Registry[type[Family]] = Registry("feature family", group="cuecard.features")
