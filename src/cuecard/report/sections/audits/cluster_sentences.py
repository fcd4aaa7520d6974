"""The sentences of the cluster section: what was done, the result, and optional comparisons."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard import wording
from cuecard.audits.clusters.external_clusters import BIASED
from cuecard.audits.clusters.findings import clusterings_agree, disagreement, giant_cluster
from cuecard.card.card import Card, Section
from cuecard.wording import listed

_EMBEDDINGS = {"tfidf": "the words they share (TF-IDF)", "minilm": "MiniLM sentence vectors"}
_SPLITS = {"train": "training set", "test": "test set", "dev": "dev set"}
_TEXTS = {"pair": "hypotheses", "choice": "choices", "preference": "responses", "text": "texts"}


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
        f"The {wording.count(summary['instances'])} {texts} of the {_SPLITS.get(summary['split'], summary['split'])} "
        f"are grouped into {summary['k']} clusters by {by}, without the labels. If {texts} do not predict the label, "
        "every cluster has the label distribution of the whole set."
    )


def cluster_verdict(card: Card, summary: dict[str, Any]) -> str:
    """Return whether the labels of the clusters differ, as surely as the clusterings agree."""
    chance = f"{summary['null_mean']:z.2f} with shuffled labels"
    caveats = disagreement(summary, summary["alpha"]) + giant_cluster(summary, texts_looked_at(card, summary))
    if summary["p_value"] > summary["alpha"]:
        return f"This is the case here: the PECO score is {summary['peco_exact_l2']:z.2f}, and {chance}.{caveats}"
    differing = summary["significant_clusters"]
    which = (
        f"{differing} of {wording.plural(summary['k'], 'cluster')} {'differs' if differing == 1 else 'differ'} "
        "significantly from the whole set"
        if differing
        else f"none of the {summary['k']} clusters shown is significant by itself"
    )
    return (
        f"Here the clusters {'differ' if clusterings_agree(summary, summary['alpha']) else 'may differ'}: the PECO "
        f"score is {summary['peco_exact_l2']:z.2f}, and {chance}; {which}.{caveats}"
    )


def comparisons(card: Card, section: Section) -> list[str]:
    """Return the results on changed texts and with training dynamics, if the card has them."""
    sentences = []
    if "cluster_transformations" in section.tables:
        original, *changed = card.tables["cluster_transformations"].iter_rows(named=True)
        excesses = [
            f"{row['excess']:z.2f} with {row['transformation'].replace('_', ' ')}"
            + ("" if row["p_value"] <= section.summary["alpha"] else " (not significant)")
            for row in changed
        ]
        sentences.append(
            f"On the original texts, the excess over shuffled labels is {original['excess']:z.2f}; on changed texts "
            f"it is {listed(excesses)}."
        )
    if "cluster_confidence" in section.tables:
        sentences.append(_confidence(card.tables["cluster_confidence"]))
    return sentences


def _confidence(histogram: pl.DataFrame) -> str:
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return f"No cluster diverges by more than {BIASED}, so training confidence is not compared."
    sure = histogram.filter(pl.col("low") >= 0.5 - 1e-9)
    share = {name: wording.percent(float(sure[f"{name}_share"].sum())) for name in ("biased", "other")}
    return (
        f"The training confidence in the gold label is at least 50 % for {share['biased']} of the "
        f"{wording.count(inside)} examples in clusters that diverge by more than {BIASED}, and for "
        f"{share['other']} of the {wording.count(outside)} other examples."
    )


def notes(summary: dict[str, Any]) -> list[str]:
    """Return how the numbers were made."""
    shuffled = (
        "Labels are shuffled within each example, so that each example keeps one correct text."
        if summary["null"] == "within-example"
        else "Labels are shuffled over all sentences."
    )
    excesses = summary["excess_by_start"]
    starts = wording.plural(summary["starts"], "start")
    return [
        f"Number of clusters: {summary['why_k']}. Scores are means over {starts} of k-means. Their excess ranges from "
        f"{min(excesses):z.2f} to {max(excesses):z.2f}; {summary['starts_significant']} of {starts} "
        f"{'is' if summary['starts_significant'] == 1 else 'are'} significant. Map, curve and tables show "
        f"the clustering with the lowest inertia. {shuffled} Each shuffle is scored with every clustering, so the "
        "p-value is valid for all of them together.",
        f"The score computed like the authors' released code is {summary['peco_released_l2']:z.1f} (L2; 5.0 if no "
        f"cluster is biased) and {summary['peco_released_kl']:z.1f} (KL divergence).",
    ]


def confidence_caption(histogram: pl.DataFrame) -> str:
    """Return whose confidence the two histograms show."""
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return (
            f"No cluster diverges by more than {BIASED}, so all {wording.count(outside)} examples are grey."
        )
    return (
        f"Blue: the {wording.count(inside)} examples in clusters that diverge by more than {BIASED}. Grey: the "
        f"{wording.count(outside)} other examples. Each group sums to 100 %."
    )


def sweep_caption(sweep: pl.DataFrame) -> str:
    """Return what a cell of the heat map is."""
    others, headline = sweep.filter(~pl.col("headline")), sweep.filter("headline")
    text = "Excess over shuffled labels; n.s. = not significant. "
    if others.height:
        text += f"Each cell is the mean over {wording.plural(others['starts'][0], 'start')} of k-means"
    if headline.height:
        text += f"{'; the' if others.height else 'The'} framed cell is the mean over the {headline['starts'][0]} above"
    merged = " The tooltip has the number of clusters after merging small ones."
    return f"{text}.{merged if (sweep['clusters'] < sweep['k']).any() else ''}"
