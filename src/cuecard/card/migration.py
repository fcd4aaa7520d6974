"""Cards of older schemas, brought to the present one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cuecard.analysis import Finding

#: Versions that can still be read.
READABLE = ("1",)


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """Return a card of schema 1 as one of schema 2: its sections get measures and its findings ids.

    The measures are derived from the summaries by the analyses themselves. Where that is not possible, a note says
    which sections have none. A document that is no card is returned as it is, for the reader to refuse.
    """
    sections = document.get("sections", {})
    if not isinstance(sections, dict) or not all(isinstance(section, dict) for section in sections.values()):
        return document
    new, missing = {}, []
    for name, section in sections.items():
        about, measures = _derived(name, section)
        new[name] = section | {"about": about, "measures": measures or []}
        if measures is None:
            missing.append(name)
    moved = document | {"cuecard": "2", "sections": new}
    if isinstance(findings := document.get("findings"), list):
        moved["findings"] = [_identified(finding) for finding in findings]
    if missing and isinstance(dataset := document.get("dataset"), dict):
        note = (
            f"The card was written by an earlier version, and {', '.join(missing)} have no measures to compare: "
            "audit the data again."
        )
        moved["dataset"] = dataset | {"notes": [*dataset.get("notes", []), note]}
    return moved


def _derived(name: str, section: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]] | None]:
    """Return what a section is about and its measures; None where they cannot be derived."""
    kind = _analysis(name)
    about = getattr(kind, "about", "data")
    if section.get("status") != "done":
        return about, []
    measured = getattr(kind, "measured", None)
    if measured is None:
        return about, None
    try:
        return about, [asdict(measure) for measure in measured(section.get("summary", {}))]
    except (KeyError, TypeError, ValueError, AttributeError):
        return about, None


def _analysis(name: str) -> Any:
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    kinds: list[Any] = [*AUDITS, *PROBES, *REMEDIES]
    return next((kind for kind in kinds if kind.name == name), None)


def _identified(finding: Any) -> Any:
    """Return a finding with its id and role; titles tell apart those that are not about a cue."""
    if not isinstance(finding, dict) or finding.get("id"):
        return finding
    parts = {name: str(finding.get(name, "")) for name in ("section", "title", "cue", "label")}
    made = Finding(
        parts["section"],
        "info",
        parts["title"],
        "",
        cue=parts["cue"],
        label=parts["label"],
        key=parts["title"],
    )
    role = "flaw" if parts["section"] == "overview" else "cue"  # schema 1 did not say which it was
    return finding | {"id": made.id, "role": role}
