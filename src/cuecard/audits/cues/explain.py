"""One cue in depth: counts, interval, examples per label, the words it co-occurs with, what it touches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard._lazy import drawing
from cuecard.analysis import Evidence, Summary
from cuecard.audits.cues.audit import Cues
from cuecard.audits.cues.findings import cue_sentence
from cuecard.audits.cues.statistics import cue_tables
from cuecard.data import LABELLED_TASKS, Instances, Source, loaded
from cuecard.errors import UsageError
from cuecard.features import CueCounts, Family, Presence, count_cues
from cuecard.features.family import cue_name, named_feature
from cuecard.registry import unknown_name
from cuecard.stats import lmi, wilson
from cuecard.text import STOP_WORDS, Encoded, presence_counts
from cuecard.wording import listed, only_applies_to

COMPANIONS = 10
MIN_TOGETHER = 5
FEW = 50
#: Similar names are looked for among this many of the most frequent ones of about the same length.
COMPARED_NAMES = 5_000
LENGTH_WINDOW = 3
ASSOCIATION = ("label", "share", "lift", "z", "log10_p", "cueness")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything the data says about one feature.

    `shares` has a row per split and label: how many instances with the feature have the label, their share with an
    interval, and the label's prior. The interval is that of the table of cues where it has the share, and otherwise
    Wilson's of all instances. `association` is the feature's row of the table of cues;
    its q-value is missing where the audit does not test the feature, and all of it is None for a feature that no
    train instance has. `sentence` is what the audit says of the feature if it is significant: there, copies of a text
    count once in the test set, and the interval is corrected for selection. `companions` are words that occur with the
    feature more often than elsewhere. `examples` has instances with the feature by label: those of another label than
    the associated one are counter-examples. `also` are further features that the name can mean, as `family:feature`.
    """

    family: str
    feature: str
    shares: pl.DataFrame
    association: dict[str, object] | None
    touched: dict[str, float]
    companions: pl.DataFrame
    examples: dict[str, tuple[Evidence, ...]]
    also: tuple[str, ...] = ()
    sentence: str | None = None

    def __repr__(self) -> str:
        """Return the cue and what it is associated with, on one line."""
        told = self.association
        about = f", {told['label']}, share={told['share']:.3f}" if told else ""
        return f"Explanation({self.family}:{self.feature}{about})"

    def __str__(self) -> str:
        """Return what `cuecard explain` prints."""
        text: str = drawing().explanation_text(self)
        return text

    def _repr_html_(self) -> str:
        html: str = drawing().explanation_html(self)
        return html


def explain(
    data: Instances | Source,
    cue: str,
    *,
    test: Source | None = None,
    examples: int = 3,
    audit: Cues | None = None,
) -> Explanation:
    """Return all there is to know of a cue, named as in the tables: "sleeping", "is sleeping", "length:longest".

    Args:
        data: what `cuecard.load` returned, or what it takes, such as the path of a file.
        cue: a word, several words, `family:feature`, or a name as the report prints it ("10 or more tokens").
        test: the test split, where `data` is a file or a table.
        examples: how many examples to show per label.
        audit: the cue audit whose tokens, scope and own features to use.
    """
    audit = audit or Cues()
    dataset = loaded(data, test=test)
    if not dataset.labelled:
        raise UsageError(f"{dataset.name}: cues {only_applies_to(LABELLED_TASKS, dataset.task)}.")
    encoded = audit.encode(dataset)
    family, feature, also = named_feature(cue, encoded, audit.families())
    counts = count_cues(encoded, [family])
    if family.name in counts.skipped:
        raise UsageError(f"{cue!r} cannot be searched: {counts.skipped[family.name]}.")
    presence_of = family.presence(encoded)
    column = _column(presence_of, family, feature)
    has = np.zeros(len(encoded.instances), dtype=np.bool_)
    has[presence_of.rows()[presence_of.indices == column]] = True
    if not has.any():
        raise UsageError(f"No instance has the {family.name} {feature!r}.")
    counts = _only(counts, feature)
    row = _audited(encoded.instances, audit, encoded.language, family, feature)
    phrases = {family.name: family.phrase}
    return Explanation(
        family=family.name,
        feature=feature,
        shares=_shares(counts, row),
        association={name: row[name] for name in (*ASSOCIATION, "q_value")}
        if row
        else _association(counts, audit),
        touched=_touched(encoded.instances, has),
        companions=_companions(encoded, has, feature),
        examples=_examples(encoded.instances, has, feature, examples),
        also=also,
        sentence=cue_sentence(row, cue_name(family.name, feature, phrases), encoded.instances)
        if row and row["held_share"] is not None
        else None,
    )


def _audited(data: Instances, audit: Cues, language: str, family: Family, feature: str) -> Summary | None:
    """Return the feature's row of the table of cues, so that its numbers are those of the audit."""
    if not audit.stop_words and language not in STOP_WORDS:
        audit = replace(audit, stop_words=True)
    if family.name not in [one.name for one in audit.families()]:
        audit = replace(audit, features=(family,))
    cues = audit.run(data).tables["cues"]
    return next(cues.filter(family=family.name, feature=feature).iter_rows(named=True), None)


def _column(presence_of: Presence, family: Family, feature: str) -> int:
    column = presence_of.names.index_of(feature)
    if column is None:
        if len(presence_of.names) <= FEW:
            raise unknown_name(f"feature of the family {family.name!r}", feature, presence_of.names.to_list())
        near = get_close_matches(feature, _compared_names(presence_of, len(feature)), n=3)
        hint = f" Similar ones are {listed([repr(name) for name in near])}." if near else ""
        raise UsageError(f"No instance has the {family.name} {feature!r}.{hint}")
    return int(column)


def _compared_names(presence_of: Presence, length: int) -> list[str]:
    """Return the frequent names of about this length: comparing with all bigrams would take seconds."""
    counts = np.bincount(presence_of.indices, minlength=len(presence_of.names))
    names = pl.DataFrame({"name": presence_of.names, "count": counts}).filter(
        pl.col("name")
        .str.len_chars()
        .cast(pl.Int64)
        .is_between(length - LENGTH_WINDOW, length + LENGTH_WINDOW)
    )
    return names.sort("count", descending=True, maintain_order=True)["name"].head(COMPARED_NAMES).to_list()


def _association(counts: CueCounts, audit: Cues) -> dict[str, object] | None:
    cues = cue_tables(counts, min_count=1, prior=audit.prior).cues
    if cues.is_empty():
        return None
    return cues.select(ASSOCIATION).row(0, named=True)


def _only(counts: CueCounts, feature: str) -> CueCounts:
    """Return the counts of one feature; what is known of the whole dataset, such as its copies, stays."""
    named, within = pl.col("feature") == feature, counts.within
    return replace(
        counts,
        features=counts.features.filter(named),
        within=within.filter(named) if within is not None else None,
    )


def _shares(counts: CueCounts, audited: Summary | None) -> pl.DataFrame:
    """Return the share of every label by split; where the table of cues has an interval for it, it is that one."""
    rows = []
    for s, split in enumerate(("train", "test")):
        total = counts.totals[s].sum()
        if total == 0:
            continue
        label_counts = counts.features.select(f"{split}_{label}" for label in counts.labels).row(0)
        n = sum(label_counts)
        for i, label in enumerate(counts.labels):
            low, high = wilson(label_counts[i], n) if n else (np.nan, np.nan)
            share = label_counts[i] / n if n else None
            if audited and split == "train" and label == audited["label"] and share == audited["share"]:
                low, high = audited["share_low"], audited["share_high"]
            prior = counts.totals[s, i] / total
            rows.append((split, label, label_counts[i], n, share, float(low), float(high), float(prior)))
    columns = ["split", "label", "count", "with_feature", "share", "share_low", "share_high", "prior"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _touched(instances: Instances, has: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Return the share of each split's examples in which some instance has the feature."""
    table = pl.DataFrame(
        {"split": instances.table["split"].cast(pl.String), "example": instances.example_codes, "has": has}
    )
    per_example = table.group_by("split", "example").agg(pl.col("has").any())
    shares = per_example.group_by("split").agg(pl.col("has").mean())
    return dict(shares.sort("split", descending=True).iter_rows())


def _companions(encoded: Encoded, has: npt.NDArray[np.bool_], feature: str) -> pl.DataFrame:
    """Return words that occur with the feature more often than elsewhere, by local mutual information."""
    counts = presence_counts(encoded.scoped, has.astype(np.int32), 2)
    together, everywhere = counts[:, 1], counts.sum(axis=1)
    weight = lmi(together, everywhere, int(has.sum()), len(has))
    words = pl.DataFrame(
        {"word": encoded.vocabulary, "together": together, "everywhere": everywhere, "lmi": weight}
    ).filter((pl.col("together") >= MIN_TOGETHER) & (pl.col("lmi") > 0))
    own = feature.split()
    words = words.filter(~pl.col("word").is_in(own)).sort("lmi", descending=True, maintain_order=True)
    expected = pl.col("everywhere") / len(has)
    return words.head(COMPANIONS).with_columns(
        share=pl.col("together") / max(int(has.sum()), 1), lift=pl.col("together") / int(has.sum()) / expected
    )


def _examples(
    instances: Instances, has: npt.NDArray[np.bool_], feature: str, wanted: int
) -> dict[str, tuple[Evidence, ...]]:
    in_train = (instances.table["split"].cast(pl.String) == "train").to_numpy()
    by_label = {}
    for code, label in enumerate(instances.labels):
        rows = np.flatnonzero(has & in_train & (instances.label_codes == code))[:wanted]
        by_label[label] = tuple(
            Evidence(str(row["example_id"]), "train", label, row["hypothesis"], row["premise"], (feature,))
            for row in instances.table[rows].iter_rows(named=True)
        )
    return by_label
