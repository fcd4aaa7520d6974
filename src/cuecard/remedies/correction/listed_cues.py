"""The cues that predictions are corrected for, and what every answer would make of an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits import Cues
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.features import Words
from cuecard.models.debiasing.experts import by_example
from cuecard.probes import CueSet, check_test
from cuecard.probes.cue_members import presence_of
from cuecard.probes.cue_set import WordTests, choose_cues
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.correction import CueGroups
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class ListedCues:
    """Cues by `family` and `feature`, each with its usual `label`, and the cue audit that reads them."""

    table: pl.DataFrame
    audit: Cues

    @classmethod
    def of(
        cls, data: Instances, audit: Cues, *, names: Sequence[str] = (), per_label: int = 50
    ) -> ListedCues:
        """Return the named cues, otherwise the words of highest z per label, as the permutation test lists them."""
        if names:
            chosen = choose_cues(data, audit, audit.run(data).tables["cues"], names=names)
            return cls(chosen.table.select("family", "feature", "label"), audit)
        words = WordTests.of(audit.encode(data)).highest(per_label)
        return cls(words.select(pl.lit("word").alias("family"), "feature", "label"), audit)

    def following(self, data: Instances, per_label: int, bands: int) -> list[ListedCues]:
        """Return further lists of as many words per label, those that follow in z; no word is in two lists."""
        lists, before = [], self.table["feature"].to_list()
        for band in range(2, bands + 2):
            words = ListedCues.of(data, self.audit, per_label=band * per_label).table
            lists.append(replace(self, table=words.filter(~pl.col("feature").is_in(before))))
            before += lists[-1].table["feature"].to_list()
        return lists

    def only(self, kept: slice) -> ListedCues:
        """Return some of the cues."""
        return replace(self, table=self.table[kept])

    def cue_set(self, data: Instances) -> CueSet:
        """Return which test instances have the cues."""
        encoded, everywhere = self._presence(data)
        having = everywhere[len(data.train) :]
        return CueSet(check_test(data), encoded, self.table, sparse.csr_matrix(having))

    def rows(self, data: Instances) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Return which training and which test instances have each cue, a cue of two labels once."""
        _, everywhere = self._presence(data)
        first = self.table.with_row_index("at").unique(
            ["family", "feature"], keep="first", maintain_order=True
        )
        columns = everywhere[:, first["at"].to_numpy().astype(np.int64)]
        return columns[: len(data.train)], columns[len(data.train) :]

    def _presence(self, data: Instances) -> tuple[Encoded, sparse.csr_matrix]:
        if self.table["family"].unique().to_list() == ["word"]:
            encoded = self.audit.encode(data)
            return encoded, presence_of(self.table, encoded, [Words()])
        encoded, families = self.audit.prepared(data)
        return encoded, presence_of(self.table, encoded, families)


def beside(data: Instances, chosen: Bools) -> Instances:
    """Return a benchmark of one file as the test split, beside some of its examples as the training set."""
    table, kind = data.table, data.table.schema["split"]
    first = table.filter(pl.Series(chosen[data.example_codes]))
    named = [
        part.with_columns(split=pl.lit(name).cast(kind)) for part, name in ((first, "train"), (table, "test"))
    ]
    return replace(data, table=pl.concat(named))


def cue_groups(cues: CueSet, *, both: bool = True) -> CueGroups:
    """Return for every test example and answer whether a cue would have its usual label, or another.

    `both`: whether to raise if no example has one of them.
    """
    test = cues.examples.instances
    codes = np.array([test.labels.index(label) for label in cues.table["label"]], dtype=np.int64)
    having = sparse.csr_matrix(cues.instances_having)
    if not test.grouped:
        of_label = sparse.csr_matrix(np.eye(len(test.labels))[codes])
        counts = (having @ of_label).toarray()
        groups = CueGroups(counts > 0, counts.sum(axis=1, keepdims=True) - counts > 0)
    else:
        usual, unusual = _of_choices(having, test, codes == 0)
        groups = CueGroups(_answers(usual, test), _answers(unusual, test))
    usual, unusual = groups.with_answers(cues.examples.gold)
    if both and not (usual.any() and unusual.any()):
        raise InputError(
            f"{test.name} has no {test.splits[0]} examples with a cue and its usual label, or none with another "
            "label: name cues that these examples have with --cues."
        )
    return groups


def _of_choices(having: sparse.csr_matrix, test: Instances, of_right: Bools) -> tuple[Bools, Bools]:
    """Return which choices, were they right, would have a cue as usual, and not; cues of all choices say nothing."""
    n, members = (
        test.n_examples,
        sparse.csr_matrix((np.ones(len(test)), (test.example_codes, np.arange(len(test))))),
    )
    per_example = sparse.csr_matrix(members @ having).tocoo()
    telling = per_example.data < np.diff(test.first_rows)[per_example.row]
    active = sparse.csr_matrix(
        (np.ones(int(telling.sum())), (per_example.row[telling], per_example.col[telling])),
        shape=(n, having.shape[1]),
    )[test.example_codes]
    has = having.multiply(active).tocsr()
    right, wrong = of_right.astype(np.float64), (~of_right).astype(np.float64)
    lacks = active - has
    return (has @ right + lacks @ wrong) > 0, (has @ wrong + lacks @ right) > 0


def _answers(rows: Bools, test: Instances) -> Bools:
    of_examples: Floats = by_example(rows.astype(np.float64), test, empty=0.0)
    return of_examples > 0
