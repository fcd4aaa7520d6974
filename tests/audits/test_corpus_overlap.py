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
from cuecard.audits.overlap.corpus import NgramIndex, chunks
from cuecard.audits.overlap.published_order import read_orders
from cuecard.card.card import largest_shortcut
from cuecard.errors import CueCardError
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.stats.preferences.order_test import order_test
from cuecard.wording import percent

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
    from cuecard.audits.overlap import corpus as index

    monkeypatch.setattr(index, "BITS", 0)
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
        found = {
            p.offset + h.start for p in chunks(path, size, 120) for h in index.hits(p.data, again=p.again)
        }
        assert found == {place}


def test_a_word_that_a_part_cuts_is_no_other_word(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(f"{LINE}tress and more")
    index = NgramIndex([LINE])
    assert [hit for p in chunks(path, len(LINE), 120) for hit in index.hits(p.data)] == []
    whole = path.read_bytes()
    read = list(chunks(path, 7, 5))
    assert all(whole[p.offset :].startswith(p.data) for p in read)
    assert read[-1].offset + len(read[-1].data) == len(whole)


def test_characters_that_json_escapes_are_searched(tmp_path):
    texts = ["où est le château près de la forêt", "今天天气很好我们去公园", r"a \u00e9 b c d e"]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": t + " 🙂"}) + "\n" for t in texts))
    assert "\\ud83d" in path.read_text()
    index = NgramIndex(texts)
    (part,) = chunks(path)
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
    assert largest_shortcut(card) is None  # it says nothing about the label
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
    assert specification(draw(view.charts[0]))["layer"][0]["mark"]["type"] == "bar"
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
    unnamed = pl.DataFrame([row for row in rows if row["model"] == "seen"]).drop("model")
    [finding] = cc.overlap(questions(), orders=unnamed).findings
    assert finding.title == "The model finds the published order likelier than shuffled ones"
    assert f"likelier than {percent(1.0)} of" in finding.text
    with pytest.raises(CueCardError, match="has no column 'logprob'"):
        read_orders(pl.DataFrame({"order": ["published"]}))
    with pytest.raises(CueCardError, match="0 rows with the order 'published'"):
        read_orders(pl.DataFrame({"order": ["1", "2"], "logprob": [1.0, 2.0]}))


def brute_runs(text: list[str], corpus: list[str], n: int) -> list[tuple[int, int, int]]:
    """Return every maximal run of at least n words, or of all words, as (first, last, place in the corpus)."""
    size, runs = min(len(text), n), []
    for first in range(len(text)):
        for place in range(len(corpus)):
            if first and place and text[first - 1] == corpus[place - 1]:
                continue
            end = 0
            while (
                first + end < len(text)
                and place + end < len(corpus)
                and text[first + end] == corpus[place + end]
            ):
                end += 1
            if end >= size:
                runs.append((first, first + end, place))
    return runs


@pytest.mark.parametrize("part", [10_000, 400, 150])
def test_runs_of_texts_with_a_shared_template_are_those_of_a_slow_search(tmp_path, part):
    rng = np.random.default_rng(2)
    template = [f"t{i}" for i in range(9)]
    texts = [[*template[: 9 - i % 3], *rng.choice(["a", "b", "c"], 4), *template[-4:]] for i in range(12)]
    texts += [list(rng.choice(["a", "b", "c"], 6)) for _ in range(6)]
    pieces = [texts[i] if i % 3 else list(rng.choice(["a", "b", "c"], 20)) for i in rng.integers(0, 18, 40)]
    corpus = [word for piece in pieces for word in piece]
    path = tmp_path / "corpus.txt"
    path.write_text(" ".join(corpus))
    index = NgramIndex([" ".join(t) for t in texts], n=8, most_spans=10_000)
    places = np.cumsum([0, *(len(word) + 1 for word in corpus)])
    spans = {
        (hit.text, hit.first, p.offset + hit.start): hit.last
        for p in chunks(path, part, 120)
        for hit in index.hits(p.data, again=p.again)
    }
    expected = {
        (i, first, int(places[place])): last
        for i, text in enumerate(texts)
        for first, last, place in brute_runs(text, corpus, 8)
    }
    assert spans == expected
    counts = [sum(key[0] == i for key in expected) for i in range(len(texts))]
    assert index.occurrences().tolist() == counts
    for i, share in enumerate(index.covered()):
        words = {w for (t, first, _), last in expected.items() if t == i for w in range(first, last)}
        assert share == pytest.approx(len(words) / len(texts[i]))


def test_texts_that_share_a_template_are_listed_a_bounded_number_of_times():
    template = " ".join(f"t{i}" for i in range(20))
    index = NgramIndex([f"{template} own{i}" for i in range(50)], most_spans=3)
    hits = list(index.hits((f"{template} .. " * 40).encode()))
    assert len(hits) == 150
    assert index.occurrences().tolist() == [40] * 50


def test_all_words_of_a_text_may_be_in_runs_of_different_places(tmp_path):
    words = str(questions()["question"][0]).split()
    path = tmp_path / "corpus.txt"
    path.write_text(f"{' '.join(words[:13])} and elsewhere {' '.join(words[7:])}")
    card = cc.overlap(questions(), path)
    assert card.measure("overlap.whole").value == pytest.approx(1 / 30)
    assert "in 1 of them, all words of a text occur, in one run or several" in card.findings[0].text
    assert card.tables["overlap"]["words"].to_list() == [13, 13]


def test_the_longest_run_is_named_as_one_of_those_that_are_listed(tmp_path):
    words = str(questions()["question"][0]).split()
    path = tmp_path / "corpus.txt"
    path.write_text(f"{' '.join(words[:13])} .. " * 30 + " ".join(words))
    card = cc.overlap(questions(), path)
    assert card.tables["overlap"]["words"].max() == 13 < len(words)
    assert "The longest run listed has 13 words" in card.findings[0].text


def test_a_run_does_not_go_from_one_text_of_a_parquet_file_into_the_next(tmp_path):
    words = LINE.split()
    path = tmp_path / "corpus.parquet"
    pl.DataFrame({"text": [" ".join(words[:4]), " ".join(words[4:]), LINE]}).write_parquet(path)
    (part,) = chunks(path)
    hits = list(NgramIndex([LINE]).hits(part.data))
    assert [(hit.first, hit.last, hit.start) for hit in hits] == [(0, 8, part.data.rfind(LINE.encode()))]


UNLABELLED = {
    "HumanEval": lambda i, text: {"task_id": f"H/{i}", "prompt": text, "canonical_solution": f"return {i} and no more"},
    "GSM8K": lambda i, text: {"question": text, "answer": f"That makes {i} in all, so #### {i}"},
    "messages": lambda i, text: {"messages": [{"role": "user", "content": text}]},
    "texts": lambda i, text: {"text": text},
}  # fmt: skip


@pytest.mark.parametrize("layout", UNLABELLED)
def test_texts_without_labels_are_searched_for(layout, tmp_path):
    words = [f"w{i}" for i in range(400)]
    (tmp_path / "corpus.txt").write_text(" ".join(words[:200]))
    texts = [" ".join(words[i * 20 : i * 20 + 18]) for i in range(20)]
    card = cc.overlap([UNLABELLED[layout](i, text) for i, text in enumerate(texts)], tmp_path)
    assert card["overlap"].summary["share"]["count"] == 10
    assert card["overlap"].summary["examples"] == 20
    assert card["overlap"].summary["answers"]["count"] == 0
    assert any("Read without labels" in note for note in card.dataset.notes)
