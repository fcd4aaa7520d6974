"""A Ray cluster gives the card that one machine gives, and loses nothing with a machine that it loses."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.data import DatasetSpec, ReadOptions, ingest
from cuecard.data.demo import demo_nli
from cuecard.data.parallel import parts_of_rows
from cuecard.engines import on_ray
from cuecard.text import presence_counts, tokenise

ray = pytest.importorskip("ray", reason="needs the extra ray")
from ray._private import ray_constants  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

PARTS = 8
AUDITS = ("overview", "cues")
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
    expected = cc.audit(cc.load(shards), only=AUDITS)
    result, seen = on_ray.OnRay._result, Counter[str]()

    def lose_a_machine(self, reference):
        seen["results"] += 1
        if seen["results"] in (
            PARTS // 2,
            PARTS + 1,
        ):  # with tasks running on it: chunks are read, and counted
            cluster.nodes.remove_node(next(iter(cluster.nodes.worker_nodes)), allow_graceful=False)
        if seen["results"] == PARTS // 2:
            cluster.add()
        return result(self, reference)

    monkeypatch.setattr(on_ray.OnRay, "_result", lose_a_machine)
    monkeypatch.setattr("cuecard.text.tokens.COUNTED_PER_THREAD", 1)
    card = cc.audit(shards, only=AUDITS, engine="ray")
    assert seen["results"] > PARTS + 2  # texts and features of chunks as well
    assert card.provenance.engine == f"ray, in {PARTS} chunks"
    same(card, expected)


def test_counts_are_merged_on_a_cluster_that_loses_a_machine(cluster, monkeypatch):
    cluster.add()
    result, rng = on_ray.OnRay._result, np.random.default_rng(0)

    def lose_a_machine(self, reference):
        cluster.nodes.remove_node(next(iter(cluster.nodes.worker_nodes)), allow_graceful=False)
        return result(self, reference)

    monkeypatch.setattr(on_ray.OnRay, "_result", lose_a_machine)
    monkeypatch.setattr("cuecard.text.tokens.COUNTED_PER_THREAD", 1)
    tokens = tokenise(pl.Series([" ".join(rng.choice(list("abcdef"), 6)) for _ in range(500)]))
    labels = rng.integers(0, 3, 500).astype(np.int32)
    engine = on_ray.OnRay(ray)
    assert len(parts_of_rows(tokens.offsets, engine.parts, 1)) > 2
    counts = presence_counts(tokens, labels, 3, engine=engine)
    np.testing.assert_array_equal(counts, presence_counts(tokens, labels, 3))


@pytest.mark.parametrize("then", ["ray", "local"])
def test_an_interrupted_audit_continues_after_the_parts_that_were_read(then, shards, cluster, monkeypatch):
    expected = cc.audit(cc.load(shards), only=AUDITS)
    write = ingest.write_folder
    done: list[str] = []

    def noted(place, how):
        write(place, how)
        done.append(place.name)
        if len(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(ingest, "write_folder", noted)
    with pytest.raises(KeyboardInterrupt, match="the same command continues"):
        cc.audit(shards, only=AUDITS, engine="ray", memory="1KB")
    card = cc.audit(shards, only=AUDITS, engine=then, memory="1KB")
    assert sorted(done) == [f"{i:06d}" for i in range(PARTS)]
    assert card.provenance.engine == f"{then}, in {PARTS} chunks"
    same(card, expected)


def same(card, expected):
    documents = [content(one) for one in (card, expected)]
    for document in documents:
        del document["dataset"]["name"]
    assert documents[0] == documents[1]
    for name in AUDITS:
        for table in expected.sections[name].tables:
            assert card.tables[table].equals(expected.tables[table])


def test_a_bad_row_is_named_by_the_machine_that_reads_it(tmp_path, cluster):
    for i in range(3):
        rows = [f'{{"premise": "p", "hypothesis": "text {j}", "label": "{j % 2}"}}' for j in range(40)]
        rows[6] = rows[6][:-5] if i == 2 else rows[6]
        (tmp_path / f"{i}.jsonl").write_text("\n".join(rows))
    with pytest.raises(cc.CueCardError, match=r"[Rr]ow 7 of .*2\.jsonl"):
        cc.audit(tmp_path, only=("overview",), engine="ray")
    skipped = cc.audit(
        DatasetSpec(tmp_path, options=ReadOptions(on_error="skip")), only=("overview",), engine="ray"
    )
    assert skipped["overview"].summary["splits"]["train"]["examples"] == 119
    assert sum(skipped.dataset.dropped.values()) == 1
