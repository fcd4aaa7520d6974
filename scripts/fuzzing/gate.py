"""Policies, ratchets, worksheets and files to fill, with fields replaced and characters put elsewhere."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from cuecard.analysis import Measure
from fuzzing.documents import VALUES, changed, dumped

POLICY = """task = "pair"
[rules]
"findings.high" = "== 0"
"cues.*" = { limit = ["<= 100", ">= 0"], severity = "warning", reason = "so" }
overview.label_share.a = "<= 0.9"
[[allow]]
finding = "cues/not/*"
reason = "known"
expires = 2090-01-31
"""
#: What is put into a text: what ends, opens or nests something, and what is no number or no day.
PIECES = [
    *(
        "'",
        '"',
        '"""',
        "[",
        "]",
        "[[allow]]",
        "[rules]",
        "= ",
        "{",
        "}",
        "\\n",
        "\\u0000",
        "\\ud800",
        "#",
        ",",
        "\r",
    ),
    *(
        "1e400",
        "-inf",
        "nan",
        "9" * 5000,
        "2090-13-45",
        "2090-01-31T00:00:00",
        "[" * 3000,
        "{a=" * 1000,
        "\x1b[31m",
    ),
    *("*", "**", "<=", "== ", "<= 0x1F", "<= 1_000", "a." * 2000, "\0", "\u2028", "é", "true", "x" * 20_000),
]


def mangled(text: str, rng: random.Random) -> str:
    """Return a text with pieces put in, taken out or copied to another place."""
    for _ in range(rng.randrange(1, 4)):
        at, length = rng.randrange(len(text) + 1), rng.randrange(1, 30)
        change = rng.random()
        if change < 0.5:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif change < 0.75:
            text = text[:at] + text[at + length :]
        else:
            to = rng.randrange(len(text) + 1)
            text = text[:to] + text[at : at + length] + text[to:]
    return text


def written(path: Path, text: str, rng: random.Random) -> Path:
    """Write a text, now and then with bytes that are not UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        data += b"\xff\xfe"
    path.write_bytes(data)
    return path


def policy(folder: Path, rng: random.Random) -> Path:
    """Write a policy with pieces put elsewhere."""
    return written(folder / "cuecard.toml", mangled(POLICY, rng), rng)


def ratchet(folder: Path, rng: random.Random) -> Path:
    """Write a ratchet with fields replaced."""
    measures = [
        asdict(Measure("overview.label_share.a", 0.5, 0.4, 0.6, n=60, unit="share", worse="higher")),
        asdict(Measure("cues.cues", 3.0, unit="count", worse="higher")),
    ]
    findings = [asdict(Measure("cues/not/a", 0.3, 0.2, 0.4, n=60, unit="share", worse="higher"))]
    document = changed({"cuecard_ratchet": 1, "measures": measures, "findings": findings}, rng)
    return written(folder / "accepted.json", dumped(document), rng)


@cache
def _worksheet() -> list[dict[str, str]]:
    from cuecard.data.examples import Examples
    from cuecard.remedies.plan.worksheet import worksheet_rows
    from fuzzing.reader import dataset

    rows = [
        {"example": 0, "action": "rewrite", "why": "so", "advice": "do", "new_text": "=new"},
        {"example": 1, "action": "relabel", "new_label": "neutral"},
        {"example": 2, "action": "drop"},
        {"example": 3, "action": "keep"},
    ]
    return worksheet_rows(Examples(dataset("pair")), rows).to_dicts()


def worksheet(folder: Path, rng: random.Random) -> Path:
    """Write a filled worksheet with fields replaced, or pieces put elsewhere."""
    rows = _worksheet()
    if rng.random() < 0.5:
        return written(folder / "sheet.jsonl", "\n".join(map(dumped, changed(rows, rng))), rng)
    path = folder / "sheet.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return written(path, mangled(path.read_text(), rng), rng)


def to_fill(folder: Path, rng: random.Random) -> Path:
    """Write a README or Croissant metadata that an export is to fill."""
    if rng.random() < 0.5:
        marks = [
            "---",
            "license: mit",
            "# cuecard:start",
            "# cuecard:end",
            "# Mine",
            "<!-- cuecard:start -->",
        ]
        lines = rng.choices([*marks, "<!-- cuecard:end -->", "", "text"], k=rng.randrange(12))
        return written(folder / "README.md", "\n".join(lines), rng)
    document: Any = {"@context": {"@vocab": "https://schema.org/"}, "@type": "sc:Dataset", "name": "x"}
    document |= {"conformsTo": rng.choice(["http://mlcommons.org/croissant/1.0", [], None])}
    if rng.random() < 0.1:
        document = rng.choice(VALUES)
    return written(folder / "croissant.json", dumped(changed(document, rng)), rng)


def weights(folder: Path, rng: random.Random) -> Path:
    """Write rows with weights, some of them no weights."""
    numbers: list[Any] = [1.0, 0.5, 0, None, "x", -1, 1e308, "nan", "inf", "", 10**30, True, [1], {"a": 1}]
    rows = [
        {"premise": f"p{i % 5}", "hypothesis": f"h{i % 3}", "label": "ab"[i % 2], "weight": 1.0}
        for i in range(20)
    ]
    for _ in range(rng.randrange(1, 4)):
        rows[rng.randrange(20)]["weight"] = rng.choice(numbers)
    path = folder / "weighted.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


CASES: dict[str, Callable[[Path, random.Random], Path]] = {
    "policy": policy,
    "ratchet": ratchet,
    "worksheet": worksheet,
    "to_fill": to_fill,
    "weights": weights,
}
WAYS = {name: (name,) for name in CASES}
