"""Speed-up of an audit from one to two Ray nodes of one processor each, both on this machine.

`pip install 'cuecard[ray]'`. On a machine of two processors, the two nodes share them with the process that asks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median

FILES, PAIRS = 16, 20_000
REPEATS = 3
_AUDIT = """
import json, sys, time
import ray
from ray.cluster_utils import Cluster
import cuecard as cc
from cuecard.engines.on_ray import OnRay
folder, n = sys.argv[1], int(sys.argv[2])
local = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
nodes = Cluster(initialize_head=True, head_node_args={**local, "include_dashboard": False})
for _ in range(n - 1):
    nodes.add_node(**local)
ray.init(address=nodes.address, log_to_driver=False)
asked = dict(only="cues", features="word,bigram", engine="ray", cache=False)
cc.audit(folder + "/0.parquet", **asked)  # starts one process; that of a second node starts within what is timed
took, add = {}, OnRay.add
def timed(*arguments):
    began = time.perf_counter()
    add(*arguments)
    took["counts"] = time.perf_counter() - began
OnRay.add = timed
began = time.perf_counter()
cc.audit(folder, **asked)
took["audit"] = time.perf_counter() - began
print(json.dumps(took))
ray.shutdown()
nodes.shutdown()
"""


def main(argv: list[str]) -> None:
    """Print seconds with one and with two nodes, in turn, and the ratio of their medians.

    Args:
        argv: pairs of each of the files.
    """
    if find_spec("ray") is None:
        print("Ray is not installed: pip install 'cuecard[ray]'")
        return
    from cuecard.data.demo import demo_corpus

    pairs = int(argv[0]) if argv else PAIRS
    with tempfile.TemporaryDirectory() as folder:
        for i in range(FILES):
            demo_corpus(pairs, seed=i).write_parquet(Path(folder) / f"{i}.parquet")
        took = [{n: _run(folder, n) for n in (1, 2)} for _ in range(REPEATS)]
        for what in ("counts", "audit"):
            one, two = (median(each[n][what] for each in took) for n in (1, 2))
            print(
                f"{what:6} {FILES * pairs:,} pairs: {one:.1f} s, {two:.1f} s with two nodes, ratio {one / two:.2f}"
            )


def _run(folder: str, nodes: int) -> dict[str, float]:
    single = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", _AUDIT, folder, str(nodes)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **single},
    )
    said: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
