"""Speed-up of an audit from one to two Ray nodes of one processor each, both on this machine.

`pip install 'cuecard[ray]'`. The process that asks and Ray itself take processors as well: on a machine of two of them,
two nodes cannot halve the time. Processor seconds tell what is done where.

python -m benchmarks.ray_nodes 65000                    # pairs of each of 16 files, three times in turn
python -m benchmarks.ray_nodes --once --folder=pairs 65000    # once each, on pairs that stay in this folder
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

FILES, PAIRS = 16, 20_000
REPEATS = 3
#: Pairs that every process of the cluster reads before anything is timed, to load what it needs.
WARM = 2_000
_AUDIT = """
import json, os, resource, sys, time
import ray
from pathlib import Path
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
import cuecard as cc
folder, warm, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Nodes for tests keep 150 MB of objects in memory and write the others to files; one that is started keeps gigabytes.
local = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 2_000_000_000}
nodes = Cluster(initialize_head=True, head_node_args={**local, "include_dashboard": False})
for _ in range(n - 1):
    nodes.add_node(**local)
ray.init(address=nodes.address, log_to_driver=False)
asked = dict(only="cues", features="word,bigram", cache=False)
def ready(folder):
    cc.audit(folder, memory="1KB", **asked)
    return os.getpid()
# The process of every node loads what it needs, and stays.
there = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes()]
remote = ray.remote(num_cpus=1)(ready)
pids = ray.get([remote.options(scheduling_strategy=one).remote(warm) for one in there])
cc.audit(warm, engine="ray", **asked)
def spent(pid):
    of_process = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(of_process[11]) + int(of_process[12])) / os.sysconf("SC_CLK_TCK")
def workers():
    return {pid: spent(pid) for pid in pids}
took = {}
before, own = workers(), time.process_time()
began = time.perf_counter()
cc.audit(folder, engine="ray", **asked)
took["audit"] = time.perf_counter() - began
took["asking"] = time.process_time() - own
took["nodes"] = [seconds - before[pid] for pid, seconds in workers().items()]
print(json.dumps(took))
ray.shutdown()
nodes.shutdown()
"""


def main(argv: list[str]) -> None:
    """Print seconds with one and with two nodes, in turn, and the ratio of their medians.

    Args:
        argv: pairs of each of the files; with `--once`, each number of nodes is run once, and `--folder=PLACE` keeps
            the pairs there for the next time.
    """
    if find_spec("ray") is None:
        print("Ray is not installed: pip install 'cuecard[ray]'")
        return
    numbers = [int(text) for text in argv if not text.startswith("--")]
    kept = [text.removeprefix("--folder=") for text in argv if text.startswith("--folder=")]
    pairs = numbers[0] if numbers else PAIRS
    with nullcontext(kept[0]) if kept else tempfile.TemporaryDirectory() as place:
        folder = _written(Path(place) / f"{FILES} x {pairs}", pairs, FILES)
        warm = _written(Path(place) / f"{FILES} x {WARM}", WARM, FILES)
        repeats = 1 if "--once" in argv else REPEATS
        took = [{n: _run(folder, warm, n) for n in (1, 2)} for _ in range(repeats)]
    for what in ("audit",):
        one, two = (median(each[n][what] for each in took) for n in (1, 2))
        print(
            f"{what:14} {FILES * pairs:,} pairs: {one:.1f} s, {two:.1f} s with two nodes, ratio {one / two:.2f}"
        )
    for n in (1, 2):
        asking = median(each[n]["asking"] for each in took)
        busiest, together = (median(how(each[n]["nodes"]) for each in took) for how in (max, sum))
        print(
            f"processor seconds with {n}: {asking:.1f} of the process that asks, {together:.1f} of the nodes, "
            f"{busiest:.1f} of the busiest"
        )


def _written(folder: Path, pairs: int, files: int) -> Path:
    from cuecard.data.demo import demo_corpus

    if not folder.is_dir():
        folder.mkdir(parents=True)
        for i in range(files):
            demo_corpus(pairs, seed=i).write_parquet(folder / f"{i:02d}.parquet")
    return folder


def _run(folder: Path, warm: Path, nodes: int) -> dict[str, Any]:
    single = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    # Ray gives way to all other programs by default; here its workers are as urgent as the process that asks.
    single["RAY_worker_niceness"] = "0"
    ran = subprocess.run(
        [sys.executable, "-c", _AUDIT, str(folder), str(warm), str(nodes)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **single},
    )
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
