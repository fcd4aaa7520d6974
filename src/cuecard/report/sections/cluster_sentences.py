"""The sentences of the cluster section: what was done, what it says, what was asked for beside it."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard.audits.clusters.confidence import BIASED
from cuecard.audits.clusters.findings import clusterings_agree, disagreement, giant_cluster
from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.wording import listed

_EMBEDDINGS = {"tfidf": "the words they share (TF-IDF)", "minilm": "MiniLM sentence vectors"}
_TEXTS = {"pair": "hypotheses", "choice": "choices", "preference": "answers", "text": "texts"}


def texts_looked_at(card: Card, summary: dict[str, Any]) -> str:
    """Return what the clustered texts are called."""
    scope = summary["scope"]
    if scope == "hypothesis":
        return _TEXTS[card.dataset.task]
    return "premises" if scope == "premise" else "inputs"


def made(card: Card, summary: dict[str, Any]) -> str:
    """Return what was clustered, by what, and what to expect of it."""
    texts = texts_looked_at(card, summary)
    by = _EMBEDDINGS.get(summary["embedding"], f"vectors of {summary['embedding']}")
    return (
        f"The {numbers.count(summary['instances'])} {texts} of {summary['split']} were grouped by {by} into "
        f"{summary['k']} clusters without looking at the labels. In a set whose {texts} alone tell nothing, every "
        "cluster has the labels of the whole."
    )


def cluster_verdict(card: Card, summary: dict[str, Any]) -> str:
    """Return whether the labels of the clusters differ, as surely as the clusterings agree."""
    chance = f"{summary['null_mean']:.2f} with shuffled labels"
    caveats = disagreement(summary, summary["alpha"]) + giant_cluster(summary, texts_looked_at(card, summary))
    if summary["p_value"] > summary["alpha"]:
        return (
            f"That holds here: the PECO score is {summary['peco_exact_l2']:.2f}, against {chance}.{caveats}"
        )
    differing = summary["significant_clusters"]
    which = (
        f"and {numbers.plural(differing, 'cluster')} of {summary['k']} {'differs' if differing == 1 else 'differ'} "
        "from the whole beyond chance"
        if differing
        else f"though none of the {summary['k']} clusters shown stands out alone"
    )
    return (
        f"{'Here they differ' if clusterings_agree(summary, summary['alpha']) else 'Here they may differ'}: the PECO "
        f"score is {summary['peco_exact_l2']:.2f} against {chance}, {which}.{caveats}"
    )


def asked_for(card: Card, section: Section) -> list[str]:
    """Return what became of texts that were changed, and of training dynamics, where they were asked for."""
    said = []
    if "cluster_transformations" in section.tables:
        original, *changed = card.tables["cluster_transformations"].iter_rows(named=True)
        excesses = [
            f"{row['excess']:.2f} with {row['transformation'].replace('_', ' ')}"
            + ("" if row["p_value"] <= section.summary["alpha"] else " (not significant)")
            for row in changed
        ]
        said.append(
            f"On changed texts, the excess over shuffled labels is {listed(excesses)}; as they are, it is "
            f"{original['excess']:.2f}."
        )
    if "cluster_confidence" in section.tables:
        said.append(_confidence(card.tables["cluster_confidence"]))
    return said


def _confidence(histogram: pl.DataFrame) -> str:
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return f"In training: no cluster diverges by more than {BIASED}, so none is set against the others."
    sure = histogram.filter(pl.col("low") >= 0.5 - 1e-9)
    share = {name: numbers.percent(float(sure[f"{name}_share"].sum())) for name in ("biased", "other")}
    return (
        f"In training, the confidence in the gold label was at least 50 % for {share['biased']} of the "
        f"{numbers.count(inside)} examples in clusters that diverge by more than {BIASED}, and for "
        f"{share['other']} of the {numbers.count(outside)} others."
    )


def notes(summary: dict[str, Any]) -> list[str]:
    """Return how the numbers were made."""
    shuffled = (
        "Labels were shuffled within each example, so that one of its choices stays right."
        if summary["null"] == "within-example"
        else "Labels were shuffled over all sentences."
    )
    excesses = summary["excess_by_start"]
    starts = numbers.plural(summary["starts"], "start")
    return [
        f"Number of clusters: {summary['why_k']}. Scores are means over {starts} of k-means, whose excesses go from "
        f"{min(excesses):.2f} to {max(excesses):.2f}; {summary['starts_significant']} of {starts} "
        f"{'is' if summary['starts_significant'] == 1 else 'are'} significant alone. Map, curve and tables show the "
        f"tightest clustering. {shuffled} Each shuffle is scored with every clustering, so the p-value holds for all "
        "of them together.",
        f"The score as the authors' program computes it is {summary['peco_released_l2']:.1f} (L2; 5.0 where no "
        f"cluster leans) and {summary['peco_released_kl']:.1f} (KL divergence).",
    ]


def confidence_caption(histogram: pl.DataFrame) -> str:
    """Return whose confidence the two histograms show."""
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return (
            f"No cluster diverges by more than {BIASED}, so all {numbers.count(outside)} examples are grey."
        )
    return (
        f"Blue: the {numbers.count(inside)} examples of clusters that diverge by more than {BIASED}. Grey: the "
        f"{numbers.count(outside)} others. Each adds up to 100 %."
    )


def sweep_caption(sweep: pl.DataFrame) -> str:
    """Return what a cell of the heat map is."""
    others, headline = sweep.filter(~pl.col("headline")), sweep.filter("headline")
    text = "Excess over shuffled labels; n.s. = not significant. "
    if others.height:
        text += f"Each cell is the mean of {numbers.plural(others['starts'][0], 'start')} of k-means"
    if headline.height:
        text += f"{', the' if others.height else 'The'} framed one that of the {headline['starts'][0]} above"
    merged = " A number in brackets says how many clusters were left after small ones were merged."
    return f"{text}.{merged if (sweep['clusters'] < sweep['k']).any() else ''}"
