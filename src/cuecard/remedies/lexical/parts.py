"""The features and labels of a training set whose texts stay on disk: what is to be balanced, in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.fingerprint import mixed
from cuecard.engines import Stream, Sum, Summary, new_array, sums_in
from cuecard.errors import CueCardError, InputError
from cuecard.features import Family, LearningFamily, Presence
from cuecard.features.counts import check_language
from cuecard.remedies.lexical.balance_problem import BalanceProblem, row_labels, within_examples
from cuecard.stats.arrays import Ints
from cuecard.stats.entropy_balancing import StoredFeatures
from cuecard.text import Encoded

TRAIN = "train"
#: Names of what is kept of every piece: counts of features, and which rows have those that are balanced.
COUNTS, ROWS = "weights counts", "weights rows"
_KEYS = ("family", "feature")


@dataclass(frozen=True, eq=False)
class FeaturesInParts:
    """The features of the training rows of a dataset in pieces.

    Attributes:
        stream: the dataset.
        encode: returns the tokens of some of its instances.
        unlearned: the feature families, before they have seen what they must.
        min_count: features of fewer training instances are left alone.
    """

    stream: Stream
    encode: Callable[[Instances], Encoded]
    unlearned: Sequence[Family]
    min_count: int

    def problem(self) -> BalanceProblem:
        """Return what is to be balanced: the problem of the dataset in memory, its matrix on disk."""
        train = self.stream.without_units.train
        selected = self.selected
        labels, groups = row_labels(train)
        self.stream.each(ROWS, self._rows, title="Features of all rows")
        arrays = self.stream.store.arrays("weights matrix", partial(self._write_matrix, len(labels)))
        matrix = StoredFeatures(
            arrays["indptr"],
            arrays["codes"],
            arrays.get("values"),
            labels,
            selected.height,
            len(train.labels),
        )
        return BalanceProblem(matrix, labels, train.labels, groups, selected)

    @cached_property
    def _families(self) -> list[Family]:
        """The families, after they have seen what they must, in one pass over the training rows."""
        learning = [family for family in self.unlearned if isinstance(family, LearningFamily)]
        if not learning:
            return list(self.unlearned)

        def observe(part: Instances) -> list[Any] | None:
            if not _counts(part):
                return None
            encoded = self.encode(part)
            return [family.observe(encoded) for family in learning]

        def merge(one: list[Any], other: list[Any]) -> list[Any]:
            return [a.merge(b) for a, b in zip(one, other, strict=True)]

        observed = self.stream.observed(observe, merge)
        fitted = {family.name: family.fitted(each) for family, each in zip(learning, observed, strict=True)}
        return [fitted.get(family.name, family) for family in self.unlearned]

    @cached_property
    def selected(self) -> pl.DataFrame:
        """The features that are frequent enough: family, feature and count, in the order of the families and names."""
        self._families  # noqa: B018  known before any piece is counted
        self.stream.each(COUNTS, self._count, title="Counts of features", sums={"features": self._sum})
        order = [family.name for family in self.unlearned if family.name not in self.skipped]
        if not order:
            raise InputError("; ".join(self.skipped.values()) + ".")
        tables = list(sums_in(self.stream.store, COUNTS, "features", self._sum))
        of_families = pl.concat(tables).with_columns(pl.col("family").cast(pl.Enum(order)))
        return of_families.sort(*_KEYS).cast({"family": pl.String})

    @cached_property
    def skipped(self) -> dict[str, str]:
        """The families that cannot answer, with the reason."""
        tables = self.stream.store.tables(COUNTS, "skipped")
        return reduce(lambda known, table: {**dict(table.iter_rows()), **known}, tables, {})

    @property
    def _sum(self) -> Sum:
        return Sum(_KEYS, "feature", lambda table: table.filter(pl.col("count") >= self.min_count))

    def _count(self, part: Instances, _start: int) -> Summary:
        """Return in how many instances of a part every feature counts, and the families that cannot answer."""
        if not _counts(part):
            return {}
        encoded, tables, skipped = self.encode(part), [], {}
        for family in self._families:
            try:
                check_language(family, encoded.language)
                presence = family.presence(encoded)
            except CueCardError as error:
                skipped[family.name] = str(error)
                continue
            counts = np.bincount(presence.indices, minlength=len(presence.names))
            if part.grouped:
                counts = within_examples(presence, part)[1]
            kept = np.flatnonzero(counts)
            names = presence.names.gather(kept).cast(pl.String)
            table = pl.DataFrame({"feature": names, "count": counts[kept].astype(np.int64)})
            tables.append(table.select(pl.lit(family.name).alias("family"), "feature", "count"))
        reasons = pl.DataFrame(
            list(skipped.items()), schema={"family": pl.String, "reason": pl.String}, orient="row"
        )
        return {"skipped": reasons, **({"features": pl.concat(tables)} if tables else {})}

    def _rows(self, part: Instances, _start: int) -> Summary:
        """Return which rows of a part have which of the features that are balanced, in compressed rows."""
        if not _counts(part):
            return {}
        encoded = self.encode(part)
        blocks = [
            self._matrix(family.presence(encoded), family.name, part)
            for family in self._families
            if family.name not in self.skipped
        ]
        matrix = sparse.csr_matrix(reduce(lambda one, other: one + other, blocks))
        matrix.sort_indices()
        labels, _ = row_labels(part)
        sizes = np.diff(matrix.indptr)
        codes = matrix.indices.astype(np.int64) * len(part.labels) + np.repeat(labels, sizes)
        entries = {"code": codes.astype(np.int32)} | ({"value": matrix.data} if part.grouped else {})
        return {"sizes": pl.DataFrame({"size": sizes.astype(np.int32)}), "entries": pl.DataFrame(entries)}

    def _matrix(self, presence: Presence, family: str, part: Instances) -> sparse.csr_matrix:
        """Return the entries of one family in the columns of all selected features."""
        wanted = self.selected.with_row_index("column").filter(pl.col("family") == family)
        own = pl.DataFrame({"feature": presence.names.cast(pl.String)}).with_row_index("local")
        both = own.join(wanted, on="feature", how="inner").sort("column")
        columns = both["column"].to_numpy().astype(np.int32)
        chosen = presence.columns(both["local"].to_numpy().astype(np.int64))
        matrix = within_examples(chosen, part)[0] if part.grouped else chosen.matrix()
        shape = (matrix.shape[0], self.selected.height)
        return sparse.csr_matrix((matrix.data, columns[matrix.indices], matrix.indptr), shape=shape)

    def _write_matrix(self, rows: int, folder: Path) -> None:
        """Write the compressed rows of all pieces, one after another."""
        store = self.stream.store
        sizes = store.tables(ROWS, "sizes")
        indptr = new_array(folder, "indptr", np.int64, rows + 1)
        start = 0
        for table in sizes:
            end = start + table.height
            indptr[start + 1 : end + 1] = indptr[start] + np.cumsum(table["size"].to_numpy(), dtype=np.int64)
            start = end
        kinds = {"code": ("codes", np.int32), "value": ("values", np.float64)}
        arrays: dict[str, Any] = {}
        start = 0
        for table in store.tables(ROWS, "entries"):
            end = start + table.height
            for column in table.columns:
                name, kind = kinds[column]
                if column not in arrays:
                    arrays[column] = new_array(folder, name, kind, int(indptr[-1]))
                arrays[column][start:end] = table[column].to_numpy()
            start = end
            store.release()


def _counts(part: Instances) -> bool:
    return len(part) > 0 and part.splits[0] == TRAIN


def sampled_examples(stream: Stream) -> Ints:
    """Return the numbers of the training examples in the sample, in the order of the dataset."""
    data, rows = stream.without_units, stream.sampled_rows
    examples = np.unique(data.example_codes[rows])
    return np.asarray(examples[examples < data.train.n_examples])


def drawn_examples(stream: Stream, n: int) -> Ints:
    """Return the numbers of n random training examples; each of several copies is drawn on its own."""
    numbers = np.arange(stream.without_units.train.n_examples, dtype=np.uint64)
    hashes = mixed(numbers + mixed(np.array([stream.seed], dtype=np.uint64)))
    return np.sort(np.argsort(hashes, kind="stable")[:n])
