"""Audits repeated under weights, to show the effect of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, Row, Skip
from cuecard.audits import AUDITS, Cues
from cuecard.audits.cues.findings import adjusted_gain
from cuecard.audits.cues.overall import NOTABLE_GAIN
from cuecard.audits.cues.statistics import CueTables, cue_tables
from cuecard.data import Instances
from cuecard.errors import CueCardError, MissingExtraError
from cuecard.features import FAMILIES, ON_REQUEST, CueCounts, Family, count_cues, learned
from cuecard.stats.arrays import Floats
from cuecard.stats.units import label_orders
from cuecard.text import Encoded
from cuecard.wording import percent


@dataclass(frozen=True, eq=False)
class Reaudit:
    """Cues before and after: how many in all, and one row per feature that was significant in either."""

    summary: Row
    table: pl.DataFrame


def reaudit(
    encoded: Encoded,
    weights: Floats,
    features: Sequence[Family],
    regex: tuple[tuple[str, str], ...],
) -> Reaudit:
    """Return what the cue audit finds without and with the examples' weights, on the same tokens and scope.

    Looked at are the families of a plain audit and those named.
    """
    plain = [name for name in FAMILIES.names() if name not in ON_REQUEST]
    audit = Cues(features=(*plain, *(one for one in features if one.name in ON_REQUEST)), regex=regex)
    families = [learned(family, encoded) for family in audit.families()]
    relational = [family.name for family in families if getattr(family, "relational", False)]
    row_weights = weights[encoded.instances.example_codes]
    counts = {
        "before": count_cues(encoded, families, minimum=audit.min_count),
        "after": count_cues(encoded, families, minimum=audit.min_count, weights=row_weights),
    }
    tables = {when: cue_tables(part, min_count=audit.min_count) for when, part in counts.items()}
    return Reaudit(
        {when: _tally(tables[when], counts[when], relational) for when in tables},
        _joined(tables["before"], tables["after"], encoded.instances.labels),
    )


def _tally(tables: CueTables, counts: CueCounts, relational: Sequence[str]) -> Row:
    """Return how many features there are, are significant, and are strong, as an audit of one split counts them."""
    prior = dict(zip(counts.labels, tables.prior.tolist(), strict=True))
    significant = tables.cues.filter("significant")
    return {
        "features": tables.cues.height,
        "significant": significant.height,
        "strong": significant.filter(
            pl.col("is_cue") & ~pl.col("family").is_in(relational) & (adjusted_gain() >= NOTABLE_GAIN)
        ).height,
        "prior": prior,
    }


def _joined(before: CueTables, after: CueTables, labels: tuple[str, ...]) -> pl.DataFrame:
    keys = ["family", "feature"]
    shares = {
        label: pl.col(f"train_{label}") / pl.sum_horizontal(f"train_{name}" for name in labels)
        for label in labels
    }
    weighted = after.cues.select(
        *keys,
        label_after="label",
        q_after="q_value",
        significant_after="significant",
        **{f"_{i}": shares[label] for i, label in enumerate(labels)},
    )
    joined = before.cues.select(
        *keys,
        "label",
        count="train_count",
        share_before="share",
        q_before="q_value",
        significant_before="significant",
    ).join(weighted, on=keys, how="left", maintain_order="left")
    same_label = pl.coalesce(
        pl.when(pl.col("label") == label).then(pl.col(f"_{i}")) for i, label in enumerate(labels)
    )
    return (
        joined.with_columns(share_after=same_label, significant_after=pl.col("significant_after").fill_null(False))
        .filter(pl.col("significant_before") | pl.col("significant_after"))
        .select(
            *keys, "count", "label", "share_before", "share_after", "label_after",
            "q_before", "q_after", "significant_before", "significant_after",
        )
    )  # fmt: skip


#: Makes the weights of the examples of a train split from its labels.
Remake = Callable[[Instances], Floats]
#: An audit under weights of examples: its measures.
Repeat = Callable[[Instances, Floats], Sequence[Measure]]

#: Times that labels are shuffled by default; Student's distribution allows for so few.
DRAWS = 10


@dataclass(frozen=True)
class Reference:
    """How far above chance a measure is when labels say nothing and the weights were made from them."""

    mean: float
    sd: float
    draws: int

    def p_value(self, above: float) -> float:
        """Two-sided p-value of a measure that is so far above chance, as one more draw of the same distribution.

        >>> round(Reference(-0.1, 0.02, 10).p_value(-0.11), 2), Reference(-0.1, 0.02, 10).p_value(0.1) < 1e-4
        (0.64, True)
        """
        from scipy.stats import t as student

        if not self.sd > 0:
            return 1.0 if math.isclose(above, self.mean, abs_tol=1e-12) else 0.0
        z = (above - self.mean) / (self.sd * math.sqrt(1 + 1 / self.draws))
        return float(2 * student.sf(abs(z), self.draws - 1))


def above_chance(measure: Measure) -> float | None:
    """Return how far above chance a shortcut's share is; None for any other measure, which has no such reference."""
    if measure.unit != "share" or measure.worse != "higher":
        return None
    return None if measure.value is None or measure.chance is None else measure.value - measure.chance


def references(
    train: Instances, remake: Remake, repeat: Repeat, *, draws: int = DRAWS, seed: int = 0
) -> dict[str, Reference]:
    """Return the reference of every measure with a chance level, by name.

    Args:
        train: the rows that the weights were made from.
        remake: makes the weights again, with everything that was chosen by looking at labels.
        repeat: the audit under such weights.
        draws: how often.
        seed: of the shuffles.
    """
    gains: dict[str, list[float]] = {}
    for shuffled in shuffled_labels(train, draws, seed=seed):
        try:
            weights = remake(shuffled)
        except CueCardError:  # nothing to balance is left: equal weights
            weights = np.ones(train.n_examples)
        for measure in repeat(shuffled, weights):
            above = above_chance(measure)
            if above is not None:
                gains.setdefault(measure.name, []).append(above)
    return {
        name: Reference(float(np.mean(values)), float(np.std(values, ddof=1)), len(values))
        for name, values in gains.items()
        if len(values) > 1
    }


def shuffled_labels(data: Instances, draws: int, *, seed: int = 0) -> Iterator[Instances]:
    """Yield the data with shuffled labels: within examples that have several rows, copies of a text alike."""
    rng = np.random.default_rng(seed)
    groups = data.example_codes if data.grouped else None
    units = data.units("choice" if data.grouped else "hypothesis")
    for order in label_orders(len(data), draws, rng, groups=groups, units=units):
        yield data.relabelled(data.label_codes[order])


def p_values(
    measures: Mapping[str, Measure], expected: Mapping[str, Reference]
) -> dict[str, tuple[float, float]]:
    """Return for every measure with a reference the value that shuffled labels lead to, and its p-value."""
    tested = {}
    for name, reference in expected.items():
        measure = measures.get(name)
        above = None if measure is None else above_chance(measure)
        if measure is not None and measure.chance is not None and above is not None:
            tested[name] = measure.chance + reference.mean, reference.p_value(above)
    return tested


#: Names that stand for every audit, and for none.
ALL, NONE = "all", "none"
WEIGHT = "cuecard_weight"
#: Differences and p-values say again what the shares and scores beside them say.
LEFT_OUT = frozenset({"points", "p"})
#: What an audit draws or tries besides its measures, and that a comparison can do without.
QUICK: dict[str, str | bool] = {"map": "none", "sweep": False, "learning_curve": False}
SCHEMA = {
    "audit": pl.String,
    "measure": pl.String,
    "label": pl.String,
    "unit": pl.String,
    "worse": pl.String,
    **{
        f"{what}{when}": pl.Float64
        for when in ("_before", "_after")
        for what in ("value", "low", "high", "chance")
    },
    # Under weights made from shuffled labels: the value to expect, and how unlikely the one with these labels is.
    "expected_after": pl.Float64,
    "p_after": pl.Float64,
}
#: A shortcut differs from what shuffled labels lead to if its p-value is at most this.
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class WeightedAudits:
    """The measures of every audit before and after, and the reasons of those that did not apply."""

    table: pl.DataFrame
    skipped: dict[str, str]

    def findings(self, section: str) -> list[Finding]:
        """Return a sentence for every shortcut that was above chance, or is off it under the weights."""
        return [_finding(section, row) for row in self.table.iter_rows(named=True) if _telling(row)]


def chosen_audits(names: Sequence[str]) -> tuple[str, ...]:
    """Return the audits to repeat after checking their names; "all" are those that run by default, "none" is none."""
    for name in names:
        if name not in (ALL, NONE):
            AUDITS.get(name)
    every = {
        name for name in AUDITS.names() if ALL in names and not getattr(AUDITS.get(name), "on_request", False)
    }
    return tuple(name for name in AUDITS.names() if name in every or name in names)


def audits_before_and_after(
    train: Instances,
    weights: Floats,
    names: Sequence[str],
    *,
    remake: Remake | None = None,
    shuffles: int = DRAWS,
    **options: Any,
) -> WeightedAudits:
    """Return what audits say about a train split with equal weights and with the weights of its examples.

    `remake` makes weights of the same kind from other labels: with it, shares are compared with what they are when
    labels say nothing, `shuffles` times (see `refitted_null`). Without it, the weights are taken as made from other
    rows. `options` go to every audit that has a parameter of that name.
    """
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    for name in names:
        kind: Any = AUDITS.get(name)
        parameters = {field.name for field in fields(kind)}
        if train.task not in kind.tasks:
            skipped[name] = f"it is not for {train.task} data"
            continue
        if "weights" not in parameters:
            skipped[name] = "it does not support weights"
            continue
        chosen = {key: value for key, value in (QUICK | options).items() if key in parameters}
        audit = partial(_measures, kind(**chosen, weights=WEIGHT))
        try:
            before = kind(**chosen).run(train).measures
            later = {measure.name: measure for measure in audit(train, weights)}
            expected = (
                references(train, remake, audit, draws=shuffles, seed=options.get("seed", 0))
                if remake is not None
                and shuffles > 1
                and any(above_chance(measure) is not None for measure in later.values())
                else {}
            )
        except (Skip, MissingExtraError) as reason:
            skipped[name] = str(reason)
            continue
        against = p_values(later, expected)
        rows += [
            {"audit": name, "measure": m.name, "label": m.label, "unit": m.unit, "worse": m.worse}
            | _numbers(m, "_before")
            | _numbers(later[m.name], "_after")
            | dict(zip(("expected_after", "p_after"), against.get(m.name, (None, None)), strict=True))
            for m in before
            if m.name in later and _worth_comparing(m)
        ]
    return WeightedAudits(pl.DataFrame(rows, schema=SCHEMA), skipped)


def _measures(audit: Any, train: Instances, weights: Floats) -> Sequence[Measure]:
    """Return the measures of an audit under weights of the examples."""
    measures: Sequence[Measure] = audit.run(
        train.with_columns(**{WEIGHT: pl.Series(weights[train.example_codes])})
    ).measures
    return measures


def _worth_comparing(measure: Measure) -> bool:
    """Return whether a measure may change with weights and is not said by another one; sizes stay as they are."""
    size = measure.unit == "count" and measure.worse == "neither"
    return not size and measure.unit not in LEFT_OUT


def _numbers(measure: Measure, when: str) -> dict[str, float | None]:
    return {f"{what}{when}": getattr(measure, what) for what in ("value", "low", "high", "chance")}


def _telling(row: Row) -> bool:
    """Return whether a shortcut was above chance, or is off what its weights lead to without a leak."""
    needed = ("low_before", "chance_before", "low_after", "high_after", "chance_after")
    if row["unit"] != "share" or row["worse"] != "higher" or any(row[name] is None for name in needed):
        return False
    above = row["low_before"] > row["chance_before"]
    if row["p_after"] is not None:
        return bool(above or row["p_after"] <= ALPHA)
    return bool(above or not row["low_after"] <= row["chance_after"] <= row["high_after"])


def _finding(section: str, row: Row) -> Finding:
    label = row["label"]
    text = (
        f"{label[0].upper()}{label[1:]} is {percent(row['value_before'])} with equal weights (chance "
        f"{percent(row['chance_before'])}) and {percent(row['value_after'])} with these weights (95 % CI "
        f"{percent(row['low_after'])} to {percent(row['high_after'])}, chance {percent(row['chance_after'])})."
    )
    expected, p = row["expected_after"], row["p_after"]
    if p is not None:
        differs = "differs significantly" if p <= ALPHA else "does not differ significantly"
        text += (
            f" With weights of this kind made from shuffled labels, it is {percent(expected)}; the value {differs} "
            f"(p = {p:.2g})."
        )
    elif row["high_after"] < row["chance_after"]:
        text += (
            " Weights that balance a dataset exactly can reduce it below chance: what predicts the label in some folds "
            "predicts the opposite in the others."
        )
    title = f"{label[0].upper()}{label[1:]} after reweighting"
    after = {name: row[f"{name}_after"] for name in ("value", "low", "high", "chance")}
    return Finding(section, "info", title, text, **after, key=row["measure"])
