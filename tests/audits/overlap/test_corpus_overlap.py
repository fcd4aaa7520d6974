"""Runs of words that a corpus shares with a dataset are found wherever they are, and nothing else is."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cuecard as cc
from cuecard.audits.overlap.corpus import parts
from cuecard.audits.overlap.index import NgramIndex
from cuecard.audits.overlap.order import read_orders
from cuecard.errors import CueCardError
from cuecard.report.charts.drawing import specification
from cuecard.report.sections import section_view
from cuecard.stats.preferences.order_test import order_test

LINE = "the cat sat quietly on the warm mat"


def questions(n: int = 30) -> pl.DataFrame:
    rng = np.random.default_rng(0)

    def text(k: int) -> str:
        return " ".join(f"w{rng.integers(5000)}" for _ in range(k))

    rows = [{"question": text(20), "choices": [text(8), text(8)], "answer": i % 2} for i in range(n)]
    rows[3]["choices"] = [text(8), LINE]
    return pl.DataFrame(rows)


def spans(texts: list[str], corpus: str, **options) -> list[tuple[int, int, int, str]]:
    data = corpus.encode()
    hits = NgramIndex(texts, **options).hits(data)
    return [(h.text, h.first, h.last, data[h.start : h.end].decode()) for h in hits]


def test_a_line_of_eight_words_is_found_whatever_its_case_and_punctuation():
    corpus = "So: “The CAT sat—quietly, on the\n warm mat!” he said."
    assert spans([LINE], corpus) == [(0, 0, 8, "The CAT sat—quietly, on the\n warm mat")]
    assert spans([LINE], "the cat sat quietly on the warm rug") == []


def test_a_long_text_is_found_by_its_longest_run():
    words = [f"w{i}" for i in range(40)]
    corpus = "x " + " ".join(words[5:30]) + " y"
    assert spans([" ".join(words)], corpus) == [(0, 5, 30, " ".join(words[5:30]))]
    assert spans([" ".join(words)], " ".join(words[5:17])) == []  # 12 words in a row are too few


def test_equal_hashes_of_other_words_are_no_hit(monkeypatch):
    from cuecard.audits.overlap import index

    monkeypatch.setattr(
        index, "ngram_hashes", lambda words, n: np.zeros(max(len(words) - n + 1, 0), np.uint64)
    )
    assert spans([LINE], "eight other words that have nothing to do") == []
    assert spans([LINE], f"and {LINE} too") == [(0, 0, 8, LINE)]


def test_hits_are_those_of_a_search_for_every_text():
    rng = np.random.default_rng(1)
    words = [f"v{i}" for i in range(12)]
    corpus = " ".join(rng.choice(words, 4000))
    texts = [" ".join(rng.choice(words, 5)) for _ in range(200)]
    brute = {i for i, t in enumerate(texts) if f" {t} " in f" {corpus} "}
    assert {hit[0] for hit in spans(texts, corpus)} == brute
    assert brute


def test_chinese_is_searched_by_characters():
    assert spans(["今天天气很好我们去公园"], "他说：今天天气很好，我们去公园。") == [
        (0, 0, 11, "今天天气很好，我们去公园")
    ]


def test_runs_across_parts_of_a_file_are_found_once(tmp_path):
    path = tmp_path / "corpus.txt"
    filler = " ".join(f"f{i}" for i in range(300))
    path.write_text(f"{filler} {LINE} {filler}")
    place = path.read_bytes().find(LINE.encode())
    for size in (place + 3, place + 20, 64):
        index = NgramIndex([LINE])
        found = {p.offset + h.start for p in parts(path, size, 120) for h in index.hits(p.data)}
        assert found == {place}


def test_a_word_that_a_part_cuts_is_no_other_word(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(f"{LINE}tress and more")
    index = NgramIndex([LINE])
    assert [hit for p in parts(path, len(LINE), 120) for hit in index.hits(p.data)] == []
    whole = path.read_bytes()
    read = list(parts(path, 7, 5))
    assert all(whole[p.offset :].startswith(p.data) for p in read)
    assert read[-1].offset + len(read[-1].data) == len(whole)


def test_characters_that_json_escapes_are_searched(tmp_path):
    texts = ["où est le château près de la forêt", "今天天气很好我们去公园", r"a \u00e9 b c d e"]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": t + " 🙂"}) + "\n" for t in texts))
    assert "\\ud83d" in path.read_text()
    index = NgramIndex(texts)
    (part,) = parts(path)
    hits = {hit.text: part.data[hit.start : hit.end].decode() for hit in index.hits(part.data, escapes=True)}
    assert (hits[0], hits[1]) == (texts[0], texts[1])


def test_a_file_that_cannot_be_searched_is_an_error(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(CueCardError, match="unpack it to text"):
        cc.overlap(questions(), tmp_path)
    pl.DataFrame({"n": [1]}).write_parquet(tmp_path / "n.parquet")
    with pytest.raises(CueCardError, match="no column with texts"):
        cc.overlap(questions(), tmp_path / "n.parquet")


@pytest.mark.parametrize(
    "kind", ["txt", "jsonl", "txt.gz", "txt.bz2", "txt.xz", "txt.zst", "parquet", "chat.parquet"]
)
def test_files_of_every_kind_are_searched(tmp_path, kind):
    path = tmp_path / f"corpus.{kind}"
    text = f"first line\n{LINE}\nlast line"
    if kind == "jsonl":
        path.write_text(json.dumps({"text": text}) + "\n")
    elif kind in ("txt.gz", "txt.bz2", "txt.xz"):
        compress = {"txt.gz": gzip.compress, "txt.bz2": bz2.compress, "txt.xz": lzma.compress}[kind]
        path.write_bytes(compress(text.encode()))
    elif kind == "txt.zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(text.encode())
    elif kind == "chat.parquet":
        chat = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": text}]
        pl.DataFrame({"messages": [chat]}).write_parquet(path)
    elif kind == "parquet":
        pl.DataFrame({"n": [1, 2], "text": ["other", text]}).write_parquet(path)
    else:
        path.write_text(text)
    card = cc.overlap(questions(), path)
    row = card.tables["overlap"].row(0, named=True)
    assert (row["example_id"], row["words"], row["role"]) == ("4", 8, "hypothesis")
    assert card.measure("overlap.answers").value == pytest.approx(1 / 30)
    if kind == "txt":
        assert path.read_bytes()[row["offset"] :][: row["length"]].decode() == row["span"] == LINE
    assert card.findings[0].id == "overlap/contained"


def test_a_corpus_without_the_texts_is_said_to_have_none(tmp_path):
    (tmp_path / "a.txt").write_text("nothing of that kind")
    card = cc.overlap(questions(), [tmp_path])
    assert card.findings[0].id == "overlap/none"
    assert section_view(card, "overlap").charts == []


def test_the_section_shows_spans_and_their_lengths(tmp_path):
    (tmp_path / "a.txt").write_text(f"{LINE} and {questions()['question'][0]}")
    view = section_view(cc.overlap(questions(), tmp_path), "overlap")
    assert specification(view.charts[0].draw)["mark"]["type"] == "bar"
    assert view.tables[0].total == 2


def test_nothing_to_compare_with_is_an_error(tmp_path):
    with pytest.raises(CueCardError, match="--with CORPUS"):
        cc.overlap(questions())
    with pytest.raises(CueCardError, match="has no file to search"):
        cc.overlap(questions(), tmp_path / "missing.txt")


def test_the_order_test_is_exact():
    rng = np.random.default_rng(0)
    p = [order_test(rng.normal(size=3), rng.normal(size=(3, 9))).p_value for _ in range(2000)]
    # 35 of the 1,000 ways in which three ranks can fall have a sum that is as high: p = 0.035 is a level it attains.
    assert np.mean(np.array(p) <= 0.0351) == pytest.approx(0.035, abs=0.0125)
    assert order_test([1.0, 1.0], np.zeros((2, 9))).p_value == pytest.approx(0.01)
    assert order_test([0.0], np.zeros((1, 9))).p_value == 1.0  # ties count against the published order


def test_orders_are_tested_for_every_model():
    rng = np.random.default_rng(0)
    rows = [
        {"model": m, "shard": s, "order": o, "logprob": rng.normal() + 5 * (m == "seen" and o == "published")}
        for m in ("seen", "new")
        for s in range(3)
        for o in ("published", *map(str, range(20)))
    ]
    card = cc.overlap(questions(), orders=pl.DataFrame(rows))
    assert card.measure("published_order.seen.rank").value == 1.0
    severities = {finding.id: finding.severity for finding in card.findings}
    assert severities == {"published_order/seen": "high", "published_order/new": "info"}
    assert section_view(card, "published_order").tables[0].total == 2
    with pytest.raises(CueCardError, match="has no column 'logprob'"):
        read_orders(pl.DataFrame({"order": ["published"]}))
    with pytest.raises(CueCardError, match="0 rows with the order 'published'"):
        read_orders(pl.DataFrame({"order": ["1", "2"], "logprob": [1.0, 2.0]}))
