"""The table of cues made ready to be shown: which rows, with the test share beside the train share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cuecard.card.card import Section

#: A chart carries at most this many points; a table at most this many rows.
MOST_POINTS = 2000
MOST_ROWS = 500
_NOT_SIGNIFICANT_POINTS = 500

#: Families whose features are words of the text, so that one can repeat what another says.
_MADE_OF_WORDS = frozenset({"word", "bigram", "trigram", "4-gram"})


def with_test_share(cues: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the cues with `test_share`: how often the label a feature points to holds in test, too.

    Of questions only those count whose choices differ in the feature; a share that would count the others is missing.
    """
    if "direction" not in cues.columns:  # a card of an earlier version, or of a plug-in
        cues = cues.with_columns(direction=pl.lit("points to"), train_texts="train_count")
    counted = [label for label in labels if f"test_{label}" in cues.columns]
    if "test_count" not in cues.columns or not counted:
        missing = pl.lit(None, dtype=pl.Int64)
        return cues.with_columns(test_count=missing, test_share=missing.cast(pl.Float64))
    hits = pl.coalesce(
        *(
            pl.when(pl.col("label").cast(pl.String) == label).then(pl.col(f"test_{label}"))
            for label in counted
        )
    )
    share = pl.when(pl.col("test_count") > 0).then(hits / pl.col("test_count"))
    if not {"again_n", "again_share", "share_n"} <= set(cues.columns):
        return cues.with_columns(test_share=share)
    within = (
        pl.col("share_n") != pl.col("train_count")
    ).any()  # shares of examples that differ in the feature
    of_questions = pl.col("again_n").is_not_null() & within
    return cues.with_columns(
        test_count=pl.when(of_questions)
        .then(pl.col("again_n").round().cast(pl.Int64))
        .otherwise("test_count"),
        test_share=pl.when(within).then("again_share").otherwise(share),
    )


def compared(row: Mapping[str, Any]) -> float:
    """Return how many training instances the share of a cue is of.

    Of choices and responses, these are the instances with the feature in examples whose answers differ in it.
    """
    n = row.get("share_n")
    return float(row["train_count"] if n is None else n)


def sample_for_map(cues: pl.DataFrame) -> pl.DataFrame:
    """Return at most `MOST_POINTS` cues: the strongest significant ones, and others for contrast."""
    if cues.height <= MOST_POINTS:
        return cues
    significant = cues.filter("significant")
    others = cues.filter(~pl.col("significant"))
    kept_others = min(others.height, max(_NOT_SIGNIFICANT_POINTS, MOST_POINTS - significant.height))
    step = max(1, -(-others.height // max(kept_others, 1)))
    return pl.concat([significant.head(MOST_POINTS - kept_others), others.gather_every(step)])


def strongest(cues: pl.DataFrame, label: str, top: int) -> pl.DataFrame:
    """Return the strongest significant cues of a label, each saying something the ones before it do not.

    Cues seen often enough in test are preferred; "is sleeping" after "sleeping" is left out, and so is a cue
    that the audit put into the group of an earlier one.
    """
    of_label = cues.filter((pl.col("label").cast(pl.String) == label) & pl.col("significant"))
    if "direction" in cues.columns:
        of_label = of_label.filter(pl.col("direction") == "points to")
    if "by_length" in cues.columns:
        of_label = of_label.filter(~pl.col("by_length"))
    if "group" in cues.columns:
        of_label = of_label.filter(pl.col("group").is_null() | pl.col("group").is_first_distinct())
    listed = of_label.filter("is_cue")
    candidates = (listed if listed.height >= min(3, of_label.height) else of_label).head(20 * top)
    kept = saying_something_new(candidates["family"].to_list(), candidates["feature"].to_list())
    return candidates[kept[:top]]


def saying_something_new(families: Sequence[str], features: Sequence[str]) -> list[int]:
    """Return the positions of features whose words do not include, or lie within, those of an earlier one."""
    shown: list[set[str]] = []
    kept = []
    for i, (family, feature) in enumerate(zip(families, features, strict=True)):
        words = set(feature.split()) if family in _MADE_OF_WORDS else set()
        if words and any(words <= other or other <= words for other in shown):
            continue
        kept.append(i)
        if words:
            shown.append(words)
    return kept


def reason_not_tested(section: Section, family: str) -> str:
    """Return why a family of features was left out of the cue audit; nothing where it was counted."""
    return (section.summary.get("families", {}).get(family) or {}).get("skipped") or ""


def fewest_instances(section: Section) -> int:
    """Return in how many training instances a feature must occur to be tested."""
    return int(section.summary.get("min_count", 1))


def prior_of(section: Section) -> Mapping[str, float]:
    """Return the chance level of every label."""
    prior: Mapping[str, float] = section.summary.get("prior", {})
    return prior


def critical_p(section: Section, cues: pl.DataFrame) -> float:
    """Return the p-value at which significance begins: the largest significant one, otherwise Bonferroni's."""
    significant: Any = cues.filter("significant")["log10_p"].max()
    if significant is not None:
        return float(10.0**significant)
    tests = max(1, cues.height * max(1, len(prior_of(section))))
    return float(section.summary.get("alpha", 0.05)) / tests
