"""Which words and other surface features go together with a label? (ICQ; Gardner et al. 2021)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Measure, MeasureKind, Result, Summary
from cuecard.audits.cues.findings import cue_findings, rare_features
from cuecard.audits.cues.overall import WORDS, CueEvidence, strongest_words
from cuecard.audits.cues.redundancy import COMPARED, given_length, redundancy_table, with_length
from cuecard.audits.cues.replication import CueRows, cue_rows, held_shares
from cuecard.audits.cues.statistics import Correction, CueTables, Order, Prior, cue_tables
from cuecard.audits.cues.view import cue_view
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.data.fingerprint import mixed
from cuecard.data.layout.scheme import CHOICE_LABELS
from cuecard.data.units import divided_templates
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.features import (
    FAMILIES,
    ON_REQUEST,
    CueCounts,
    Family,
    Regexes,
    count_cues,
    family_named,
    learned,
)
from cuecard.features.counts import FAILED
from cuecard.features.units import begin_units
from cuecard.registry import unknown_name
from cuecard.text import SCOPES, TOKENISERS, Encoded, Scope, encode, stop_words
from cuecard.text.annotate import Backend
from cuecard.text.tokenisers import extra_of

NAME = "cues"
FEATURES = MeasureKind("features", "features tested", "count")
SIGNIFICANT = MeasureKind("significant", "significant features", "count", "higher")
CUES = MeasureKind("cues", "cues", "count", "higher", key=True)
OF_FAMILY = MeasureKind("cues.{family}", "cues, {family}", "count", "higher")
GIVEN_LENGTH = MeasureKind("given_length", "significant features given length", "count", "higher")
GIVES_AWAY = MeasureKind("gives_away.{label}.{cue}", "share of {label} where “{cue}” occurs", "share")
KINDS = (FEATURES, SIGNIFICANT, CUES, OF_FAMILY, GIVEN_LENGTH, GIVES_AWAY)


def cue_measures(summary: Summary) -> list[Measure]:
    """Return how many features were tested, are significant and are cues, overall and by family."""
    by_family = [
        OF_FAMILY.of(NAME, family["cues"], family=name)
        for name, family in summary["families"].items()
        if not family["skipped"]
    ]
    tested = summary["features"]
    whole = [FEATURES.of(NAME, tested)]
    whole += [kind.of(NAME, summary[kind.name], n=tested) for kind in (SIGNIFICANT, CUES)]
    by_length = summary.get("by_length")
    left = [] if by_length is None else [GIVEN_LENGTH.of(NAME, summary["significant"] - by_length)]
    return [*whole, *left, *by_family]


@dataclass(frozen=True)
class Cues:
    """Test every feature of the chosen families against every label.

    Args:
        features: feature families to look at, by name or as objects of the user's own; all by default.
        regex: features of the user's own, as (name, regular expression).
        tokens: tokenisation, such as "default", "stubborn" or "treebank"; what suits the language by default.
        language: ISO code of the texts' language; guessed by default.
        stop_words: whether function words count as words; Stubborn's lists leave them out.
        scope: which text a feature is looked for in.
        annotator: what tells tense, negation and entities: "builtin", "spacy", or "auto" for what is there.
        min_count: a feature is tested if at least this many train instances have it, and listed as a cue if as
            many test instances do too.
        per_label: ask for `min_count` instances of every label instead.
        alpha: a cue is significant if its q-value is at most this.
        correction: "bh" (Benjamini–Hochberg) or "by" (Benjamini–Yekutieli, for any dependence).
        prior: chance level of a label: its share of train, or 1/number of labels.
        sort: order of the table of cues: by "significance", or by "cueness", the score of ICQ, cues first.
        weights: extra column that holds every instance's weight; all count the same by default.
        wrong_choices: count the right choice of a question and only this number of wrong ones, drawn by a hash of
            their content, as ICQ seems to have done with one; all by default.
        expect: families that are a part of the task, or "words" for all that read what a text says: their cues are
            listed, and are no shortcuts.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Cues"
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    view = staticmethod(cue_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    parallel: ClassVar[bool] = True
    any_size: ClassVar[bool] = True

    features: tuple[str | Family, ...] | None = None
    regex: tuple[tuple[str, str], ...] = ()
    tokens: str | None = None
    scope: Scope = "hypothesis"
    stop_words: bool = True
    annotator: Backend = "auto"
    language: str | None = None
    min_count: int = 5
    per_label: bool = False
    alpha: float = 0.05
    correction: Correction = "bh"
    prior: Prior = "train"
    sort: Order = "significance"
    weights: str | None = None
    wrong_choices: int | None = None
    expect: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the names at once, so that a typo costs no time."""
        names = [family.name for family in self.families()]
        for kind, values in (
            ("feature family", names),
            ("regular expression", [name for name, _ in self.regex]),
        ):
            if repeated := [name for name, n in Counter(values).items() if n > 1]:
                raise UsageError(f"The {kind} {repeated[0]!r} is repeated; name each one once.")
        for name in self.expect:
            if name not in (WORDS, *names):
                raise unknown_name("expected family", name, [WORDS, *names])
        if self.tokens is not None:
            TOKENISERS.get(self.tokens)
        for option, value, allowed in (
            ("scope", self.scope, SCOPES),
            ("correction", self.correction, get_args(Correction)),
            ("prior", self.prior, get_args(Prior)),
            ("sort", self.sort, get_args(Order)),
        ):
            if value not in allowed:
                raise unknown_name(option, str(value), list(allowed))
        if self.wrong_choices is not None and self.wrong_choices < 1:
            raise UsageError(f"wrong_choices must be at least 1, and is {self.wrong_choices}.")
        if self.min_count < 1 or not 0 < self.alpha < 1:
            raise UsageError("min_count must be at least 1, and alpha between 0 and 1.")

    def run(self, data: Instances) -> Result:
        """Return the tables of cues and associations with the findings."""
        return self.result(*self.counted(data))

    def counted(
        self, data: Instances
    ) -> tuple[CueCounts, Encoded, list[Family], npt.NDArray[np.float64] | None]:
        """Return what `result` takes: the counts of the features, the tokens, the families and unequal weights."""
        if self.wrong_choices is not None:
            data = _with_wrong_choices(data, self.wrong_choices)
        begin_units(self.families(), data.train_and_test, self.scope)
        encoded, families = self.prepared(data)
        weights = unequal_weights(encoded.instances, self.weights)
        counts = count_cues(encoded, families, minimum=self.min_count, weights=weights)
        self._check_named(counts)
        data.space.release()
        return counts, encoded, families, weights

    def _check_named(self, counts: CueCounts) -> None:
        """Raise if a family that the user named has failed, or none fits; one of several that does not is left out."""
        for name in self.features or ():
            if isinstance(name, str) and (
                reason := counts.skipped.get(name.partition("=")[0], "")
            ).startswith(FAILED):
                raise UsageError(
                    f"The feature family {name!r} cannot be used: {reason}. Leave it out of --features."
                )
        named = [name.partition("=")[0] for name in self.features or () if isinstance(name, str)]
        if named and len(counts.skipped) == len(set(named)) == len(self.families()):
            reasons = "; ".join(dict.fromkeys(counts.skipped.values()))
            raise UsageError(f"No feature family of --features can be tested: {reasons}")

    def prepared(self, data: Instances) -> tuple[Encoded, list[Family]]:
        """Return the tokens of the data and the families, after they have seen what they must."""
        encoded = self.encode(data)
        if not self.stop_words:
            stop_words(encoded.language)  # raises where there is no list, before anything is counted
        return encoded, [learned(family, encoded) for family in self.families()]

    def families(self) -> list[Family]:
        """Return the chosen feature families."""
        names = self.features or [name for name in FAMILIES.names() if name not in ON_REQUEST]
        own: list[Family] = [Regexes(self.regex)] if self.regex else []
        return [*(family_named(name) if isinstance(name, str) else name for name in names), *own]

    def encode(self, data: Instances) -> Encoded:
        """Return the integer tokens of the splits that are counted."""
        return encode(
            data.train_and_test,
            tokens=self.tokens,
            scope=self.scope,
            language=self.language,
            annotator=self.annotator,
        )

    def result(
        self,
        counts: CueCounts,
        sample: Encoded,
        families: Sequence[Family],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Result:
        """Return the statistics of the counts, with examples for the findings from the instances of `sample`.

        `weights` are those of the instances, where they do not all count the same.
        """

        def having(cues: pl.DataFrame) -> CueRows:
            return cue_rows(counts, sample.instances, cues)

        if not self.stop_words:
            stop = sorted(stop_words(sample.language))
            is_stop_word = (pl.col("family") == "word") & pl.col("feature").is_in(stop)
            counts = replace(counts, features=counts.features.filter(~is_stop_word))
        tables = cue_tables(
            counts,
            min_count=self.min_count,
            per_label=self.per_label,
            alpha=self.alpha,
            correction=self.correction,
            prior=self.prior,
        )
        own = tables.cues
        if sample.instances.grouped and weights is None:
            train = sample.instances.train
            lengths = sample.scoped.lengths[: len(train)]
            tables = replace(
                tables, cues=given_length(own, train, having, np.asarray(lengths, np.int64), alpha=self.alpha)
            )
            # What length explains is told with length, and is no cue of its own.
            own = tables.cues.filter(~pl.col("by_length"))
        strongest = own.filter("significant").head(COMPARED)
        rows = having(strongest)
        redundancy = _redundancy(strongest, rows, sample.instances, weights)
        held = held_shares(strongest, rows, sample.instances, self._repeated(sample.instances))
        about = pl.concat([redundancy.select("family", "feature", "group"), held], how="horizontal")
        cues = tables.cues.join(about, on=["family", "feature"], how="left", maintain_order="left")
        if self.sort == "cueness":
            cues = cues.sort("is_cue", "cueness", descending=True, maintain_order=True)
        by_length = tables.cues.height - own.height
        evidence = CueEvidence(
            own,
            redundancy,
            held,
            rows,
            sample.instances,
            families,
            int(counts.totals[0].sum()),
            self.alpha,
            by_length,
            self.expect,
        )
        findings = with_length(cue_findings(evidence), by_length, sample.instances.task) + rare_features(
            counts
        )
        summary = self._summary(counts, tables, sample, families)
        return Result(
            summary,
            measures=[*cue_measures(summary), *_giving_away(cues)],
            settled={name: summary[name] for name in ("tokens", "language", "null")}
            | {"extras": ",".join(sorted(_extras(families, counts, sample)))},
            tables={"cues": cues, "associations": tables.associations, "redundancy": redundancy},
            findings=findings,
            smallest_q=None if cues.is_empty() else float(np.nanmin(cues["q_value"].to_numpy())),
        )

    def _repeated(self, data: Instances) -> npt.NDArray[np.int64]:
        """Return the units of which one row counts where a cue is looked for again: questions, or texts."""
        if data.grouped:
            return data.units("choices")
        scope: Literal["hypothesis", "premise"] = "premise" if self.scope == "premise" else "hypothesis"
        return divided_templates(data.units(scope), data.closest_units(scope))[0]

    def _summary(
        self, counts: CueCounts, tables: CueTables, sample: Encoded, families: Sequence[Family]
    ) -> Summary:
        cues = tables.cues
        by_family = Counter(cues["family"].to_list())
        significant = Counter(cues.filter("significant")["family"].to_list())
        listed = Counter(cues.filter(pl.col("significant") & pl.col("is_cue"))["family"].to_list())
        return {
            "features": cues.height,
            "by_length": int(cues["by_length"].sum()) if "by_length" in cues.columns else None,
            "significant": int(cues["significant"].sum()),
            "cues": sum(listed.values()),
            "families": {
                family.name: {
                    "features": by_family[family.name],
                    "significant": significant[family.name],
                    "cues": listed[family.name],
                    "skipped": counts.skipped.get(family.name),
                    "min_count": counts.raised.get(family.name, self.min_count),
                }
                for family in families
            },
            "prior": dict(zip(counts.labels, tables.prior.tolist(), strict=True)),
            "alpha": self.alpha,
            "null": "binomial" if counts.within is None else "within-example",
            "tokens": sample.tokeniser,
            "language": sample.language,
            "scope": self.scope,
            "min_count": self.min_count,
        }


def _with_wrong_choices(data: Instances, n: int) -> Instances:
    """Return every question with its right choices and `n` of its wrong ones, drawn by a hash of their content."""
    if data.task != "choice":
        raise UsageError(
            f"wrong_choices only applies to questions with choices; this dataset holds {data.task} data."
        )
    wrong = data.label_codes != data.labels.index(CHOICE_LABELS[0])
    drawn = mixed(data.row_hashes)
    order = np.lexsort((drawn, wrong, data.example_codes))
    first = np.searchsorted(data.example_codes[order], data.example_codes[order])
    n_right = np.bincount(data.example_codes, ~wrong)[data.example_codes[order]]
    kept = np.zeros(len(data), dtype=np.bool_)
    kept[order] = np.arange(len(data)) - first < n_right + n
    return data.rows(kept)


def _extras(families: Sequence[Family], counts: CueCounts, sample: Encoded) -> set[str]:
    """Return the optional parts of CueCard that had a part in the counts."""
    of_families = {getattr(family, "extra", None) for family in families if family.name not in counts.skipped}
    return {extra for extra in (*of_families, extra_of(sample.tokeniser)) if extra is not None}


def _giving_away(cues: pl.DataFrame) -> list[Measure]:
    """Return the shares of the words that give most away where they occur."""
    return [
        GIVES_AWAY.of(
            NAME, row["held_share"], low=row["held_low"], high=row["held_high"],
            chance=row["chance"], n=round(row["share_n"]), label=row["label"], cue=row["feature"],
        )
        for row in strongest_words(cues).iter_rows(named=True)
    ]  # fmt: skip


def _redundancy(
    cues: pl.DataFrame,
    rows: CueRows,
    sample: Instances,
    weights: npt.NDArray[np.float64] | None,
) -> pl.DataFrame:
    n_train = len(sample.train)  # train rows stand first
    table = redundancy_table(
        cues,
        rows,
        sample.labels,
        sample.label_codes[:n_train],
        None if weights is None else weights[:n_train],
        None if sample.grouped else sample.units()[:n_train],
    )
    if sample.grouped:  # the test takes instances as independent, which the choices of an example are not
        table = table.with_columns(
            pl.lit(None, pl.Float64).alias(name) for name in ("z_given", "log10_p_given")
        )
    return table
