"""The cues that models are probed for: the strongest of the data, or those the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Skip
from cuecard.audits import Cues
from cuecard.audits.cues.statistics import POINTS_TO, cue_tables
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import UsageError
from cuecard.features import Family, Lengths, Positions, Presence, Words, count_cues
from cuecard.features.family import learned, named_feature
from cuecard.probes.cues.members import (
    Membership,
    columns_in_test,
    feature_columns,
    membership,
    presence_of,
)
from cuecard.probes.examples import UNANSWERED, check_test, column, effect_on_mean, shared_texts
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.cues.association import artifact_z
from cuecard.text import STOP_WORDS, Encoded, stop_words
from cuecard.wording import TRAINING_SET

#: A choice is probed for being one of these, whatever the data says about them.
EXTREMES = ("longest", "shortest")


def always_probed(
    cue_table: pl.DataFrame, chosen: pl.DataFrame, encoded: Encoded, families: Sequence[Family]
) -> tuple[pl.DataFrame, list[Family]]:
    """Return the rows to add to the chosen cues of a grouped task, and the families that all of them need.

    A model may prefer the longest choice, or the first, although the data gives no reason to. A property that is not
    significant in the data stands with the label of the right choice, so that a lean towards it reads as picking it.
    """
    if not encoded.instances.grouped:
        return chosen.clear(), list(families)
    wanted: list[Family] = [Lengths()]
    if encoded.instances.task == "choice":
        wanted.append(Positions())
    have = {family.name for family in families}
    missing = [learned(family, encoded) for family in wanted if family.name not in have]
    pool = cue_table
    if missing:
        extra = cue_tables(count_cues(encoded, missing, minimum=1), min_count=1).cues
        shared = [name for name in cue_table.columns if name in extra.columns]
        extra = extra.select(shared).cast({name: cue_table.schema[name] for name in shared})
        pool = pl.concat([cue_table, extra], how="diagonal")
    is_wanted = ((pl.col("family") == "length") & pl.col("feature").is_in(EXTREMES)) | (
        pl.col("family") == "position"
    )
    rows = pool.filter(is_wanted).join(
        chosen.select("family", "feature"), on=["family", "feature"], how="anti"
    )
    return _towards_right(rows, encoded.instances.labels), [*families, *missing]


def _towards_right(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the rows with the first label as the usual one where no label is significant."""
    right, other = labels
    turned = ~pl.col("significant") & (pl.col("label") == other)
    return rows.with_columns(
        pl.when(turned)
        .then(pl.lit(right))
        .otherwise(pl.col("label"))
        .cast(rows.schema["label"])
        .alias("label"),
        *(
            pl.when(turned).then(1 - pl.col(opposite)).otherwise(pl.col(name)).alias(name)
            for name, opposite in (
                ("share", "share"),
                ("share_low", "share_high"),
                ("share_high", "share_low"),
            )
        ),
        pl.when(turned).then(-pl.col("z")).otherwise(pl.col("z")).alias("z"),
        # The two labels' priors add up to one.
        pl.when(turned)
        .then((1 - pl.col("share")) / (1 - pl.col("share") / pl.col("lift")))
        .otherwise(pl.col("lift"))
        .alias("lift"),
    )


#: A cue says nothing new if this share of its instances have a stronger one, too.
CONTAINED = 0.8
#: Number of cues that are compared per cue wanted, so that enough of them are not redundant.
_CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class CueSet:
    """Cues with what the train split says about them and which test examples have them.

    `table` has a row per cue as in the table of cues: family, feature, label (the usual one), share, z, …
    """

    examples: Examples
    encoded: Encoded
    table: pl.DataFrame
    instances_having: sparse.csr_matrix
    """Test instances × cues."""
    source: str = TRAINING_SET
    """The examples that the cues and their usual labels come from, as sentences call them."""

    @cached_property
    def members(self) -> Membership:
        """Which test examples have each cue, with its usual label or another."""
        return membership(self.instances_having, self.examples, self.table["label"].to_list())

    @cached_property
    def shared(self) -> list[Ints]:
        """Codes of test examples that share a text, one array per kind of text."""
        return shared_texts(self.examples)

    @cached_property
    def names(self) -> pl.DataFrame:
        """Family, feature and usual label of every cue."""
        return self.table.select("family", "feature", "label")

    @cached_property
    def train_shares(self) -> Floats:
        """Label distribution among train instances that have the cue (R_f), cues × labels."""
        labels = self.encoded.instances.labels
        counts = self.table.select(f"train_{label}" for label in labels).to_numpy().astype(np.float64)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    @cached_property
    def words(self) -> WordTests:
        """Every word with its z per label in train, stop words left out where the language has a list."""
        return WordTests.of(self.encoded)

    def effect_on_picks(self, answers: Ints, i: int) -> float:
        """Return the design effect of how often choices with a cue are picked, where some of an example have it."""
        if not self.shared:
            return 1.0
        examples = self.examples
        some = column(self.members.having, i)
        here = np.flatnonzero(some & (answers != UNANSWERED))
        having = column(self.instances_having, i)
        picked = having[examples.first_rows[here] + answers[here]]
        shared = [np.unique(codes[here], return_inverse=True)[1].astype(np.int64) for codes in self.shared]
        return effect_on_mean(picked, shared, strata=having[examples.right_rows[here]])

    def check_any(self) -> None:
        """Skip a test of cues where there is none."""
        if not len(self):
            raise Skip(
                f"needs a significant cue that is frequent enough in {self.source} and in the test examples"
            )

    def __len__(self) -> int:
        return self.table.height


@dataclass(frozen=True, eq=False)
class WordTests:
    """z of words × labels in train, stop words left out where there is a list of them."""

    associations: pl.DataFrame
    presence: Presence
    encoded: Encoded

    @classmethod
    def of(cls, encoded: Encoded, *, min_count: int = 5, family: Family | None = None) -> WordTests:
        """Return the associations of the words of encoded texts, or of another family's features."""
        family = family or Words()
        counts = count_cues(encoded, [family], minimum=min_count)
        stop = sorted(stop_words(encoded.language)) if _has_stop_words(encoded) else []
        associations = cue_tables(counts, min_count=min_count).associations
        return cls(associations.filter(~pl.col("feature").is_in(stop)), family.presence(encoded), encoded)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of these words."""
        if _has_stop_words(self.encoded):
            return ()
        language = self.encoded.language
        return (f"There is no stop-word list for the language {language!r}, so stop words are not removed.",)

    def highest(self, per_label: int, *, maximum_q: float = 1.0, uniform: bool = False) -> pl.DataFrame:
        """Return the words of highest z of every label whose q-value is at most `maximum_q`: label, feature, z.

        `uniform`: z is about one label in as many as there are, instead of the label's share of the training set.
        """
        labels, associations = self.encoded.instances.labels, self.associations
        if uniform:
            z = artifact_z(associations["k"], associations["n"], 1 / len(labels))
            associations = associations.with_columns(z=pl.Series(z))
        tested = associations.filter((pl.col("z") > 0) & (pl.col("q_value") <= maximum_q))
        parts = [
            tested.filter(pl.col("label") == label)
            .sort("z", "feature", descending=[True, False])
            .head(per_label)
            for label in labels
        ]
        return pl.concat(parts).select("label", "feature", "z")

    def having(self, features: Sequence[str]) -> sparse.csr_matrix:
        """Return which test instances have the words."""
        columns = feature_columns(self.presence, features)
        return columns_in_test(self.presence, columns, _first_test_row(self.encoded))


def choose_cues(
    data: Instances,
    audit: Cues,
    cue_table: pl.DataFrame,
    *,
    names: Sequence[str] = (),
    top: int = 20,
    encoded: Encoded | None = None,
    families: Sequence[Family] | None = None,
) -> CueSet:
    """Return the cues to probe: those named, otherwise the `top` most significant that say something new.

    Choices are then also probed for being the longest, the shortest, and for every position, whatever the data says.

    Args:
        data: what `cuecard.load` returned.
        audit: the cue audit that `cue_table` comes from.
        cue_table: the table of cues, the most significant first.
        names: cues as `cuecard explain` takes them: "sleeping", "is sleeping", "length:longest".
        top: how many cues to take if none are named.
        encoded: the tokens, if they are at hand.
        families: the feature families, as the audit used them.
    """
    examples = check_test(data)
    if encoded is None or families is None:
        encoded, families = audit.prepared(data)
    if names:
        chosen = _named(cue_table, names, encoded, families)
    else:
        # What a model does with a cue is judged by the label that the cue points to.
        points = pl.col("direction") == POINTS_TO
        chosen = cue_table.filter(pl.col("significant") & pl.col("is_cue") & points).head(_CANDIDATES * top)
    having, everywhere = _presence(chosen, encoded, families)
    if not names:
        kept = _saying_something_new(everywhere, top)
        chosen = chosen[kept]
        more, families = always_probed(cue_table, chosen, encoded, families)
        chosen = pl.concat([chosen, more], how="diagonal")
        having = _presence(chosen, encoded, families)[0] if more.height else having[:, kept]
    return CueSet(examples, encoded, chosen, having)


def _named(
    cue_table: pl.DataFrame, names: Sequence[str], encoded: Encoded, families: Sequence[Family]
) -> pl.DataFrame:
    rows = []
    for name in names:
        family, feature, _ = named_feature(name, encoded, families)
        row = cue_table.filter((pl.col("family") == family.name) & (pl.col("feature") == feature))
        if row.is_empty():
            same = cue_table.filter(pl.col("feature").str.to_lowercase() == name.strip().lower())
            if same.height:
                called = " or ".join(
                    f"{family}:{feature}" for family, feature in same.select("family", "feature").rows()
                )
                raise UsageError(f"The data has no {family.name} {feature!r}; did you mean {called}?")
            raise UsageError(
                f"The cue {name!r} was not tested: too few train instances have the {family.name} {feature!r}, or "
                "its family was left out; lower --min-count or name the family with --features."
            )
        rows.append(row)
    return pl.concat(rows).unique(["family", "feature"], keep="first", maintain_order=True)


def _presence(
    chosen: pl.DataFrame, encoded: Encoded, families: Sequence[Family]
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return which test instances, and which of all instances, have the chosen cues."""
    everywhere = presence_of(chosen, encoded, families)
    return everywhere[_first_test_row(encoded) :], everywhere


def _has_stop_words(encoded: Encoded) -> bool:
    return encoded.language in STOP_WORDS


def _first_test_row(encoded: Encoded) -> int:
    return len(encoded.instances.train)


def _saying_something_new(everywhere: sparse.csr_matrix, top: int) -> Ints:
    """Return the columns most of whose instances have no earlier one, at most `top`."""
    if not everywhere.shape[1]:
        return np.empty(0, dtype=np.int64)
    together = np.asarray((everywhere.T @ everywhere).todense())
    size = np.diag(together)
    kept: list[int] = []
    for i in range(everywhere.shape[1]):
        if len(kept) < top and not (together[i, kept] > CONTAINED * size[i]).any():
            kept.append(i)
    return np.array(kept, dtype=np.int64)
