"""The sentences of the audit of concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from cuecard.analysis import Finding, Result, Severity, Summary
from cuecard.audits.cues.overall import ALL_FEATURES, NOT_REPLICATED
from cuecard.data import Instances
from cuecard.models.discovered_concepts import ConceptFamily
from cuecard.wording import percent, plural, probability

SECTION = "concepts"
#: What to name the bits of every input in a sentence.
INPUTS = {
    "concepts": "concepts",
    "clusters": "clusters of the same embedding",
    "words": "words",
    "words_and_concepts": "words and concepts together",
}


def concept_findings(
    told: Sequence[Finding], table: pl.DataFrame, summary: Summary, tested: Instances
) -> list[Finding]:
    """Return the findings of the cue audit of the concepts as those of concepts, with what each adds to words.

    A concept that adds nothing to length and to the strongest words is of low severity: these words may be the cue.
    """
    rows = {row["concept"]: row for row in table.iter_rows(named=True)}
    findings = []
    for finding in told:
        if finding.key == ALL_FEATURES:
            findings.append(_overall(finding, summary))
        elif finding.key == NOT_REPLICATED:
            title = "Some concepts do not hold in the test set"
            text = finding.text.replace("strong cue", "strong concept")
            findings.append(replace(finding, section=SECTION, title=title, text=text))
        elif finding.cue:
            row = rows[finding.cue.partition(":")[2]]
            findings.append(_concept(finding, row, summary))
    return findings


def _overall(finding: Finding, summary: Summary) -> Finding:
    significant, beyond = summary["significant"], summary["beyond_words"]
    alpha = summary["alpha"]
    found = (
        f"{plural(summary['tested'], 'concept')} found in {plural(summary['texts_found_on'], 'text')} of one half of "
        f"the training set {'was' if summary['tested'] == 1 else 'were'} tested on the "
        f"{plural(summary['texts_tested_on'], 'text')} of the other half"
    )
    if not significant:
        title = "No discovered concept predicts the label"
        text = f"{found}: none is associated with the label (q ≤ {alpha:g})."
        severity: Severity = "info"
    else:
        title = "Discovered concepts predict the label"
        text = (
            f"{found}: {significant} {'is' if significant == 1 else 'are'} associated with a label (q ≤ {alpha:g}), "
            f"and {beyond} of them {'adds' if beyond == 1 else 'add'} to what length and the "
            f"{summary['strongest_words']} strongest words predict."
        )
        severity = finding.severity if beyond else _at_most_low(finding.severity)
        if finding.value and "weakly" in finding.title:
            title = "Discovered concepts are only weakly associated with the label"
    value, low, high = summary["bits"]["concepts"]
    text += (
        f" Together they explain {value:z.3f} bits of the label (95 % CI {low:z.3f} to {high:z.3f}) of texts that the "
        f"model has not seen; words explain {summary['bits']['words'][0]:z.3f} bits, and both "
        f"{summary['bits']['words_and_concepts'][0]:z.3f} bits."
    )
    return replace(finding, section=SECTION, severity=severity, title=title, text=text)


def _concept(finding: Finding, row: Summary, summary: Summary) -> Finding:
    """Return the finding of one concept, named by its words and highlighting them."""
    words = tuple(row["words"].split(", ")) if row["words"] else ()
    title = finding.title.replace("Cue ", "Concept ", 1).replace(
        ConceptFamily.phrase.format(row["concept"]), row["concept"]
    )
    q = probability(row["q_given_words"])
    given = f" Given length and the {summary['strongest_words']} strongest words, it is"
    if row["beyond_words"]:
        adds = f"{given} still significant (q = {q})."
    else:
        adds = f"{given} not significant (q = {q}): words may say all of it."
    beside = " A choice has it or not beside the other choices of its example." if row["relative"] else ""
    return replace(
        finding,
        section=SECTION,
        severity=finding.severity if row["beyond_words"] else _at_most_low(finding.severity),
        title=title,
        text=f"{finding.text}{adds}{beside}",
        evidence=tuple(replace(one, highlight=words) for one in finding.evidence),
    )


def _at_most_low(severity: Severity) -> Severity:
    return "low" if severity in ("high", "medium") else severity


def with_descriptions(findings: Sequence[Finding], descriptions: pl.DataFrame) -> list[Finding]:
    """Return the findings with what a model says of the concepts, where unseen texts agree with it."""
    rows = {row["concept"]: row for row in descriptions.iter_rows(named=True)}
    hidden = sum(not row["shown"] for row in rows.values())
    told = []
    for finding in findings:
        row = rows.get(finding.cue.partition(":")[2])
        if row is not None and row["shown"]:
            agrees = f"AUC {row['auc']:.2f}, 95 % CI {row['low']:.2f} to {row['high']:.2f}, {row['n']} unseen texts"
            text = f"{finding.text} A model describes it as “{row['description']}” ({agrees})."
            told.append(replace(finding, text=text))
        elif finding.key == ALL_FEATURES and hidden:
            poor = (
                f" The model's descriptions of {hidden} of {plural(len(rows), 'concept')} agree with them too little "
                "(AUC below 0.7) and are not shown."
            )
            told.append(replace(finding, text=finding.text + poor))
        else:
            told.append(finding)
    return told


def statement_finding(stated: Result, statement: str, n: int) -> Finding:
    """Return the finding about a statement of the user's, that a model says yes or no to."""
    found = next((finding for finding in stated.findings if finding.cue), None)
    asked = f" A model was asked about {plural(n, 'text')}; what it says is not checked."
    if found is not None:
        title = found.title.replace("Cue ", "Statement ", 1)
        return replace(found, section=SECTION, title=title, text=found.text + asked)
    cues = stated.tables["cues"]
    title = f"The statement “{statement}” does not predict the label"
    if cues.is_empty():
        text = "The model says so of too few texts to test it."
        return Finding(SECTION, "info", title, text + asked, key="statement", counted="instances")
    row = cues.row(0, named=True)
    text = (
        f"{percent(row['share'])} of the {round(row['share_n']):,} texts of which it is true are {row['label']} "
        f"(95 % CI {percent(row['share_low'])} to {percent(row['share_high'])}); chance is {percent(row['chance'])} "
        f"(q = {probability(row['q_value'])})."
    )
    if row["significant"]:
        title = f"The statement “{statement}” is only weakly associated with the label"
    return Finding(
        SECTION, "info", title, text + asked, row["share"], row["share_low"], row["share_high"], row["chance"],
        round(row["share_n"]), key="statement", counted="instances", q_value=row["q_value"],
    )  # fmt: skip
