"""A card in the words and files of other places: Croissant metadata, a Hugging Face README, a badge, an issue."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from xml.sax import saxutils

from cuecard import wording
from cuecard.analysis import Finding, Measure, Severity
from cuecard.card.by_what import by_what
from cuecard.card.card import Card, shortcuts
from cuecard.data.reading.formats import format_of
from cuecard.documents import parse_json
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.report.findings import measured, ordered_findings
from cuecard.report.markdown import code, dataset_card_markdown, escape, finding_markdown, markdown_table
from cuecard.report.verdict import verdict
from cuecard.wording import display_text

__all__ = [
    "badge_svg",
    "croissant_json",
    "hf_card",
    "issue_markdown",
    "open_questions",
]

JsonObject = dict[str, Any]


CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
RAI = "http://mlcommons.org/croissant/RAI/1.0"
_MEDIA_TYPES = {
    "parquet": "application/x-parquet",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/jsonlines",
    "json": "application/json",
}
_CONTEXT: JsonObject = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "samplingRate": "cr:samplingRate",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


#: What Croissant with responsible-AI fields asks for and no audit can know, with a question to the authors.
QUESTIONS = {
    "license": "Under which licence may the dataset be used?",
    "url": "On which page is it described?",
    "creator": "Who made it?",
    "datePublished": "When was it published?",
    "rai:dataCollection": "How were the examples collected, when, and by whom?",
    "rai:dataAnnotationProtocol": "Who labelled them, with which instructions, and how many people per example?",
    "rai:dataPreprocessingProtocol": "What was filtered, cleaned or rewritten?",
    "rai:personalSensitiveInformation": "Does it contain personal or sensitive information, and of which kind?",
    "rai:hasSyntheticData": "Which parts were written by a model or made from templates?",
    "rai:dataUseCases": "Which uses is it meant for, and which not?",
    "rai:dataSocialImpact": "Whom can its use help, and whom can it harm?",
    "rai:dataReleaseMaintenancePlan": "Who keeps it up to date, and how are errors reported?",
    "prov:wasDerivedFrom": "From which datasets or sources was it made?",
    "prov:wasGeneratedBy": "Which steps led from the sources to the files?",
}


def open_questions(croissant: str) -> list[str]:
    """Return what Croissant metadata lack, each property with a question to the authors of the dataset."""
    document = json.loads(croissant)
    return [f"{name}: {question}" for name, question in QUESTIONS.items() if not document.get(name)]


def croissant_json(
    card: Card, *, existing: str | None = None, url: str | None = None, license: str | None = None
) -> str:
    """Return Croissant metadata with `rai:dataBiases` and `rai:dataLimitations` from the card.

    Args:
        card: the card of an audit.
        existing: the Croissant metadata that the dataset has already; only the two properties are replaced in it.
        url: the page of the dataset.
        license: its licence, as a name or an address.
    """
    document = _described(card, url, license) if existing is None else _parsed(existing)
    document |= {"rai:dataBiases": biases(card), "rai:dataLimitations": limitations(card)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _parsed(existing: str) -> JsonObject:
    document = parse_json(existing, "The file to fill is not Croissant metadata; it", "name another --out")
    if not isinstance(document, dict) or "@context" not in document:
        raise InputError("The file to fill is not Croissant metadata: name another --out.")
    context = document["@context"]
    conforms = document.get("conformsTo") or document.get("dct:conformsTo")
    if isinstance(context, dict):
        context.setdefault("rai", _CONTEXT["rai"])
    profiles = conforms if isinstance(conforms, list) else [conforms] if conforms else []
    if RAI not in profiles:
        document["conformsTo"] = [*profiles, RAI]
    return document


def _described(card: Card, url: str | None, license: str | None) -> JsonObject:
    files = [_file(Path(name), i) for i, name in enumerate(card.dataset.files)]
    if not files:
        raise UsageError(
            "The card names no file of the dataset: export next to metadata that exists with --out."
        )
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": card.dataset.name,
        "description": verdict(card).headline,
        "conformsTo": [CONFORMS_TO, RAI],
        **({"license": license} if license else {}),
        **({"url": url} if url else {}),
        "version": "1.0.0",
        "citeAs": f"CueCard audit of {card.dataset.name}, data fingerprint {card.dataset.fingerprint}",
        "distribution": files,
        "recordSet": [_records(card, file) for file in files],
    }


def _file(path: Path, number: int) -> JsonObject:
    named = format_of(path)
    media = _MEDIA_TYPES.get(named[0]) if named and named[1] == "none" else None
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise InputError(
            f"{path}, which the card was made from, cannot be read: run the command where it can, because Croissant "
            "needs the hash of every file."
        ) from None
    return {
        "@type": "cr:FileObject",
        "@id": f"file-{number}-{path.name}",
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": media or "application/octet-stream",
        "sha256": digest,
    }


def _records(card: Card, file: JsonObject) -> JsonObject:
    """Return the record set of a file: a field for every column that the audit read, where there is a single one."""
    name = f"records-{file['@id']}"
    columns = {role: column for role, column in card.dataset.columns.items() if "," not in column}
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{role}",
                "name": role,
                "description": f"The {role} of an example.",
                "dataType": "sc:Text",
                **({"repeated": True} if role == "choices" else {}),
                "source": {"fileObject": {"@id": file["@id"]}, "extract": {"column": column}},
            }
            for role, column in columns.items()
        ],
    }


#: What holds of every audit.
NO_PROOF = "A result at chance does not show that the data is free of shortcuts."


def biases(card: Card) -> list[str]:
    """Return one sentence per finding that gives the label away, the most serious first."""
    about_data = {name for name, section in card.sections.items() if section.about == "data"}
    lists = [f"{features.question} {features.sentence()}" for features in by_what(card)]
    return [
        statement(finding)
        for finding in ordered_findings(card)
        if finding.severity != "info" and finding.section in about_data
    ] + [display_text(text, 1000) for text in lists]


def limitations(card: Card) -> list[str]:
    """Return what the audit does not show: caveats, analyses that did not run, rows that were left out."""
    said = [caveats(card)]
    said += [
        f"Not tested: {section.title} ({section.status}: {display_text(section.reason, 300)})."
        for section in card.sections.values()
        if section.status != "done"
    ]
    said += [
        f"Not audited: {wording.left_out(display_text(reason, 200), n)}."
        for reason, n in card.dataset.dropped.items()
        if n
    ]
    return said


def caveats(card: Card) -> str:
    """Return how to read the numbers of a card: what its analyses declare, and what holds of every audit."""
    said = [
        section.caveat for section in card.sections.values() if section.status == "done" and section.caveat
    ]
    return " ".join([*dict.fromkeys(display_text(text, 600) for text in said), NO_PROOF])


def statement(finding: Finding) -> str:
    """Return a finding as one sentence with its number, interval and chance level."""
    title = display_text(finding.title, 300).removesuffix(".")
    if finding.value is None:
        return f"{title}."
    said = measured(finding)
    if finding.chance is not None:
        said += f", chance {wording.in_unit(finding.chance, finding.unit)}"
    if finding.n is not None:
        said += f", {wording.count(finding.n)} {finding.counted}"
    return f"{title} ({said})."


def issue_markdown(card: Card, finding_id: str | None = None) -> str:
    """Return a finding as an issue: numbers, chance, control, slices, tie rule, fingerprint and command.

    Args:
        card: the card of an audit.
        finding_id: the id of the finding; the most serious one by default.
    """
    finding = _chosen(card, finding_id)
    parts = [finding_markdown(card, finding).rstrip(), f"Finding id: {code(finding.id)}."]
    related = _measures(card, finding)
    if related:
        rows = [
            (
                escape(measure.label or measure.name),
                wording.in_unit(measure.value, measure.unit),
                wording.interval_in_unit(measure.low, measure.high, measure.unit) or wording.MISSING,
                wording.in_unit(measure.chance, measure.unit),
                wording.count(measure.n),
            )
            for measure in related
        ]
        parts.append(markdown_table(("Controls and slices", "Value", "95 % CI", "Chance", "Examples"), rows))
    if caveat := card.sections[finding.section].caveat:
        parts.append(f"{escape(caveat)} {NO_PROOF}")
    parts.append("A cue in the data does not mean that a model uses it.")
    return "\n\n".join(parts) + "\n"


def _chosen(card: Card, finding_id: str | None) -> Finding:
    findings = ordered_findings(card)
    if finding_id is None:
        if not findings or findings[0].severity == "info":
            raise UsageError(
                f"The card of {card.dataset.name} has no finding to report, only remarks: choose one with --finding ID."
            )
        return findings[0]
    chosen = next((finding for finding in findings if finding.id == finding_id), None)
    if chosen is None:
        raise unknown_name("finding", finding_id, [finding.id for finding in findings])
    return chosen


def _measures(card: Card, finding: Finding) -> list[Measure]:
    """Return the measures beside which a finding is read: of its shortcut in any section, and the controls of its own.

    Controls are accuracies that are neither good nor bad: of the majority answer, or with the full input.
    """
    key = finding.id.removeprefix(f"{finding.section}/").partition("/")[0]

    def of_shortcut(measure: Measure) -> bool:
        return measure.name.startswith(f"{measure.section}.{key}.")

    def is_control(measure: Measure) -> bool:
        return (
            measure.section == finding.section
            and measure.worse == "neither"
            and measure.name.endswith(".accuracy")
        )

    return [measure for measure in card.all_measures() if of_shortcut(measure) or is_control(measure)]


_SECTION = ("<!-- cuecard:start -->", "<!-- cuecard:end -->")
_YAML = ("# cuecard:start", "# cuecard:end")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
#: Number of shortcuts in the YAML.
SHORTCUTS = 5


def hf_card(card: Card, existing: str = "") -> str:
    """Return the README with the section and the YAML block of the card; what others wrote in it stays."""
    front = _FRONT.match(existing)
    yaml, body = (front[1], existing[front.end() :]) if front else ("", existing)
    start, end = map(re.escape, _YAML)
    own = re.sub(rf"^{start}.*?^{end}", "", yaml, flags=re.DOTALL | re.MULTILINE)
    yaml = _replaced(yaml, _YAML, _yaml(card) + _tags(card, own))
    section = f"{dataset_card_markdown(card).rstrip()}\n\n{caveats(card)}\n"
    return f"---\n{yaml}---\n{_replaced(body, _SECTION, section)}"


def _replaced(text: str, marks: tuple[str, str], content: str) -> str:
    """Return a text in which what is between the marks is the content; at its end where the marks are not there."""
    start, end = marks
    block = f"{start}\n{content}{end}\n"
    lines = re.findall(rf"^({re.escape(start)}|{re.escape(end)})[ \t]*$", text, re.MULTILINE)
    if lines == [start, end]:
        there = rf"^{re.escape(start)}[ \t]*\n.*?^{re.escape(end)}[ \t]*$\n?"
        return re.sub(there, lambda _: block, text, count=1, flags=re.DOTALL | re.MULTILINE)
    if lines:
        raise InputError(
            f"The README needs one line {start} and after it one line {end}, or none of them; it has "
            f"{lines.count(start)} and {lines.count(end)}: add the missing mark, or delete the other one."
        )
    gap = "" if not text else "\n" if text.endswith("\n\n") else "\n\n" if not text.endswith("\n") else "\n"
    return text + ("" if start.startswith("#") else gap) + block


def _yaml(card: Card) -> str:
    """Return the block of YAML: numbers that programs read; every scalar is written as JSON, which YAML can read."""
    tally = {level: sum(f.severity == level for f in card.findings) for level in ("high", "medium", "low")}
    lines = ["cuecard:", f"  fingerprint: {json.dumps(card.dataset.fingerprint)}", "  findings:"]
    lines += [f"    {level}: {n}" for level, n in tally.items()]
    strongest = shortcuts(card)[:SHORTCUTS]
    lines.append("  shortcuts:" if strongest else "  shortcuts: []")
    for measure in strongest:
        lines.append(f"    - measure: {json.dumps(measure.name)}")
        for name in ("value", "low", "high", "chance"):
            number = getattr(measure, name)
            lines.append(f"      {name}: {'null' if number is None else round(number, 4)}")
    return "\n".join(lines) + "\n"


#: Categories of the hub; preferences have none.
_CATEGORIES = {
    "pair": "text-classification",
    "text": "text-classification",
    "choice": "multiple-choice",
    "open": "question-answering",
}
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
)


def _tags(card: Card, own: str) -> str:
    """Return the tags of the hub that an audit knows, without those that the authors wrote themselves."""
    n = sum(split.examples for split in card.dataset.splits.values())
    size = next((name for limit, name in _SIZES if n < limit), "10M<n<100M" if n < 10**8 else "100M<n<1B")
    tags = {"task_categories": _CATEGORIES.get(card.dataset.task), "size_categories": size}
    return "".join(
        f"{name}:\n- {tag}\n"
        for name, tag in tags.items()
        if tag and not re.search(rf"^{name}:", own, re.MULTILINE)
    )


_COLOURS: dict[Severity, str] = {"high": "#b42318", "medium": "#b54708", "low": "#175cd3"}
#: Nothing found is not a proof of nothing: the colour is neutral.
_NEUTRAL = "#475467"
_TITLE = "CueCard"
#: Width of a character of Verdana at 11 pixels, and the space around a text.
_CHARACTER, _PADDING = 6.6, 12


def badge_svg(card: Card) -> str:
    """Return a badge with the number of findings of the worst severity."""
    done = [name for name, section in card.sections.items() if section.status == "done"]
    return severity_badge(Counter(finding.severity for finding in card.findings), done)


def severity_badge(severities: Mapping[str, int], tested: Collection[str]) -> str:
    """Return a badge from the number of findings of every severity, and the sections that were completed."""
    words, colour = _worst(severities) or (_without_findings(tested), _NEUTRAL)
    left, right = (round(len(text) * _CHARACTER + _PADDING) for text in (_TITLE, words))
    width = left + right
    spoken = saxutils.escape(f"{_TITLE}: {words}", {'"': "&quot;"})
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{spoken}">
  <title>{spoken}</title>
  <rect width="{width}" height="20" rx="3" fill="{colour}"/>
  <path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#1d2939"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
    <text x="{left / 2:g}" y="14">{_TITLE}</text>
    <text x="{left + right / 2:g}" y="14">{saxutils.escape(words)}</text>
  </g>
</svg>
"""


def _worst(severities: Mapping[str, int]) -> tuple[str, str] | None:
    for severity, colour in _COLOURS.items():
        if n := severities.get(severity, 0):
            return wording.plural(n, f"{severity} finding"), colour
    return None


def _without_findings(tested: Collection[str]) -> str:
    if not tested:
        return "not tested"
    return "no cue found" if "cues" in tested else "no finding, cues not tested"
