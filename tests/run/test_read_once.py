"""A command parses every data file once, whatever the number of analyses that read it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cuecard.data.demo import demo_nli, write_demo
from cuecard.data.reading import files as reading

COMMANDS = {
    "audit": ("--only", "overview,cues,pair_graph", "--out", "OUT"),
    "probe": ("--model", "linear", "--only", "accuracy_test", "--out", "OUT"),
    "debias": ("--min-count", "20", "--reaudit", "cues", "--report", "OUT", "--out", "weighted.FORMAT"),
    "stress": ("--out", "OUT"),
    "train": ("--out", "OUT"),
    "explain": (),
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of times that the content of every file, by name, was parsed."""
    times: Counter[str] = Counter()
    parse, read_parquet = reading.parse, reading.read_parquet

    def counted_parse(data: bytes, kind: object, where: str, **options: object) -> object:
        times[Path(where).name] += 1
        return parse(data, kind, where, **options)

    def counted_parquet(path: Path, *arguments: object, **options: object) -> object:
        times[Path(path).name] += 1
        return read_parquet(path, *arguments, **options)

    monkeypatch.setattr(reading, "parse", counted_parse)
    monkeypatch.setattr(reading, "read_parquet", counted_parquet)
    return times


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_parses_every_file_once(cuecard, parsed, tmp_path, monkeypatch, verb, kind):
    import polars as pl

    written = write_demo(demo_nli(400, seed=4), tmp_path / "demo")
    files = {split: tmp_path / f"{split}.{kind}" for split in ("train", "test")}
    for split, file in files.items():
        table = pl.read_parquet(written[split])
        table.write_csv(file) if kind == "csv" else table.write_parquet(file)
    monkeypatch.chdir(tmp_path)
    more = [text.replace("OUT", "out").replace("FORMAT", kind) for text in COMMANDS[verb]]
    test = () if verb == "debias" else ("--test", files["test"])
    cue = ("word:the",) if verb == "explain" else ()
    ran = cuecard(verb, *cue, files["train"], *test, *more)
    assert ran.code == 0, ran.err
    assert parsed == {file.name: 1 for file in files.values() if verb != "debias" or file.stem == "train"}
