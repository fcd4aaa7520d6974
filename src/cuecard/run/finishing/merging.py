"""Findings that say the same thing in several ways are one finding with parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cuecard.analysis import Finding, most_serious_first


def merged_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, most serious first, with those about the words of a more serious one as its parts.

    A cluster named by a word, or a longer phrase that holds it, leads to the same label as the word itself: whatever
    gives more away is told, the others are listed with it. A finding that names no words stays as it is.

    >>> word = Finding("cues", "low", "Cue for c: “nobody”", "…", 0.9, 0.8, 0.95, 0.3, coverage=0.1,
    ...                label="c", words=("nobody",))
    >>> region = Finding("clusters", "low", "Cluster that predicts c: nobody, empty", "…", 0.8, 0.7, 0.9, 0.3,
    ...                  coverage=0.02, label="c", words=("nobody", "empty"))
    >>> [(finding.title, finding.parts) for finding in merged_findings([region, word])]
    [('Cue for c: “nobody”', ('Cluster that predicts c: nobody, empty',))]
    """
    merged: list[Finding] = []
    for finding in most_serious_first(findings):
        place = next((i for i, told in enumerate(merged) if _same_thing(told, finding)), None)
        if place is None:
            merged.append(finding)
        else:
            told = merged[place]
            merged[place] = replace(told, parts=(*told.parts, finding.title, *finding.parts))
    return merged


def _same_thing(told: Finding, finding: Finding) -> bool:
    """Return whether a finding is about the words, or one of the first words, of one told before it."""
    if not (told.words and finding.words):
        return False
    if told.label and finding.label and told.label != finding.label:  # a rule over all labels has none
        return False
    if told.severity == "info" or finding.severity == "info":
        return False
    shorter, longer = sorted((set(told.words), set(finding.words)), key=len)
    return shorter <= longer
