"""Damaged and odd data files, each made from its seed."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa


def table(rng: random.Random) -> pa.Table:
    """Return rows with texts, nulls, numbers, lists and structs."""
    n = rng.randrange(20, 60)
    labels = pa.array([str(i % 3) for i in range(n)])
    return pa.table(
        {
            "premise": [f"premise {i} é" for i in range(n)],
            "hypothesis": [None if i % 7 == 0 else "word " * rng.randrange(5) for i in range(n)],
            "label": labels.dictionary_encode() if rng.random() < 0.3 else labels,
            "tags": [["a", "b"][: i % 3] for i in range(n)],
            "about": [{"x": i, "y": "z"} for i in range(n)],
        }
    )


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to five bits flipped."""
    damaged = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def arrow(folder: Path, rng: random.Random) -> Path:
    """Write a saved Hugging Face dataset with flipped bits in its Arrow file."""
    rows = table(rng)
    opened = pa.ipc.new_stream if rng.random() < 0.5 else pa.ipc.new_file
    buffer = io.BytesIO()
    with opened(buffer, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=15)
    (folder / "data.arrow").write_bytes(flipped(buffer.getvalue(), rng))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return folder


def parquet(folder: Path, rng: random.Random) -> Path:
    """Write a parquet file with flipped bits."""
    buffer = io.BytesIO()
    compression = rng.choice(["uncompressed", "zstd", "snappy", "gzip"])
    frame = pl.DataFrame(table(rng))
    frame.write_parquet(buffer, compression=compression, row_group_size=rng.choice([10, 100]))
    path = folder / "x.parquet"
    path.write_bytes(flipped(buffer.getvalue(), rng))
    return path


def text(folder: Path, rng: random.Random) -> Path:
    """Write a csv, tsv, jsonl or json file with flipped bits, cut short, or with pieces put elsewhere."""
    rows = [{"premise": f"p {i}", "hypothesis": f'h "{i}", é', "label": str(i % 2)} for i in range(20)]
    kind = rng.choice(["csv", "tsv", "jsonl", "json", "txt"])
    if kind in ("csv", "tsv", "txt"):
        whole = pl.DataFrame(rows).write_csv(separator="," if kind == "csv" else "\t")
    else:
        whole = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
    data = whole.encode()
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data))
        change = rng.choice(["flip", "cut", "copy", "insert"])
        if change == "flip":
            data = flipped(data, rng)
        elif change == "cut":
            data = data[:at] or b"x"
        elif change == "copy":
            data = data[:at] + data[rng.randrange(len(data)) :][:50] + data[at:]
        else:
            piece = rng.choice(
                [b"\0", b"\xff", b'"', b"\\ud800", b"{", b"[" * 2000, b"9" * 5000, b"\r", b"null", b"\n\n"]
            )
            data = data[:at] + piece + data[at:]
    path = folder / f"x.{kind}"
    path.write_bytes(data)
    return path


VALUES = [
    None, True, 0, -1, 2, 1.5, 10**30, "", "-", "text", "\u202e", [], ["a", "b"], [["a"]], [1, "a"], {}, {"text": "a"},
    {"text": ["a"], "label": ["A"]}, [{"role": "user", "content": "x"}], [{"a": 1}, 3], "x" * 1000,
]  # fmt: skip
ROLES = [
    ["premise", "hypothesis", "label"], ["question", "choices", "answer"], ["prompt", "chosen", "rejected"],
    ["prompt", "response_a", "response_b", "winner"], ["text", "label"], ["id", "text", "label"],
    ["sentence", "option1", "option2", "answer"],
]  # fmt: skip


def values(folder: Path, rng: random.Random) -> Path:
    """Write rows whose fields are replaced by null, lists, objects, huge numbers, or are missing."""
    names = rng.choice(ROLES)
    rows = []
    for i in range(rng.randrange(1, 8)):
        row = {name: ["a", "b"] if name == "choices" else f"{name} {i % 2}" for name in names}
        for _ in range(rng.randrange(3)):
            row[rng.choice(names)] = rng.choice(VALUES)
        if rng.random() < 0.1:
            del row[rng.choice(list(row))]
        rows.append(row)
    lines = rng.random() < 0.7
    path = folder / ("x.jsonl" if lines else "x.json")
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return path


def documents(folder: Path, rng: random.Random) -> Path:
    """Write a JSON document of any shape."""

    def value(depth: int) -> object:
        kind = rng.randrange(4) if depth else 3
        if kind == 0:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 1:
            keys = rng.sample(
                ["text", "label", "data", "question", "choices", "answer", "id", "0", "1"], rng.randrange(5)
            )
            return {key: value(depth - 1) for key in keys}
        return rng.choice(VALUES)

    path = folder / "x.json"
    path.write_text(json.dumps(value(rng.randrange(1, 5))))
    return path


CASES: dict[str, Callable[[Path, random.Random], Path]] = {
    "arrow": arrow,
    "parquet": parquet,
    "text": text,
    "values": values,
    "documents": documents,
}
#: How each of them may be read.
WAYS = ("stop", "skip", "mapped")
