"""A Ray cluster gives the card that one machine gives, and loses nothing with a machine that it loses."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.data.loading import Unread
from cuecard.engines import Store, on_ray, stream

ray = pytest.importorskip("ray", reason="needs the extra ray")
from ray._private import ray_constants  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

PARTS = 8
STREAMED = ("overview", "cues")
#: Times that a machine of the cluster is started: Ray gives each 30 seconds, which a busy machine may exceed.
STARTS = 5


def started(start: Callable[[], Any]) -> Any:
    handler = signal.getsignal(signal.SIGTERM)
    for attempt in range(1, STARTS + 1):
        try:
            return start()
        except Exception as error:  # Ray raises nothing narrower
            if attempt == STARTS or "timed out during startup" not in str(error):
                raise
        finally:
            signal.signal(signal.SIGTERM, handler)  # every machine that starts here replaces it
    return None


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    frame = demo_nli(1_200, seed=4).instances.train.table.select("premise", "hypothesis", "label")
    size = -(-frame.height // PARTS)
    for i in range(PARTS):
        frame[i * size : (i + 1) * size].write_parquet(folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def cluster():
    local = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80_000_000}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        # As on Windows and macOS: servers listen on the loopback address alone.
        patch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setattr(sys, "excepthook", sys.excepthook)
        head = {**local, "include_dashboard": False}
        nodes = started(lambda: Cluster(initialize_head=True, head_node_args=head))
        started(lambda: nodes.add_node(**local))
        ray.init(address=nodes.address, log_to_driver=False)
        yield SimpleNamespace(nodes=nodes, add=lambda: started(lambda: nodes.add_node(**local)))
        ray.shutdown()
        nodes.shutdown()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def content(card):
    return json.loads(card.model_dump_json(exclude={"provenance"}))


@pytest.mark.slow
def test_a_cluster_that_loses_machines_gives_the_card_of_one_machine(shards, cluster, monkeypatch):
    expected = cc.audit(shards, only=STREAMED, memory="1KB")
    monkeypatch.setattr(on_ray, "BRANCHES", 3)  # so that eight parts are merged in three steps
    monkeypatch.setattr(on_ray, "CHECKPOINT", 1e9)  # none, however busy the machine is
    result, add, put = on_ray.OnRay.result, on_ray.OnRay.add, Store.put
    seen: Counter[str] = Counter()
    stored = []
    stage = ["survey"]

    def lose_a_machine(self, reference):
        seen[stage[-1]] += 1
        # In the middle of both stages, with tasks running on it and, in the second, counts that it keeps.
        if stage[-1] != "the rest" and seen[stage[-1]] == PARTS - 2:
            cluster.nodes.remove_node(next(iter(cluster.nodes.worker_nodes)), allow_graceful=False)
            cluster.add()
        return result(self, reference)

    def count(self, *arguments):
        stage.append("counts")
        add(self, *arguments)
        stage.append("the rest")

    def noted(self, stage, piece, summary):
        stored.append((stage, list(summary)))
        put(self, stage, piece, summary)

    monkeypatch.setattr(on_ray.OnRay, "result", lose_a_machine)
    monkeypatch.setattr(on_ray.OnRay, "add", count)
    monkeypatch.setattr(Store, "put", noted)
    card = cc.audit(shards, only=STREAMED, engine="ray")
    assert min(seen["survey"], seen["counts"]) >= PARTS - 2
    assert card.provenance.engine == f"ray, in {PARTS} parts"
    assert content(card) == content(expected)
    for name in STREAMED:
        for table in expected.sections[name].tables:
            assert card.tables[table].equals(expected.tables[table])
    # Counts come here once, added up; of single parts, only why families were skipped.
    assert [names for stage, names in stored if stage == "cues sums"] == [
        ["features", "copies", "copies complete"]
    ]
    assert all(names == ["skipped"] for stage, names in stored if stage == "cues")


def test_an_interrupted_audit_continues_its_counts_where_they_were(shards, cluster, monkeypatch):
    expected = cc.audit(shards, only=("cues",), features="word", memory="1KB")
    monkeypatch.setattr(on_ray, "CHECKPOINT", 0.0)  # what is done is kept at once
    add, put = on_ray.OnRay.add, on_ray.put_checkpoint
    begun, done = [], []

    def noted(self, stream, stage, summarise, sums, left):
        begun.append(list(left))
        add(self, stream, stage, summarise, sums, left)

    def interrupted(*arguments):
        put(*arguments)
        if len(begun) == 1 and len(kept := kept_pieces(arguments[0])) == 3:
            done.extend(kept)
            raise KeyboardInterrupt

    def kept_pieces(store):
        return [piece for own, _ in on_ray.checkpoints(store, "cues") for piece in own]

    monkeypatch.setattr(on_ray.OnRay, "add", noted)
    monkeypatch.setattr(on_ray, "put_checkpoint", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same command continues"):
        cc.audit(shards, only=("cues",), features="word", engine="ray")
    card = cc.audit(shards, only=("cues",), features="word", engine="ray")
    assert begun[0] == list(range(PARTS))
    assert sorted([*begun[1], *done]) == begun[0]
    assert content(card) == content(expected)
    for table in expected.sections["cues"].tables:
        assert card.tables[table].equals(expected.tables[table])


def test_copies_are_found_where_a_cluster_was_interrupted_before_that(tmp_path, cluster, monkeypatch):
    """Words stay on the cluster: whoever continues there reads them again, and surveys nothing again."""
    table = demo_choice(60, seed=2).instances.train.table
    questions = table.group_by("example_id", maintain_order=True).agg(
        pl.col("premise").first().alias("question"),
        pl.col("hypothesis").alias("choices"),
        pl.col("position").filter(pl.col("label") == "right").first().alias("answer"),
    )
    for i in range(3):  # some are asked again in another file
        questions.drop("example_id")[i * 15 : i * 15 + 30].write_parquet(tmp_path / f"{i}.parquet")
    asked = {"only": STREAMED, "features": "word"}
    expected = cc.audit(cc.load(tmp_path), **asked)
    put, find = Store.put, stream.write_units
    for engine in ("local", "ray"):
        stages = []
        with monkeypatch.context() as patched:
            patched.setattr(stream, "write_units", interrupted)
            with pytest.raises(KeyboardInterrupt):
                cc.audit(tmp_path, engine="ray", memory="1KB", **asked)
        with monkeypatch.context() as patched:
            patched.setattr(
                Store,
                "put",
                lambda self, stage, *rest, to=stages: (to.append(stage), put(self, stage, *rest)),
            )
            patched.setattr(
                stream, "write_units", lambda *arguments, to=stages: (to.append("units"), find(*arguments))
            )
            card = cc.audit(tmp_path, engine=engine, memory="1KB", **asked)
        assert stages[0] == "units"
        assert "survey" not in stages
        assert card.provenance.engine == f"{engine}, in 3 parts"
        assert content(card) == content(expected)
        for name in STREAMED:
            for table in expected.sections[name].tables:
                assert card.tables[table].equals(expected.tables[table])


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_bad_row_is_named_by_the_machine_that_reads_it(tmp_path, cluster):
    for i in range(3):
        rows = [f'{{"premise": "p", "hypothesis": "text {j}", "label": "{j % 2}"}}' for j in range(40)]
        rows[6] = rows[6][:-5] if i == 2 else rows[6]
        (tmp_path / f"{i}.jsonl").write_text("\n".join(rows))
    with pytest.raises(cc.CueCardError, match=r"[Rr]ow 7 of .*2\.jsonl"):
        cc.audit(tmp_path, only=("overview",), engine="ray")
    skipped = cc.audit(Unread(tmp_path, {"on_error": "skip"}), only=("overview",), engine="ray")
    assert skipped["overview"].summary["splits"]["train"]["examples"] == 119
    assert sum(skipped.dataset.dropped.values()) == 1
