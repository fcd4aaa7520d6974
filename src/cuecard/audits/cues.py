"""Which words and other surface features go together with a label? (ICQ; Gardner et al. 2021)"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from cuecard.analysis import Result
from cuecard.audits.cue_findings import cue_findings
from cuecard.audits.cue_statistics import Correction, CueTables, Prior, cue_tables
from cuecard.data import TASKS, Instances, Task
from cuecard.errors import InputError
from cuecard.features import COUNTED_SPLITS, FAMILIES, CueCounts, Family, count_cues
from cuecard.text import Encoded, Scope, encode


@dataclass(frozen=True)
class Cues:
    """Test every feature of the chosen families against every label.

    Args:
        features: feature families to look at.
        tokens: tokenisation, such as "default", "stubborn" or "treebank".
        scope: which text a feature is looked for in.
        min_count: a feature is tested if at least this many train instances have it, and listed as a cue if as
            many test instances do too.
        per_label: ask for `min_count` instances of every label instead.
        alpha: a cue is significant if its q-value is at most this.
        correction: "bh" (Benjamini–Hochberg) or "by" (Benjamini–Yekutieli, for any dependence).
        prior: chance level of a label: its share of train, or 1/number of labels.
    """

    name: ClassVar[str] = "cues"
    title: ClassVar[str] = "Cues"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)

    features: tuple[str, ...] = ("word",)
    tokens: str = "default"
    scope: Scope = "hypothesis"
    language: str = "en"
    min_count: int = 5
    per_label: bool = False
    alpha: float = 0.05
    correction: Correction = "bh"
    prior: Prior = "train"

    def run(self, data: Instances) -> Result:
        """Return the tables of cues and associations with the findings worth reading."""
        encoded = self.encode(data)
        counts = count_cues(encoded, self.families(), minimum=self.min_count)
        return self.result(counts, encoded)

    def families(self) -> list[Family]:
        """Return the chosen feature families."""
        return [FAMILIES.get(name)() for name in self.features]

    def encode(self, data: Instances) -> Encoded:
        """Return the integer tokens of the splits that are counted."""
        _check_classes(data)
        if not set(data.splits) <= set(COUNTED_SPLITS):
            counted = data.table.filter(pl.col("split").cast(pl.String).is_in(COUNTED_SPLITS))
            data = replace(data, table=counted)
        return encode(data, tokens=self.tokens, scope=self.scope, language=self.language)

    def result(self, counts: CueCounts, sample: Encoded) -> Result:
        """Return the statistics of the counts, with examples for the findings from the sample."""
        tables = cue_tables(
            counts,
            min_count=self.min_count,
            per_label=self.per_label,
            alpha=self.alpha,
            correction=self.correction,
            prior=self.prior,
        )
        return Result(
            summary=self._summary(counts, tables),
            tables={"cues": tables.cues, "associations": tables.associations},
            findings=cue_findings(tables, counts, sample, self.families(), alpha=self.alpha),
        )

    def _summary(self, counts: CueCounts, tables: CueTables) -> dict[str, Any]:
        cues = tables.cues
        by_family = Counter(cues["family"].to_list())
        significant = Counter(cues.filter("significant")["family"].to_list())
        listed = Counter(cues.filter(pl.col("significant") & pl.col("is_cue"))["family"].to_list())
        return {
            "features": cues.height,
            "significant": int(cues["significant"].sum()),
            "cues": sum(listed.values()),
            "families": {
                name: {
                    "features": by_family[name],
                    "significant": significant[name],
                    "cues": listed[name],
                    "skipped": counts.skipped.get(name),
                }
                for name in self.features
            },
            "prior": dict(zip(counts.labels, tables.prior.tolist(), strict=True)),
            "alpha": self.alpha,
            "null": "binomial" if counts.within is None else "within-example",
            "tokens": self.tokens,
            "scope": self.scope,
            "min_count": self.min_count,
        }


def _check_classes(data: Instances) -> None:
    present = data.train.table["label"].drop_nulls().n_unique()
    if present < 2:
        raise InputError(
            f"{data.name}: the train split has only one label, so nothing can give it away; "
            "check the label column (--columns label=NAME)."
        )
