"""A Ray cluster gives the card that one machine gives, and loses nothing with a machine that it loses."""

from __future__ import annotations

import json

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.data.loading import Unread
from cuecard.engines import on_ray

ray = pytest.importorskip("ray", reason="needs the extra ray")
from ray.cluster_utils import Cluster  # noqa: E402

PARTS = 8
STREAMED = ("overview", "cues")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    frame = demo_nli(1_200, seed=4).instances.train.table.select("premise", "hypothesis", "label")
    size = -(-frame.height // PARTS)
    for i in range(PARTS):
        frame[i * size : (i + 1) * size].write_parquet(folder / f"{i}.parquet")
    return folder


@pytest.fixture
def cluster():
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def content(card):
    return json.loads(card.model_dump_json(exclude={"provenance"}))


def test_a_cluster_that_loses_a_machine_gives_the_card_of_one_machine(shards, cluster, monkeypatch):
    expected = cc.audit(shards, only=STREAMED, memory="1KB")
    kept = []
    result = on_ray.OnRay._result

    def lose_a_machine(self, reference):
        kept.append(reference)
        if len(kept) == 3:  # in the middle of the first stage, with tasks running on it
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        return result(self, reference)

    monkeypatch.setattr(on_ray.OnRay, "_result", lose_a_machine)
    card = cc.audit(shards, only=STREAMED, engine="ray")
    assert len(kept) > 3
    assert card.provenance.engine == f"ray, in {PARTS} parts"
    assert content(card) == content(expected)
    for name in STREAMED:
        for table in expected.sections[name].tables:
            assert card.tables[table].equals(expected.tables[table])


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
