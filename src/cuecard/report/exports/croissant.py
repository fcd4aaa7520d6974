"""Croissant 1.0 metadata of a dataset, with the findings of its card as biases and limitations."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.data.reading.formats import format_of
from cuecard.documents import parse_json
from cuecard.errors import InputError, UsageError
from cuecard.report.exports.statements import biases, limitations
from cuecard.report.headline.verdict import verdict

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
RAI = "http://mlcommons.org/croissant/RAI/1.0"
_MEDIA_TYPES = {
    "parquet": "application/x-parquet",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/jsonlines",
    "json": "application/json",
}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
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


def _parsed(existing: str) -> dict[str, Any]:
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


def _described(card: Card, url: str | None, license: str | None) -> dict[str, Any]:
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


def _file(path: Path, number: int) -> dict[str, Any]:
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


def _records(card: Card, file: dict[str, Any]) -> dict[str, Any]:
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
