"""Small cards to look at: a plain one, and one whose every text tries to break out of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Evidence, Finding
from cuecard.audits.cues.audit import cue_measures
from cuecard.audits.overview import overview_measures
from cuecard.card.card import Card, DatasetInfo, Provenance, Section, SplitInfo

LABELS = ("entailment", "neutral", "contradiction")

HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "\"><svg onload=document.title='broken'>",
    "{{7*7}} ${document.title='broken'} '+(document.title='broken')+'",
    "<!--<script>",
    "\u202edesrever \u2028 \u2029 \x1b[31m red",
    "datum['x'] \\u003cscript\\u003e",
)

CardMaker = Callable[..., Card]


@pytest.fixture(scope="session")
def make_card() -> CardMaker:
    """Build a card from features and labels; every number follows from their order."""
    return _make_card


def _make_card(
    features: Sequence[str] = ("nobody", "sleeping", "outside", "tall", "is sleeping", "the", "a"),
    labels: Sequence[str] = LABELS,
    *,
    task: str = "pair",
    name: str = "tiny",
    findings: Sequence[Finding] | None = None,
    sections: dict[str, Section] | None = None,
) -> Card:
    tables = {
        "cues": cue_table(features, labels),
        "label_balance": _label_balance(labels),
        "lengths": _lengths(labels),
        "duplicates": pl.DataFrame(
            {
                "premise": [features[0]],
                "hypothesis": [features[-1]],
                "labels": [", ".join(labels[:2])],
                "count": [2],
                "splits": ["train"],
            }
        ),
    }
    card = Card(
        dataset=DatasetInfo(
            name=name,
            task=task,  # type: ignore[arg-type]
            labels=list(labels),
            splits={
                "train": SplitInfo(examples=3000, instances=3000, labels=dict.fromkeys(labels, 1000)),
                "test": SplitInfo(examples=300, instances=300, labels=dict.fromkeys(labels, 100)),
            },
            fingerprint="b2:0123abcd",
            files=["tiny.parquet"],
            columns={"label": "gold"},
            dropped={"no label": 3},
        ),
        findings=list(findings) if findings is not None else [finding(features[0], labels[-1])],
        sections={
            "overview": Section(
                title="Overview",
                status="done",
                summary=_overview_summary(labels),
                measures=overview_measures(_overview_summary(labels)),
                tables=["label_balance", "lengths", "duplicates"],
            ),
            "cues": Section(
                title="Cues",
                status="done",
                parameters={"scope": "hypothesis", "min_count": 5},
                settled={"null": "binomial"},
                summary=_cues_summary(tables["cues"], labels),
                measures=cue_measures(_cues_summary(tables["cues"], labels)),
                tables=["cues"],
            ),
            **(sections or {}),
        },
        provenance=Provenance(
            created="2026-01-01T00:00:00Z",
            command="cuecard audit tiny.parquet",
            versions={"cuecard": "0.1.0"},
            seconds={"cues": 0.25},
        ),
    )
    card.attach(tables)
    return card


def finding(word: str, label: str, **changes: Any) -> Finding:
    """Return a finding about a word with one example."""
    values: dict[str, Any] = {
        "section": "cues",
        "severity": "high",
        "title": f"Cue for {label}: “{word}”",
        "text": f"Instances with {word} are mostly {label}.",
        "value": 0.814,
        "low": 0.788,
        "high": 0.837,
        "chance": 0.333,
        "n": 992,
        "counted": "instances",
        "evidence": [
            Evidence(
                example_id="train-7",
                split="train",
                label=label,
                premise=f"A man and {word} walk.",
                hypothesis=f"Here {word} walks.",
                highlight=[word],
            )
        ],
        "command": f"cuecard explain {word}",
    }
    return Finding(**(values | changes))


def cue_table(features: Sequence[str], labels: Sequence[str]) -> pl.DataFrame:
    """Return a table of cues, strongest first; the last third of the features is not significant."""
    n = len(features)
    rank = np.arange(n)
    train = 20 + 10 * (n - rank)
    share = 0.95 - 0.55 * rank / max(n - 1, 1)
    hits = np.round(train * share).astype(int)
    significant = rank < max(1, (2 * n) // 3)
    pointed = rank % len(labels)
    counts = {
        f"train_{label}": np.where(pointed == i, hits, (train - hits) // 2) for i, label in enumerate(labels)
    }
    counts |= {f"test_{label}": np.where(pointed == i, hits // 10, 1) for i, label in enumerate(labels)}
    return pl.DataFrame(
        {
            "family": ["bigram" if " " in feature else "word" for feature in features],
            "feature": list(features),
            "train_count": train,
            "test_count": hits // 10 + len(labels) - 1,
            "cueness": 20.0 - rank,
            "label": [labels[i] for i in pointed],
            "share": share,
            "share_low": share - 0.05,
            "share_high": share + 0.04,
            "lift": share * len(labels),
            "z": 30.0 - rank,
            "p_value": np.where(significant, 0.0, 0.5),
            "log10_p": np.where(significant, -400.0 + rank * (390 / n), -0.3),
            "q_value": np.where(significant, 0.0, 0.9),
            "mutual_information": np.full(n, 0.01),
            "significant": significant,
            "is_cue": significant,
            **counts,
        }
    )


def _label_balance(labels: Sequence[str]) -> pl.DataFrame:
    rows = [
        {"split": split, "label": label, "count": count, "share": 1 / len(labels)}
        for split, count in (("train", 1000), ("test", 100))
        for label in labels
    ]
    return pl.DataFrame(rows)


def _lengths(labels: Sequence[str]) -> pl.DataFrame:
    rows = [
        {"split": split, "label": label, "field": field, "tokens": tokens, "count": 40 + tokens}
        for split in ("train", "test")
        for label in labels
        for field in ("premise", "hypothesis")
        for tokens in range(1, 12)
    ]
    return pl.DataFrame(rows)


def _overview_summary(labels: Sequence[str]) -> dict[str, Any]:
    words = {"mean": 7.5, "median": 7.0, "p5": 3.0, "p95": 13.0, "max": 21.0}
    split = {
        "examples": 3000,
        "instances": 3000,
        "labels": dict.fromkeys(labels, 1000),
        "hypothesis_tokens": words,
        "premise_tokens": words,
        "empty_premise": 0,
        "empty_hypothesis": 2,
    }
    return {
        "splits": {"train": split, "test": split | {"examples": 300}},
        "duplicates": {"exact": 4, "normalised": 6},
        "conflicting_labels": 2,
        "overlap": {"pair": 1, "hypothesis": 30, "premise": 3, "sentence": 33, "test_examples": 300},
        "vocabulary": 812,
    }


def _cues_summary(cues: pl.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    significant = int(cues["significant"].sum())
    family = {"features": cues.height, "significant": significant, "cues": significant, "skipped": None}
    nothing = {"features": 0, "significant": 0, "cues": 0, "skipped": "no parser is installed"}
    return {
        "features": cues.height,
        "significant": significant,
        "cues": significant,
        "families": {"word": family, "tense": nothing},
        "prior": dict.fromkeys(labels, 1 / len(labels)),
        "alpha": 0.05,
        "null": "binomial",
        "tokens": "default",
        "scope": "hypothesis",
        "min_count": 5,
    }


@pytest.fixture(scope="session")
def card() -> Card:
    """A plain card with both sections, one skipped, one failed and one unknown to the report."""
    plug_in = Section(
        title="My audit", status="done", summary={"accuracy": 0.731, "nested": {"n": 12}, "items": [1, 2]}
    )
    return _make_card(
        sections={
            "my_audit": plug_in,
            "partial_input": Section(
                title="Partial input", status="skipped", reason="there is no test split"
            ),
            "pair_graph": Section(title="Pair graph", status="failed", reason="ValueError: no pairs"),
        }
    )


@pytest.fixture(scope="session")
def hostile_card() -> Card:
    """A card whose features, labels, names, examples and reasons all carry attacks."""
    labels = ["a.b[0]", 'it\'s "quoted"', HOSTILE[0]]
    evil = " ".join(HOSTILE)
    sections = {
        "x": Section(title=HOSTILE[1], status="failed", reason=evil),
        "y": Section(title=HOSTILE[2], status="done", summary={HOSTILE[0]: evil}),
    }
    findings = [finding(text, HOSTILE[0]) for text in HOSTILE]
    return _make_card(HOSTILE, labels, name=HOSTILE[0], findings=findings, sections=sections)
