"""Which test examples have a cue, and samples of them in which labels are balanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits import Cues
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.features import Family, Presence
from cuecard.features.family import named_feature
from cuecard.probes.examples import check_test, only_test
from cuecard.stats.arrays import Bools, Ints
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class Membership:
    """Binary matrices, test examples × features.

    An example of `choice` or `preference` has a feature if some but not all of its choices have it (ICQ); its
    right choice then has the feature (label `right`) or lacks it.
    """

    having: sparse.csr_matrix
    usual: sparse.csr_matrix
    unusual: sparse.csr_matrix


def columns_in_test(presence: Presence, columns: Ints, first_test_row: int) -> sparse.csr_matrix:
    """Return the presence of chosen features in the rows from `first_test_row` on, in the columns' order."""
    matrix = presence.matrix()[first_test_row:]
    return sparse.csr_matrix(matrix[:, columns])


def membership(having: sparse.csr_matrix, examples: Examples, usual_labels: Sequence[str]) -> Membership:
    """Return who has each feature, with the label it usually goes with and with another.

    `having` is about test instances; `usual_labels` names the label that each feature points to.
    """
    data = examples.instances
    codes = np.array([data.labels.index(label) for label in usual_labels], dtype=np.int64)
    if data.grouped:
        row, column, _, right_has = informative_cells(having, examples)
        as_usual = right_has == (codes[column] == 0)
    else:
        entries = sparse.coo_matrix(having)
        row, column = entries.row, entries.col
        as_usual = examples.gold[row] == codes[column]
    shape = (len(examples), having.shape[1])
    return Membership(
        *(
            sparse.csr_matrix((np.ones(int(kept.sum())), (row[kept], column[kept])), shape=shape)
            for kept in (np.ones(len(row), dtype=np.bool_), as_usual, ~as_usual)
        )
    )


def informative_cells(having: sparse.csr_matrix, examples: Examples) -> tuple[Ints, Ints, Ints, Bools]:
    """Return the examples and features where some but not all choices have the feature.

    With how many of the choices have it, and whether the right one does. `having` is about choices.
    """
    data = examples.instances
    group = sparse.csr_matrix(
        (np.ones(len(data)), (data.example_codes, np.arange(len(data)))), shape=(len(examples), len(data))
    )
    counted = sparse.coo_matrix(group @ having)
    some = counted.data < examples.sizes[counted.row]
    row, column = counted.row[some].astype(np.int64), counted.col[some].astype(np.int64)
    # scipy answers an empty look-up with a matrix of another kind
    looked_up = having[examples.right_rows[row], column] if len(row) else np.empty(0)
    return row, column, counted.data[some].astype(np.int64), np.asarray(looked_up).ravel() > 0


def presence_of(chosen: pl.DataFrame, encoded: Encoded, families: Sequence[Family]) -> sparse.csr_matrix:
    """Return which instances have the features that a table names by `family` and `feature`, in its order."""
    blocks, places = [sparse.csr_matrix((len(encoded.instances), 0))], [np.empty(0, dtype=np.int64)]
    for family in families:
        here = np.flatnonzero((chosen["family"] == family.name).to_numpy())
        if len(here):
            presence = family.presence(encoded)
            columns = feature_columns(presence, chosen["feature"].gather(here).to_list())
            blocks.append(presence.matrix()[:, columns])
            places.append(here)
    order = np.argsort(np.concatenate(places), kind="stable")
    return sparse.csr_matrix(sparse.hstack(blocks, format="csr")[:, order])


def feature_columns(presence: Presence, names: Sequence[str]) -> Ints:
    """Return the number of each named feature, -1 where the family has no such feature."""
    wanted = pl.DataFrame({"name": pl.Series(names, dtype=pl.String)})
    numbered = pl.DataFrame({"name": presence.names}).with_row_index("at").unique("name", keep="first")
    positions = wanted.join(numbered, on="name", how="left", maintain_order="left")["at"]
    return positions.cast(pl.Int64).fill_null(-1).to_numpy()


@dataclass(frozen=True, eq=False)
class CueStressSet:
    """Two samples of the test split about one cue.

    `counts` has the test examples with the cue by label (for multiple choice: by whether the right choice has
    the cue). `balanced` holds all of them and equally many others, for the accuracy test; `flat` as many of
    every label as the rarest has, for the distribution test.
    """

    cue: str
    counts: dict[str, int]
    balanced: Instances
    flat: Instances

    @property
    def per_label(self) -> int:
        """Examples of every label in the flat sample."""
        return min(self.counts.values())


def cue_stress_set(
    data: Instances, cue: str, *, audit: Cues | None = None, sample: int | None = None, seed: int = 0
) -> CueStressSet:
    """Return the stress set of a cue, drawn from the test split with a seed; train stays as it is.

    Args:
        data: what `cuecard.load` returned, with a test split.
        cue: a word, several words, or `family:feature`.
        audit: the cue audit whose tokens and scope to use.
        sample: `balanced` holds at most this many random examples, half of them with the cue.
        seed: seed of the draws.
    """
    examples = check_test(data)
    audit = audit or Cues()
    encoded = audit.encode(data)
    family, feature, _ = named_feature(cue, encoded, audit.families())
    presence = family.presence(encoded)
    columns = feature_columns(presence, [feature])
    if columns[0] < 0:
        raise UsageError(f"No instance has the {family.name} {feature!r}.")
    having = columns_in_test(presence, columns, len(encoded.instances.train))
    first = data.labels[0]
    sets = membership(having, examples, [first])
    here = np.flatnonzero(np.asarray(sets.having.todense()).ravel())
    # The first label of grouped tasks is `right`: usual are those whose right choice has the cue.
    has_usual = np.asarray(sets.usual.todense()).ravel()[here] > 0
    kind = np.where(has_usual, 0, 1) if data.grouped else examples.gold[here]
    counts = {label: int((kind == code).sum()) for code, label in enumerate(data.labels)}
    rarest = min(counts.values())
    if rarest == 0:
        absent = next(label for label, n in counts.items() if not n)
        raise InputError(
            f"No test example with {cue!r} has the label {absent}, so the labels cannot be balanced."
        )
    generator = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(len(examples)), here)
    drawn = generator.choice(others, size=min(len(here), len(others)), replace=False)
    flat = [generator.choice(here[kind == code], size=rarest, replace=False) for code in range(len(counts))]
    with_cue = here
    if sample is not None and sample < len(here) + len(drawn):
        with_cue = generator.choice(here, size=min(sample - sample // 2, len(here)), replace=False)
        drawn = drawn[: sample // 2]
    return CueStressSet(
        cue,
        counts,
        only_test(data, examples, np.union1d(with_cue, drawn)),
        only_test(data, examples, np.sort(np.concatenate(flat))),
    )


def sample_test(data: Instances, n: int, *, seed: int = 0) -> Instances:
    """Return the data with a random sample of its test examples; train stays as it is."""
    examples = check_test(data)
    drawn = np.random.default_rng(seed).permutation(len(examples))[:n]
    return only_test(data, examples, np.sort(drawn))
