"""Files of object storage are read as those of the disk are."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from pyarrow import fs

import cuecard as cc
from cuecard.data.reading import remote as object_storage
from cuecard.data.reading.formats import is_address
from cuecard.data.reading.remote import _fetch
from cuecard.errors import InputError


def frames() -> list[pl.DataFrame]:
    rows = [
        (
            f"A man number {i} waits.",
            f"He is {'sleeping' if i % 2 else 'awake'} {i % 7}.",
            "no" if i % 3 else "yes",
        )
        for i in range(240)
    ]
    frame = pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row")
    return [frame[:100], frame[100:]]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory):
    """Make a bucket with two files: in moto's server on this machine or, without moto, in a folder that Arrow reads.

    Return the options of its address, and what adds an object.
    """
    try:
        import moto.server as server
    except ImportError:
        yield from bucket_in_a_folder(tmp_path_factory.mktemp("bucket"))
        return
    running = server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    host = ":".join(map(str, running.get_host_and_port()))
    options = f"?scheme=http&endpoint_override={host}&region=us-east-1"
    credentials = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in credentials.items():
            patch.setenv(f"AWS_{name}", value)
        system, _ = fs.FileSystem.from_uri(f"s3://shop{options}&allow_bucket_creation=true")
        system.create_dir("shop")

        def add(name: str, data: bytes) -> None:
            with system.open_output_stream(f"shop/{name}") as stream:
                stream.write(data)

        for i, frame in enumerate(frames()):
            add(f"shards/{i}.parquet", parquet(frame))
        add("shards/readme.txt", b"about the shards")
        yield options, add
    running.stop()


def bucket_in_a_folder(folder: Path):
    system = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())

    def add(name: str, data: bytes) -> None:
        (folder / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "shop" / name).write_bytes(data)

    for i, frame in enumerate(frames()):
        add(f"shards/{i}.parquet", parquet(frame))
    add("shards/readme.txt", b"about the shards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            object_storage,
            "_file_system",
            lambda address: (system, address.partition("?")[0].removeprefix("s3://")),
        )
        yield "?region=us-east-1", add


def parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def content(card: cc.Card) -> str:
    document = json.loads(card.model_dump_json(exclude={"provenance"}))
    del document["dataset"]["files"], document["dataset"]["name"]
    return json.dumps(document, sort_keys=True)


@pytest.mark.parametrize("memory", ["1GB", "1KB"])
def test_a_folder_and_a_glob_of_a_bucket_have_the_card_of_the_files_on_disk(bucket, memory, tmp_path):
    options, _ = bucket
    (tmp_path / "shards").mkdir()
    for i, frame in enumerate(frames()):
        frame.write_parquet(tmp_path / "shards" / f"{i}.parquet")
    expected = cc.audit(tmp_path / "shards", only=("overview", "cues"), memory=memory)
    for address in ("s3://shop/shards", "s3://shop/shards/*.parquet"):
        card = cc.audit(address + options, only=("overview", "cues"), memory=memory)
        assert content(card) == content(expected)
        assert card.dataset.name == "shards"


def test_an_object_that_changed_is_fetched_again_and_another_one_is_not(bucket, monkeypatch, tmp_path):
    options, add = bucket
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    first, second = frames()
    add("one/train.parquet", parquet(first))
    address = f"s3://shop/one/train.parquet{options}"
    assert cc.load(address).n_examples == 100
    kept = [path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.parquet")]
    assert cc.load(address).n_examples == 100
    assert [path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.parquet")] == kept
    add("one/train.parquet", parquet(second))
    assert cc.load(address).n_examples == 140


def test_a_star_fetches_no_object_of_a_folder_below(bucket, monkeypatch, tmp_path):
    options, add = bucket
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    first, second = map(parquet, frames())
    add("two/a.parquet", first)
    add("two/deep/b.parquet", second)
    assert cc.load(f"s3://shop/two/*.parquet{options}").n_examples == 100
    assert [file.name for file in tmp_path.rglob("*.parquet")] == ["a.parquet"]


def test_two_stars_fetch_objects_of_the_folder_itself_and_of_those_below(bucket, monkeypatch, tmp_path):
    options, add = bucket
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    first, second = map(parquet, frames())
    add("three/a.parquet", first)
    add("three/deep/b.parquet", second)
    add("three/deep/b.txt", b"about it")
    assert cc.load(f"s3://shop/three/**/*.parquet{options}").n_examples == 240


@pytest.mark.parametrize("place", ["v1.0", "v1.0/", "v1.0/a.parquet"])
def test_a_folder_may_have_a_dot_in_its_name(bucket, monkeypatch, tmp_path, place):
    options, add = bucket
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    add("v1.0/a.parquet", parquet(frames()[0]))
    assert cc.load(f"s3://shop/{place}{options}").n_examples == 100


@pytest.mark.parametrize("name", ["shards/9.parquet", "shards/*.csv", "nothing/*.parquet"])
def test_what_is_not_there_is_named(bucket, name):
    with pytest.raises(InputError, match=f"s3://shop/{name.split('/')[0]}.*check the address"):
        cc.load(f"s3://shop/{name}{bucket[0]}")


class Breaking:
    """A file system whose streams end early, with an error or without."""

    def __init__(self, error: OSError | None) -> None:
        self.error = error

    def open_input_stream(self, place: str):
        stream, error = io.BytesIO(b"half"), self.error

        class Stream(io.BytesIO):
            def read(self, size: int = -1) -> bytes:
                if not (block := stream.read(size)) and error is not None:
                    raise error
                return block

        return Stream()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError("connection reset"), r"shop/a\.csv cannot be fetched \(connection reset\): try again later"),
        (None, r"shop/a\.csv changed while it was fetched"),
    ],
)
def test_an_object_that_breaks_off_is_not_kept_and_the_disk_is_not_blamed(tmp_path, error, sentence):
    with pytest.raises(InputError, match=sentence):
        _fetch(Breaking(error), "shop/a.csv", tmp_path / "a.csv", 8)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["s3://me:hunter2@shop/a.csv", "abfs://shop/a.csv?client_secret=hunter2&tenant_id=1"]
)
def test_an_address_with_a_password_is_refused_and_not_repeated(address):
    with pytest.raises(InputError, match="leave it out of the address") as error:
        cc.load(address)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "expected"), [("s3://a/b", True), ("gs://a/b", True), ("s3/a", False), ("C://a", False)]
)
def test_an_address_is_told_from_a_path(source, expected):
    assert is_address(source) is expected
