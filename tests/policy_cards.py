"""Small cards with chosen measures and findings, for tests of policies."""

from __future__ import annotations

import polars as pl

from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, DatasetInfo, Provenance, Section, SplitInfo


def excess(value: float, half: float, n: int = 500, name: str = "hypothesis_only") -> Measure:
    """The points of a shortcut above chance, with an interval of that half width."""
    return Measure(
        f"partial_input.{name}.excess", value, value - half, value + half, 0.0, n, "points", "higher", f"{name} gain",
        solved=f"solved_{name}",
    )  # fmt: skip


def finding(key: str, low: float, value: float, high: float, severity: str, section: str = "cues") -> Finding:
    """A finding about a share with chance 0.5 over the whole dataset."""
    return Finding(
        id=f"{section}/{key}", section=section, severity=severity, title=f"About {key}", text="It is so.",
        value=value, low=low, high=high, chance=0.5, n=500,
    )  # fmt: skip


def card_with(
    *measures: Measure,
    findings: tuple[Finding, ...] = (),
    task: str = "pair",
    skipped: tuple[str, ...] = (),
    examples: pl.DataFrame | None = None,
) -> Card:
    """A card with these measures by section; `cues` is always there."""
    names = dict.fromkeys(["cues", *(m.section for m in measures)])
    sections = {
        name: Section(title=name, status="done", measures=[m for m in measures if m.section == name])
        for name in names
    }
    sections |= {name: Section(title=name, status="skipped", reason="needs more") for name in skipped}
    labels = ["right", "wrong"] if task == "choice" else ["no", "yes"]
    split = SplitInfo(examples=10, instances=10, labels=dict.fromkeys(labels, 5))
    dataset = DatasetInfo(name="tiny", task=task, labels=labels, splits={"train": split}, fingerprint="f00d")
    card = Card(dataset=dataset, findings=list(findings), sections=sections, provenance=Provenance())
    card.attach({} if examples is None else {"examples": examples})
    return card
