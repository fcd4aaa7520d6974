"""The sentences of the cluster audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from cuecard.analysis import Evidence, Finding, Summary, severity_of
from cuecard.data import Instances
from cuecard.stats import format_p
from cuecard.wording import listed, percent, plural

#: A cluster gets a sentence if the lower end of its label's share is this far above the prior.
NOTABLE_GAIN = 0.10
MOST_FINDINGS = 6
EXAMPLES_PER_FINDING = 3
WORDS_IN_TITLE = 3
#: A verdict is hedged unless this share of the clusterings supports it by itself.
MOST_STARTS = 0.75
#: A cluster with a third of all sentences is what is left over, not a region.
GIANT = 1 / 3
#: The key of the finding about all clusters together.
OVERALL = "all-clusters"


def notable(clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the clusters that lean to a label significantly and by enough to matter, what gives most away first.

    `given_away` is the part of what chance leaves that a cluster surely gives away, over all texts.
    """
    distance = pl.col("share_low") - pl.col("prior")
    away = pl.col("size") / pl.col("size").sum() * distance / (1 - pl.col("prior"))
    leaning = clusters.with_columns(given_away=away).filter(
        pl.col("significant") & (distance >= NOTABLE_GAIN)
    )
    return leaning.sort("given_away", descending=True, maintain_order=True)


def cluster_findings(
    data: Instances,
    clusters: pl.DataFrame,
    examples: pl.DataFrame,
    summary: Summary,
    *,
    scope: str,
    alpha: float,
) -> list[Finding]:
    """Return a verdict over all clusters, then the clusters that lean most, named by their words."""
    leaning = notable(clusters)
    findings = [_verdict(data, clusters, leaning, summary, scope, alpha)]
    if summary["p_value"] > alpha:
        return findings
    premises = _premises(data, examples)
    for row in leaning.head(MOST_FINDINGS).iter_rows(named=True):
        shown = examples.filter(
            (pl.col("cluster") == row["cluster"]) & (pl.col("label") == row["label"])
        ).head(EXAMPLES_PER_FINDING)
        finding = _cluster(row, shown, premises, data, scope, int(clusters["size"].sum()))
        findings.append(replace(finding, q_value=max(row["q_value"], summary["p_value"])))
    return [_of_the_task(finding) for finding in findings] if data.task == "text" else findings


def texts_named(data: Instances, scope: str) -> tuple[str, str]:
    """Return what the clustered texts are called, one and many."""
    if scope == "both":
        return "input", "inputs"
    if scope == "premise":
        return ("prompt", "prompts") if data.task == "preference" else ("premise", "premises")
    one = {"choice": "choice", "preference": "response", "text": "text"}.get(data.task, "hypothesis")
    return one, {"hypothesis": "hypotheses"}.get(one, f"{one}s")


def _verdict(
    data: Instances,
    clusters: pl.DataFrame,
    leaning: pl.DataFrame,
    summary: Summary,
    scope: str,
    alpha: float,
) -> Finding:
    total = int(clusters["size"].sum())
    _, many = texts_named(data, scope)
    measured = (
        f"PECO is {summary['peco_exact_l2']:z.2f}; with shuffled labels it is {summary['null_mean']:z.2f} "
        f"(p = {format_p(math.log10(summary['p_value']))}, mean of {plural(summary['starts'], 'clustering')})"
    )
    caveats = disagreement(summary, alpha) + giant_cluster(summary, many)
    if summary["p_value"] > alpha:
        # Sets that repeat each text with every label (counterfactual or symmetric ones) are flatter than chance.
        spread = (
            "is more even than with shuffled labels"
            if summary["peco_exact_l2"] < summary["null_low"]
            else "does not differ from shuffled labels"
        )
        text = f"In {summary['k']} clusters of {many}, the label distribution {spread}. {measured}."
        clearly = "" if clusterings_agree(summary, alpha) else "clearly "
        title = f"No cluster of {many} is {clearly}associated with a label"
        return Finding(
            "clusters", "info", title, text + caveats, value=0.0, n=total, key=OVERALL, counted="instances",
            q_value=summary["p_value"],
        )  # fmt: skip
    touched = int(leaning["size"].sum()) / total
    grade = severity_of(float(leaning["given_away"].sum()))
    text = f"{measured}, an excess of {summary['excess']:z.2f}."
    if leaning.height:
        names = [f"“{', '.join(w.split(', ')[:WORDS_IN_TITLE])}”" for w in leaning["words"].head(2)]
        text += (
            f" In {leaning.height} of {plural(summary['k'], 'cluster')} ({percent(touched)} of the {many}), the share "
            f"of a label is above chance by at least {100 * NOTABLE_GAIN:.0f} points, such as {listed(names)}."
        )
    else:
        text += (
            f" In no single cluster is a label share above chance by {100 * NOTABLE_GAIN:.0f} points or more."
        )
    title = f"Clusters of {many} predict the label"
    if not clusterings_agree(summary, alpha):
        grade, title = "low", f"Clusters of {many} may predict the label; the clusterings disagree"
    return Finding(
        "clusters", grade, title, text + caveats, value=touched, n=total, key=OVERALL, counted="instances",
        q_value=summary["p_value"],
    )  # fmt: skip


def clusterings_agree(summary: Mapping[str, Any], alpha: float) -> bool:
    """Return whether most starts of k-means, each by itself, say what all of them together say."""
    share = float(summary["starts_significant"] / summary["starts"])
    return share >= MOST_STARTS if summary["p_value"] <= alpha else share <= 1 - MOST_STARTS


def disagreement(summary: Mapping[str, Any], alpha: float) -> str:
    """Return a sentence about the starts of k-means that say otherwise than all together; empty if none does."""
    alone, starts = summary["starts_significant"], summary["starts"]
    if alone == (starts if summary["p_value"] <= alpha else 0):
        return ""
    excesses = summary["excess_by_start"]
    return (
        f" The clusterings differ: {alone} of {starts} {'is' if alone == 1 else 'are'} significant, and the excess "
        f"ranges from {min(excesses):z.2f} to {max(excesses):z.2f}."
    )


def giant_cluster(summary: Mapping[str, Any], many: str) -> str:
    """Return a warning if one cluster holds so much of the set that it is no region of meaning; else nothing."""
    if summary["largest_cluster"] < GIANT:
        return ""
    other = " Try --embed minilm." if summary["embedding"] == "tfidf" else ""
    return (
        f" One cluster contains {percent(summary['largest_cluster'], 0)} of the {many}: the embedding hardly "
        f"distinguishes them, and a leak among them would not show.{other}"
    )


def _cluster(
    row: Summary,
    shown: pl.DataFrame,
    premises: Mapping[tuple[str, int], tuple[str, str]],
    data: Instances,
    scope: str,
    total: int,
) -> Finding:
    share, low, high, prior = (float(row[c]) for c in ("share", "share_low", "share_high", "prior"))
    size, label = int(row["size"]), str(row["label"])
    one, many = texts_named(data, scope)
    words = str(row["words"]).split(", ") if row["words"] else []
    named = ", ".join(words[:WORDS_IN_TITLE]) or f"cluster {row['cluster']}"
    evidence = []
    for example in shown.iter_rows(named=True):
        premise, hypothesis = premises[example["example_id"], example["position"]]
        evidence.append(
            Evidence(
                example_id=example["example_id"],
                split=example["split"],
                label=label,
                hypothesis=hypothesis,
                premise=premise,
                highlight=tuple(words),
            )
        )
    return Finding(
        "clusters",
        severity_of(row["given_away"]),
        f"Cluster that predicts {f'{label} {many}' if data.grouped else label}: {named}",
        f"In the cluster of “{', '.join(words) or named}”, {percent(share)} of the {plural(size, one, many)} are "
        f"{label} (95 % CI {percent(low)} to {percent(high)}); chance is {percent(prior)}."
        + (f" They have {plural(int(row['texts']), 'distinct text')}." if row["texts"] < size else ""),
        share,
        low,
        high,
        prior,
        size,
        tuple(evidence),
        label=label,
        key=", ".join(words) or named,
        counted="instances",
        coverage=size / total,
        words=tuple(words),
    )


def _of_the_task(finding: Finding) -> Finding:
    """Return the finding as information: regions of what texts say are what a text task is about."""
    return replace(finding, severity="info")


def _premises(data: Instances, examples: pl.DataFrame) -> dict[tuple[str, int], tuple[str, str]]:
    """Return the texts of the shown instances by example and position."""
    wanted = data.table.with_columns(pl.col("example_id").cast(pl.String)).join(
        examples.select("example_id", "position").unique(), on=["example_id", "position"], how="semi"
    )
    rows = wanted.select("example_id", "position", "premise", "hypothesis").iter_rows()
    return {(example, position): (first or "", second or "") for example, position, first, second in rows}
