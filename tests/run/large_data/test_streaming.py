"""A dataset that is gone through in parts has the card that it has in memory."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuecard as cc
from cuecard.data import DatasetSpec, ReadOptions, ingest, load
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.data.space import Engine, write_folder
from cuecard.errors import UsageError
from cuecard.run import kept_until_written
from cuecard.stats.arrays import chunks
from cuecard.writing import locked

STREAMED = ("overview", "cues")


def as_files(frame: pl.DataFrame, folder: Path, *, files: int, groups: int, kind: str = "parquet") -> Path:
    """Write a table as several files, each with several row groups."""
    folder.mkdir(parents=True)
    size = -(-frame.height // files)
    for i in range(files):
        part = frame[i * size : (i + 1) * size]
        if kind == "parquet":
            part.write_parquet(folder / f"{i:02d}.parquet", row_group_size=-(-part.height // groups))
        else:
            part.write_ndjson(folder / f"{i:02d}.jsonl")
    return folder


def pairs(n: int = 700) -> pl.DataFrame:
    """Return pairs with repeated premises, copies, near copies, conflicting labels and placeholders."""
    table = demo_nli(n, seed=4).instances.train.table
    frame = table.select("premise", "hypothesis", pl.col("label").cast(pl.String))
    copies = frame[:40].with_columns(hypothesis=pl.col("hypothesis").str.to_uppercase())
    other = frame[40:60].with_columns(label=pl.lit(frame["label"][0]))
    empty = frame[60:70].with_columns(premise=pl.lit("n/a"))
    return pl.concat([frame, copies, other, empty])


def choices(n: int = 150) -> pl.DataFrame:
    """Return questions with choices, some of them asked twice."""
    table = demo_choice(n, seed=2).instances.train.table
    frame = table.group_by("example_id", maintain_order=True).agg(
        pl.col("premise").first().alias("question"),
        pl.col("hypothesis").alias("choices"),
        pl.col("position").filter(pl.col("label") == "right").first().alias("answer"),
    )
    return pl.concat([frame, frame[:20]]).drop("example_id")


def content(card: cc.Card) -> str:
    """Return everything of a card but its provenance and the names of its files."""
    document = json.loads(card.model_dump_json(exclude={"provenance"}))
    del document["dataset"]["files"], document["dataset"]["name"]
    document["dataset"]["notes"] = [n for n in document["dataset"]["notes"] if " is read from " not in n]
    return json.dumps(document, sort_keys=True)


def spec(folder: Path, **options: object) -> DatasetSpec:
    return DatasetSpec(folder, options=ReadOptions(**options))


def same_cards(one: cc.Card, other: cc.Card, sections=STREAMED) -> None:
    assert content(one) == content(other)
    for name in sections:
        for table in one.sections[name].tables:
            assert_frame_equal(one.tables[table], other.tables[table], check_exact=True)
    assert_frame_equal(one.tables["examples"], other.tables["examples"], check_exact=True)


@pytest.mark.parametrize(("make", "rows"), [(pairs, 150), (choices, 11)])
def test_any_number_of_parts_gives_the_card_of_the_dataset_in_memory(make, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", rows)
    frame = make()
    train, test = frame[:-60], frame[-60:]
    test.write_parquet(tmp_path / "test.parquet")
    expected = None
    for files, groups, kind, parts in ((1, 5, "parquet", 6), (3, 2, "parquet", 7), (2, 1, "jsonl", 3)):
        folder = as_files(train, tmp_path / f"{files}-{groups}-{kind}", files=files, groups=groups, kind=kind)
        card = cc.audit(folder, test=tmp_path / "test.parquet", only=STREAMED, memory="1KB")
        if expected is None:
            expected = cc.audit(load(folder, test=tmp_path / "test.parquet"), only=STREAMED)
            assert expected.sections["cues"].table["significant"].any()
        assert card.provenance.engine == f"local, in {parts} chunks"
        same_cards(card, expected)
        notes = load(folder, test=tmp_path / "test.parquet").report.notes
        assert [note.split(":")[0] for note in notes] == [f"The training set is read from {files} files"] * (
            files > 1
        )
        assert tuple(card.dataset.notes) == notes


@pytest.mark.parametrize(("make", "rows"), [(pairs, 80), (pairs, 7), (choices, 80)])
def test_what_is_bounded_in_memory_changes_nothing(make, rows, tmp_path, monkeypatch):
    """Every bound is so small that there are several buckets, parts of sums and parts of comparisons."""
    monkeypatch.setattr(chunks, "__defaults__", (60,))
    for bound, size in (
        ("data.units.buckets.RECORDS", 40),
        ("data.fingerprint.HASHED", 30),
        ("data.fingerprint.COMPARED", 100),
        ("data.splits.AT_A_TIME", 50),
        ("data.space.SMALL", 0),
        ("data.space.LARGE", 1 << 12),
        ("audits.repeated_inputs.AT_A_TIME", 90),
        ("audits.overview.AT_A_TIME", 90),
        ("audits.cues.replication.AT_A_TIME", 50),
        ("stats.units.codes.AT_A_TIME", 60),
        ("data.units.copies._READ_AGAIN", 30),
        ("data.units.copies._DIVIDED", 40),
        ("text.similarity.READ", 50),
        ("text.similarity.TOGETHER", 300),
        ("text.encoded.MANY_TOKENS", 100),
        ("features.units.MANY_ROWS", 100),
        ("data.loading.MOST_ROWS", rows),
    ):
        module, _, name = bound.rpartition(".")
        monkeypatch.setattr(import_module(f"cuecard.{module}"), name, size)
    frame = make().sample(fraction=1, shuffle=True, seed=3)  # copies are in different parts
    folder = as_files(frame[:-60], tmp_path / "files", files=2, groups=3)
    frame[-60:].write_parquet(tmp_path / "test.parquet")
    card = cc.audit(folder, test=tmp_path / "test.parquet", only=STREAMED, memory="1KB")
    monkeypatch.undo()
    same_cards(card, cc.audit(load(folder, test=tmp_path / "test.parquet"), only=STREAMED))


def test_many_labels_are_counted_sparsely_with_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 300)
    monkeypatch.setattr("cuecard.features.counts.MAXIMUM_CELLS", 4_000)  # rare bigrams are left out
    frame = pairs().with_columns(label="topic " + (pl.int_range(pl.len()) % 40).cast(pl.String))
    frame = frame.with_columns(hypothesis=pl.col("hypothesis") + " " + pl.col("label"))
    folder = as_files(frame, tmp_path / "files", files=2, groups=2)
    expected = cc.audit(load(folder), only=("cues",))
    assert any(finding.id.endswith("rare-features") for finding in expected.findings)
    same_cards(cc.audit(folder, only=("cues",), memory="1KB"), expected, ("cues",))


@pytest.mark.parametrize("make", [pairs, choices])
def test_of_too_many_features_the_same_ones_are_tested_in_parts(make, tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 100)
    monkeypatch.setattr("cuecard.features.counts.MAXIMUM_CELLS", 12 * 40)  # 40 features of a family
    monkeypatch.setattr("cuecard.audits.cues.redundancy.AT_A_TIME", 7)
    folder = as_files(make(), tmp_path / "files", files=2, groups=2)
    expected = cc.audit(load(folder), only=("cues",))
    assert any(finding.id.endswith("rare-features") for finding in expected.findings)
    assert expected.tables["cues"].group_by("family").len()["len"].max() <= 40
    same_cards(cc.audit(folder, only=("cues",), memory="1KB"), expected, ("cues",))


@pytest.mark.parametrize("make", [pairs, choices])
def test_a_development_split_between_train_and_test_is_not_counted_in_parts(make, tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 100)
    frame, folder = make(), tmp_path / "files"
    folder.mkdir()
    for name, part in (("train", frame[:-90]), ("dev", frame[-90:-50]), ("test", frame[-50:])):
        part.write_parquet(folder / f"{name}.parquet")
    expected = cc.audit(load(folder), only=STREAMED)
    assert expected.dataset.splits["dev"].examples == 40
    assert expected.sections["cues"].table["significant"].any()
    same_cards(cc.audit(folder, only=STREAMED, memory="1KB"), expected)


def test_parts_that_are_done_in_any_order_give_the_same_card(tmp_path, monkeypatch):
    folder = as_files(pairs(), tmp_path / "files", files=2, groups=3)
    expected = cc.audit(load(folder), only=STREAMED)
    forwards = Engine.map

    def backwards(self, function, items):
        return ((len(items) - 1 - place, done) for place, done in forwards(self, function, items[::-1]))

    monkeypatch.setattr(Engine, "map", backwards)
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 100)
    card = cc.audit(folder, only=STREAMED, memory="1KB")
    assert card.provenance.engine == "local, in 6 chunks"
    same_cards(card, expected)


def test_files_in_another_order_have_the_same_numbers_tables_and_sentences(tmp_path):
    folder = as_files(pairs(), tmp_path / "files", files=4, groups=1)
    shuffled = tmp_path / "shuffled"
    shuffled.mkdir()
    for i, file in enumerate((2, 0, 3, 1)):
        shutil.copy(folder / f"{file:02d}.parquet", shuffled / f"{i:02d}.parquet")
    cards = [cc.audit(place, only=STREAMED, memory="1KB") for place in (folder, shuffled)]
    documents = [json.loads(content(card)) for card in cards]
    for document in documents:  # the order is part of the fingerprint, and the first examples are shown
        del document["dataset"]["fingerprint"]
        for finding in document["findings"]:
            del finding["evidence"]
    assert documents[0] == documents[1]
    for table in (name for section in STREAMED for name in cards[0].sections[section].tables):
        assert_frame_equal(*(card.tables[table] for card in cards), check_exact=True)


def test_what_cannot_be_gone_through_in_parts_says_on_how_many_examples_it_rests(tmp_path, monkeypatch):
    folder = as_files(pairs(), tmp_path / "files", files=1, groups=2)
    assert cc.audit(folder, only=("overview", "slices"), memory="1KB").sections["slices"].sampled == {}
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", 300)
    card = cc.audit(folder, only=("overview", "clusters"), memory="1KB")
    assert card.sections["clusters"].sampled == {"train": 300}
    assert card.sections["overview"].sampled == {}
    note = "Clusters of meaning and the table of examples rest on a random sample of 300 training examples;"
    assert note in card.dataset.notes[-1]
    assert card.tables["examples"].height == 300
    other = cc.audit(folder, only=("clusters",), memory="1KB", seed=1)
    assert not other.tables["examples"]["example_id"].equals(card.tables["examples"]["example_id"])


def test_a_dataset_that_fits_is_read_at_once(tmp_path):
    folder = as_files(pairs(300), tmp_path / "files", files=2, groups=1)
    assert cc.audit(folder, only=("overview",), memory="4GB").provenance.engine == ""


def test_weights_work_at_any_size(tmp_path):
    path = tmp_path / "pairs.parquet"
    pairs(300).with_columns(weight=pl.int_range(pl.len()) % 3 + 1.0).write_parquet(path)
    card = cc.audit(path, only=STREAMED, memory="1KB", weights="weight")
    same_cards(card, cc.audit(load(path), only=STREAMED, weights="weight"))


@pytest.mark.parametrize(
    "options",
    [
        {"holdout": 0.2, "seed": 3},
        {"cluster": "source"},
        {"keep_unlabelled": True},
        {"label_file": "labels.txt"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_reading_work_at_any_size(options, tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 90)
    frame = pairs(300).with_columns(source=pl.int_range(pl.len()) // 4)
    if "label_file" in options:
        options = {"label_file": tmp_path / options["label_file"]}
        options["label_file"].write_text("\n".join(frame["label"].reverse()))
        frame = frame.drop("label")
    else:
        frame = frame.with_columns(label=pl.when(pl.int_range(pl.len()) % 9 > 0).then("label"))
    folder = as_files(frame, tmp_path / "files", files=2, groups=3)
    card = cc.audit(spec(folder, **options), only=STREAMED, memory="1KB")
    same_cards(card, cc.audit(load(folder, **options), only=STREAMED))


@pytest.mark.parametrize("size", ["", "much", "-1GB", "0"])
def test_a_size_that_is_none_is_answered_with_one(tmp_path, size):
    with pytest.raises(UsageError, match="such as 4GB"):
        cc.audit(tmp_path / "pairs.parquet", memory=size)


KILLED = """
import sys, cuecard as cc
from cuecard.data import ingest
write = ingest.write_folder
def write_slowly(place, how):
    write(place, how)
    if place.name == "000002":
        print("reached", flush=True)
        sys.stdin.read()
ingest.write_folder = write_slowly
cc.audit(sys.argv[1], only=("overview", "cues"), memory="1KB")
"""


def test_a_killed_audit_continues_with_the_part_it_had_reached(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder = as_files(pairs(9_000), tmp_path / "files", files=1, groups=5)
    running = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "reached\n"
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    titles: list[str] = []

    def progress(title: str):
        titles.append(title)
        return nullcontext()

    card = cc.audit(folder, only=STREAMED, memory="1KB", progress=progress)
    assert "Reading (resumes after 3 of 5 chunks)" in titles
    same_cards(card, cc.audit(load(folder), only=STREAMED))
    assert not list((tmp_path / "cache" / "stream").iterdir())  # done: nothing is left to continue


def test_an_audit_that_is_interrupted_between_stages_says_where_it_resumes(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder = as_files(pairs(400), tmp_path / "files", files=2, groups=1)
    titles: list[str] = []

    def stopping(title: str):
        titles.append(title)
        if title == "Overview":
            raise KeyboardInterrupt
        return nullcontext()

    with pytest.raises(KeyboardInterrupt, match="continues"):
        cc.audit(folder, only=("overview",), memory="1KB", progress=stopping)
    assert not any("resumes" in title for title in titles)
    titles.clear()
    cc.audit(folder, only=("overview",), memory="1KB", progress=lambda t: titles.append(t) or nullcontext())
    assert "Reading (resumes after all 2 chunks)" in titles


def test_what_was_learned_is_kept_until_the_card_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder, kept = as_files(pairs(400), tmp_path / "files", files=2, groups=1), tmp_path / "cache" / "stream"

    def stopped_before_the_card_is_written() -> None:
        with kept_until_written():
            cc.audit(folder, only=("overview",), memory="1KB")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="continues"):
        stopped_before_the_card_is_written()
    assert list(kept.iterdir())
    with kept_until_written():
        cc.audit(folder, only=("overview",), memory="1KB")
        [store] = [path for path in kept.iterdir() if path.is_dir()]
        with locked(store):
            assert store.is_dir()
    assert not list(kept.iterdir())


def test_a_run_that_uses_what_was_learned_by_another_one_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder, kept = as_files(pairs(400), tmp_path / "files", files=2, groups=1), tmp_path / "cache" / "stream"
    with ExitStack() as other:
        with kept_until_written():
            cc.audit(folder, only=("overview",), memory="1KB")
            [store] = [path for path in kept.iterdir() if path.is_dir()]
            other.enter_context(locked(store))
        assert store.is_dir()


def test_a_bad_row_is_named_with_its_file_and_skipped_where_that_is_allowed(tmp_path):
    folder = as_files(pairs(300), tmp_path / "files", files=2, groups=1, kind="jsonl")
    lines = (folder / "01.jsonl").read_text().splitlines()
    lines[4] = lines[4][:-10]
    (folder / "01.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(cc.CueCardError, match=r"[Rr]ow 5 of .*01\.jsonl"):
        cc.audit(folder, only=("overview",), memory="1KB")
    card = cc.audit(spec(folder, on_error="skip"), only=("overview",), memory="1KB")
    assert sum(card.dataset.dropped.values()) == 1
    same_cards(card, cc.audit(load(folder, on_error="skip"), only=("overview",)), ("overview",))


def test_a_damaged_row_group_and_a_damaged_file_are_named_and_left_out_where_that_is_allowed(tmp_path):
    folder = as_files(pairs(600), tmp_path / "files", files=4, groups=2)
    damaged = bytearray((folder / "01.parquet").read_bytes())
    damaged[2_000:2_100] = b"x" * 100
    (folder / "01.parquet").write_bytes(bytes(damaged))
    with pytest.raises(cc.CueCardError, match=r"01\.parquet after row 0 is damaged"):
        cc.audit(folder, only=("overview",), memory="1KB")
    cut = (folder / "02.parquet").read_bytes()
    (folder / "02.parquet").write_bytes(cut[: len(cut) // 2])
    with pytest.raises(cc.CueCardError, match=r"damaged rows 1 to 65 of 01\.parquet: 65.*max_skipped=66"):
        cc.audit(spec(folder, on_error="skip"), only=("overview",), memory="1KB")
    allowed = {"on_error": "skip", "max_skipped": 66}
    card = cc.audit(spec(folder, **allowed), only=STREAMED, memory="1KB")
    assert card.dataset.dropped == {"damaged rows 1 to 65 of 01.parquet": 65, "damaged file 02.parquet": 1}
    same_cards(card, cc.audit(load(folder, **allowed), only=STREAMED))
    (folder / "02.parquet").write_text("no parquet at all")
    assert cc.audit(spec(folder, **allowed), only=("overview",), memory="1KB").dataset == card.dataset
    assert load(folder, **allowed).report.dropped == card.dataset.dropped
    for name in ("00", "01", "03"):
        (folder / f"{name}.parquet").unlink()
    for read in (partial(load, folder, **allowed), lambda: cc.audit(spec(folder, **allowed), memory="1KB")):
        with pytest.raises(cc.CueCardError):
            read()


def test_files_of_which_most_cannot_be_opened_are_no_dataset(tmp_path):
    folder = as_files(pairs(600), tmp_path / "files", files=3, groups=1)
    for name in ("01", "02"):
        (folder / f"{name}.parquet").write_bytes((folder / f"{name}.parquet").read_bytes()[:2_000])
    said = r"2 of the 3 files .*00\.parquet.* cannot be opened: copy or export them again, or name the others"
    allowed = {"on_error": "skip"}
    for read in (partial(load, folder, **allowed), lambda: cc.audit(spec(folder, **allowed), memory="1KB")):
        with pytest.raises(cc.CueCardError, match=said):
            read()


def test_a_row_without_an_id_repeats_none_of_another_row(tmp_path):
    table = pairs(300).with_columns(id=pl.int_range(2, pl.len() + 2).cast(pl.String))
    table = table.with_columns(id=pl.when(pl.int_range(pl.len()) == 30).then(None).otherwise("id"))
    folder = as_files(table, tmp_path / "files", files=3, groups=1)
    card = cc.audit(folder, only=("overview",), memory="1KB")
    assert card.dataset.dropped == {}
    same_cards(card, cc.audit(load(folder), only=("overview",)), ("overview",))
    assert "row 31" in card.tables["examples"]["example_id"]


def test_a_file_without_rows_and_one_without_labels_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 150)
    frame = pairs(300)
    unlabelled = frame[:30].with_columns(label=pl.lit(None, dtype=pl.String))
    folder = tmp_path / "files"
    folder.mkdir()
    for i, part in enumerate((frame[:0], frame[:200], frame[:0], unlabelled, frame[200:])):
        part.write_parquet(folder / f"{i}.parquet")
    expected = cc.audit(load(folder), only=STREAMED)
    assert expected.dataset.dropped == {"missing label": 30}
    same_cards(cc.audit(folder, only=STREAMED, memory="1KB"), expected)
    card = cc.audit(spec(folder, on_error="skip"), only=STREAMED, memory="1KB")
    same_cards(card, expected)


def test_what_a_killed_run_has_staged_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder = as_files(pairs(300), tmp_path / "files", files=2, groups=1)
    write = ingest.write_folder

    def killed(place: Path, how) -> None:
        write(place, how)
        shutil.copytree(place, place.with_name(".staged"))
        raise KeyboardInterrupt

    monkeypatch.setattr(ingest, "write_folder", killed)
    with pytest.raises(KeyboardInterrupt):
        cc.audit(folder, only=("overview",), memory="1KB")
    monkeypatch.setattr(ingest, "write_folder", write)
    card = cc.audit(folder, only=("overview",), memory="1KB")
    same_cards(card, cc.audit(load(folder), only=("overview",)), ("overview",))


def test_an_interrupted_write_leaves_nothing_behind(tmp_path):
    def half(staged: Path) -> None:
        (staged / "0.arrow").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "read" / "000000", half)
    assert not list((tmp_path / "read").iterdir())


def resumed(folder: Path, monkeypatch, *, memory: str, then: str, change=lambda: None) -> bool:
    """Return whether an audit that is interrupted after reading continues when it runs again."""
    done: list[str] = []
    write = ingest.write_folder

    def noted(place, how):
        done.append(place.name)
        write(place, how)

    def interrupted(title: str):
        if title == "Cues":
            raise KeyboardInterrupt
        return nullcontext()

    with pytest.raises(KeyboardInterrupt):
        cc.audit(folder, only=("cues",), memory=memory, progress=interrupted)
    change()
    with monkeypatch.context() as patched:
        patched.setattr(ingest, "write_folder", noted)
        cc.audit(folder, only=("cues",), memory=then)
    return not done


def test_an_interrupted_run_continues_with_a_little_more_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cuecard.data.loading.FEWEST_ROWS", 1)
    folder = as_files(pairs(300), tmp_path / "files", files=2, groups=1)
    assert resumed(folder, monkeypatch, memory="500KB", then="520KB")
    assert not resumed(folder, monkeypatch, memory="500KB", then="100KB")


def test_an_interrupted_run_does_not_continue_where_a_file_of_a_folder_has_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "classes"
    for label, word in (("good", "fine"), ("bad", "poor")):
        (folder / label).mkdir(parents=True)
        for i in range(12):
            (folder / label / f"{i}.txt").write_text(f"a {word} film number {i}")
    file = folder / "good" / "3.txt"
    assert resumed(folder, monkeypatch, memory="1KB", then="1KB")
    change = partial(file.write_text, "another film")
    assert not resumed(folder, monkeypatch, memory="1KB", then="1KB", change=change)


def test_scored_responses_of_a_prompt_in_several_rows_are_one_example(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 20)
    rows = [(f"question {i // 3}", f"answer {i}", float(i % 3)) for i in range(100)]
    frame = pl.DataFrame(rows, schema=["prompt", "response", "score"], orient="row")
    folder = as_files(frame, tmp_path / "files", files=2, groups=1)
    same_cards(
        cc.audit(folder, only=("overview",), memory="1KB"),
        cc.audit(load(folder), only=("overview",)),
        ("overview",),
    )


def test_ids_that_begin_again_in_every_file_are_replaced_by_numbers(tmp_path):
    frame = pairs(300).with_columns(id=pl.int_range(pl.len()) % 185)
    folder = as_files(frame, tmp_path / "files", files=2, groups=1)
    assert frame["id"][185] == frame["id"][0] == 0
    audits = ("overview", "cues", "partial_input")
    card = cc.audit(folder, only=audits, memory="1KB")
    assert "Column 'id' repeats values" in card.dataset.notes[-1]
    same_cards(card, cc.audit(load(folder), only=audits), audits)
    for options in ({"columns": {"id": "id"}}, {"columns": {"id": "id"}, "on_error": "skip"}):
        with pytest.raises(cc.CueCardError) as in_memory:
            cc.load(folder, **options)
        with pytest.raises(cc.CueCardError, match=re.escape(str(in_memory.value))):
            cc.audit(spec(folder, **options), only=("overview",), memory="1KB")


def test_rows_without_a_text_are_counted_over_all_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", 40)
    empty = pl.int_range(pl.len()) % 10 == 0
    frame = pairs(300).with_columns(hypothesis=pl.when(~empty).then("hypothesis"))
    folder = as_files(frame, tmp_path / "files", files=2, groups=1)
    card = cc.audit(folder, only=("overview",), memory="1KB")
    assert [f"is empty in {len(frame.filter(empty))} rows" in note for note in card.dataset.notes[1:]] == [
        True
    ]
    same_cards(card, cc.audit(load(folder), only=("overview",)), ("overview",))


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "file" / "cache"))
    folder = as_files(pairs(300), tmp_path / "files", files=2, groups=1)
    card = cc.audit(folder, only=("overview",), memory="1KB")
    assert card.provenance.engine == "local, in 2 chunks"


def test_a_test_split_without_labels_is_refused_where_the_user_names_it_and_noted_otherwise(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    frame = pairs(300)
    frame[:200].write_parquet(folder / "train.parquet")
    hidden = frame[200:].with_columns(label=pl.lit(None, dtype=pl.String))
    hidden.write_parquet(folder / "test.parquet")
    with pytest.raises(cc.CueCardError, match="can be used for test"):
        cc.audit(folder / "train.parquet", test=folder / "test.parquet", only=("overview",), memory="1KB")
    card = cc.audit(folder, only=("overview",), memory="1KB")
    assert "The test split has no labels and is not used." in card.dataset.notes
    same_cards(card, cc.audit(load(folder), only=("overview",)), ("overview",))
