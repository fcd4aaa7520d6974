"""Logs, predictions, cards and prompt templates with fields replaced, removed or nested too deeply."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tool_logs import harness_line, inspect_log, inspect_sample

LABELS = ("contradiction", "entailment", "neutral")
IDS = "abcdef"
#: What a field is replaced by; a text that begins with RAW is written into the document as it stands.
RAW = "RAW:"
VALUES: list[Any] = [
    None, True, False, 0, -1, 3, 1.5, 10**30, 1e308, "", " ", "A", "text", "\ud800", "\x1b[31mred",
    "a\nb", "x" * 20_000,
    [], [None], ["a", 3], [[]], [["a", "b"]], {}, {"a": None}, {"id": {"id": 3}}, [{}], [{"a": 1}], "2024-13-45",
    RAW + "9" * 5000, RAW + "[" * 3000 + "]" * 3000, RAW + "1e400", RAW + "NaN", RAW + "-Infinity",
    RAW + '{"a":' * 200 + "1" + "}" * 200,
]  # fmt: skip


def changed(document: Any, rng: random.Random) -> Any:
    """Return a document with one to three of its fields replaced, removed or renamed."""
    document = json.loads(json.dumps(document))
    for _ in range(rng.randrange(1, 4)):
        places = list(_places(document))
        if not places:
            break
        holder, key = rng.choice(places)
        change = rng.random()
        if change < 0.8:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
        elif change < 0.92 or isinstance(holder, list):
            del holder[key]
        else:
            holder[f"{key}\x1b[2J"] = holder.pop(key)
    return document


def _places(value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def dumped(document: Any) -> str:
    """Return a document as JSON, raw pieces as they stand."""
    text = json.dumps(document)
    for value in VALUES:
        if isinstance(value, str) and value.startswith(RAW):
            text = text.replace(json.dumps(value), value.removeprefix(RAW))
    return text


def inspect(folder: Path, rng: random.Random) -> Path:
    """Write a log of Inspect with fields replaced."""
    by_letter = rng.random() < 0.5
    samples = [
        inspect_sample(
            name,
            "ABC"[i % 3] if by_letter else LABELS[i % 3],
            {"value": "C", "answer": "ABC"[i % 3] if by_letter else LABELS[i % 3], "explanation": "so"},
            "choice" if by_letter else "match",
            [f"{c}{i + 9}" for c in "xyz"] if by_letter else None,
        )
        for i, name in enumerate(IDS)
    ]
    path = inspect_log(folder / "log.json", samples, "choice" if by_letter else "match")
    log = json.loads(path.read_text())
    if rng.random() < 0.7:  # most fields of a log are not read: change those that are
        i = rng.randrange(len(samples))
        read = {k: log["samples"][i].get(k) for k in ("id", "epoch", "choices", "target", "scores")}
        log["samples"][i] |= changed(read, rng)
    else:
        log = changed(log, rng)
    path.write_text(dumped(log))
    return path


def harness(folder: Path, rng: random.Random) -> Path:
    """Write a sample log of lm-evaluation-harness with fields replaced."""
    likelihoods = rng.random() < 0.5
    lines = []
    for i, name in enumerate(IDS):
        responses = [[str(-1.5 - k), "False"] for k in range(3)] if likelihoods else [LABELS[i % 3]]
        lines.append(
            harness_line(i, {"id": name, "q": i}, str(i % 3) if likelihoods else LABELS[i % 3], responses)
        )
    samples = [json.loads(line) for line in lines]
    for _ in range(rng.randrange(1, 3)):
        i = rng.randrange(len(samples))
        read = {k: samples[i].get(k) for k in ("doc_id", "doc", "target", "filtered_resps", "filter")}
        samples[i] |= changed(read, rng)
    if rng.random() < 0.1:
        samples[rng.randrange(1, len(samples))] = rng.choice(VALUES)
    path = folder / "samples_my_task.jsonl"
    path.write_text("\n".join(map(dumped, samples)))
    return path


def predictions(folder: Path, rng: random.Random) -> Path:
    """Write a table of predictions with fields replaced: in half of the cases only such as need not be right."""
    probabilities = rng.random() < 0.4
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(IDS):
        answer = rng.choice([LABELS[i % 3], rng.choice(LABELS), f" {LABELS[i % 3].upper()} "])
        row: dict[str, Any] = {"id": name, "prediction": answer, "gold": LABELS[i % 3], "model": "m"}
        rows.append(row | ({f"p_{label}": 1 / 3 for label in LABELS} if probabilities else {}))
    if rng.random() < 0.5:
        notes = changed([{"note": f"n{i}", "usage": {"tokens": i, "stop": ["end"]}} for i in range(6)], rng)
        rows = [
            row | (note if isinstance(note, dict) else {"note": note})
            for row, note in zip(rows, notes, strict=False)
        ]
        rng.choice(rows).pop("gold")
    else:
        rows = changed(rows, rng)
    rng.shuffle(rows)
    path = folder / "model.jsonl"
    path.write_text("\n".join(map(dumped, rows)))
    return path


@cache
def _card_folder() -> dict[str, bytes]:
    """Return the files of a small real card."""
    from fuzzing.reader import small_card

    folder = small_card()
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def card(folder: Path, rng: random.Random) -> Path:
    """Write a card with fields of its document replaced, or a table damaged."""
    for name, data in _card_folder().items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(data)
    if rng.random() < 0.8:
        document = changed(json.loads((folder / "card.json").read_text()), rng)
        if isinstance(document, dict) and rng.random() < 0.2:
            document["cuecard"] = "1"
        (folder / "card.json").write_text(dumped(document))
    else:
        file = rng.choice(sorted((folder / "tables").iterdir()))
        data = bytearray(file.read_bytes())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(data))
    return folder


#: Templates that fail, loop or grow, one per line; and some that are nested too deeply.
PIECES = [
    *(Path(__file__).parent / "templates.txt").read_text("utf-8").splitlines(),
    "\x1b[31m",
    "\0",
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "{{ " + "[" * 3000 + "]" * 3000 + " }}",
]


def template(folder: Path, rng: random.Random) -> Path:
    """Write a prompt template that fails, loops or grows."""
    text = "\n".join(rng.choices(PIECES, k=rng.randrange(1, 4)))
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)]
    path = folder / "mine.j2"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


CASES: dict[str, Callable[[Path, random.Random], Path]] = {
    "inspect": inspect,
    "harness": harness,
    "predictions": predictions,
    "card": card,
    "template": template,
}
WAYS = {
    "inspect": ("pair", "choice"),
    "harness": ("pair", "choice"),
    "predictions": ("pair",),
    "card": ("card",),
    "template": ("template",),
}
