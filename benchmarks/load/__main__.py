"""`python -m benchmarks.load`: 20 users browse a card of 5 million examples while two audits run.

Prints the time of requests by kind, errors, the server's memory, and its processor time per request; the latter does
not depend on what else the machine does. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.load.generated_card import LABELS, generated_root

#: What is promised: the 95th percentile in milliseconds, and the server's memory in MB.
MOST_MS, MOST_MB = 500.0, 600.0
SEARCHES = ("b", "ba", "bada", "kilo", "no", "tene", "ru", "pa-1", "so")


class Server:
    """The app in a process of its own."""

    def __init__(self, root: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        words = [sys.executable, "-m", "cuecard", "serve", "--root", str(root), "--port", str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                self.token = re.findall(r'name="cuecard-page" content="([^"]+)"', self.get("/")[1])[0]
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def get(self, path: str, method: str = "GET", body: Any = None) -> tuple[int, str]:
        """Return status and text of one answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {} if body is None else {"x-cuecard-page": self.token, "content-type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def processor_seconds(self) -> float:
        """Return what the server itself, without its jobs, has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[str, float]:
        """Return its memory in MB: the most it had, and what of the present one is its own or mapped files."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        size = {name: int(kb) / 1024 for name, kb in re.findall(r"(\w+):\s+(\d+) kB", text)}
        return {"peak": size["VmHWM"], "own": size["RssAnon"], "mapped": size["RssFile"]}


def requests_of(draw: random.Random, card: str, cues: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the kind and the address of what a user looks at next."""
    api, cue = f"/api/cards/{card}", draw.choice(cues)
    kind = draw.choice(
        ["page", "library", "cue search", "cue", "examples", "examples", "cue examples", "table"]
    )
    offset = 50 * draw.choice([0, 0, 0, 1, 2, 40])
    if kind == "page":
        return kind, draw.choice([f"/cards/{card}", f"/cards/{card}/cues", f"/cards/{card}/examples", "/"])
    if kind == "library":
        return kind, "/api/cards"
    if kind == "cue search":
        search = draw.choice(SEARCHES)
        return kind, f"{api}/tables/cues?search={search}&sort=z&by_size=true&offset={offset}"
    if kind == "cue":
        return kind, f"{api}/cues/{quote(cue['family'])}/{quote(cue['feature'], safe='')}"
    if kind == "cue examples":
        return kind, f"{api}/examples?family=word&feature=word-{draw.randrange(2_000)}&limit=25"
    if kind == "table":
        return kind, f"{api}/tables/cues?sort={draw.choice(['z', 'share', 'train_count'])}&offset={offset}"
    where = draw.sample(
        [
            f"label:=:{draw.choice(LABELS)}", f"split:=:{draw.choice(['train', 'dev', 'test'])}",
            f"cluster:=:{draw.randrange(100)}", "leak_score:>:0.9", "solved_by_hypothesis:=:1",
        ],
        draw.randrange(3),
    )  # fmt: skip
    filters = "".join(f"&where={quote(one)}" for one in where)
    return kind, f"{api}/examples?limit=25&offset={offset}&sort={draw.choice(['', 'leak_score'])}{filters}"


def browse(server: Server, seed: int, card: str, cues: list[dict[str, Any]], until: float, took: Any) -> None:
    """Look at one thing after the other, with a second to read it."""
    draw = random.Random(seed)
    time.sleep(draw.random())
    while time.monotonic() < until:
        kind, path = requests_of(draw, card, cues)
        begun = time.perf_counter()
        try:
            status, _ = server.get(path)
        except OSError:
            status = 0
        took.append((kind, 1000 * (time.perf_counter() - begun), status == 200, path))
        time.sleep(draw.uniform(0.5, 1.5))


def keep_auditing(server: Server, until: float) -> None:
    """Keep two audits in work."""
    done = 0
    while time.monotonic() < until:
        jobs = json.loads(server.get("/api/jobs")[1])["jobs"]
        for i in range(2 - sum(job["status"] in ("queued", "running") for job in jobs)):
            body = {
                "data": {"train": f"data/pairs{i}.csv"},
                "name": f"audit{os.getpid()}-{done}",
                "seed": done,
            }
            server.get("/api/audits", "POST", body)
            done += 1
        time.sleep(1)
    for job in json.loads(server.get("/api/jobs")[1])["jobs"]:
        if job["status"] in ("queued", "running"):
            server.get(f"/api/jobs/{job['id']}/cancel", "POST", {})


def percentile(values: list[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main(argv: list[str] | None = None) -> int:
    """Run it and print what it cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--examples", type=int, default=5_000_000)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--root", type=Path, default=Path(tempfile.gettempdir()) / "cuecard-load")
    parser.add_argument("--no-audits", action="store_true", help="browse only")
    options = parser.parse_args(argv)
    root = generated_root(options.root, options.examples)
    server = Server(root)
    took: list[tuple[str, float, bool, str]] = []
    try:
        cards = json.loads(server.get("/api/cards")[1])["cards"]
        card = next(one["id"] for one in cards if one["place"] == "cards/large")
        cues = json.loads(server.get(f"/api/cards/{card}/tables/cues?limit=200")[1])["rows"]
        cues = [cue for cue in cues if "/" not in cue["feature"]]
        before, load = server.processor_seconds(), os.getloadavg()[0]
        until = time.monotonic() + options.seconds
        threads = [
            threading.Thread(target=browse, args=(server, i, card, cues, until, took))
            for i in range(options.users)
        ]
        if not options.no_audits:
            threads.append(threading.Thread(target=keep_auditing, args=(server, until)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used, memory = server.processor_seconds() - before, server.memory()
    finally:
        server.process.terminate()
        server.process.wait(30)
    by_kind: dict[str, list[float]] = defaultdict(list)
    for kind, milliseconds, _, _ in took:
        by_kind[kind].append(milliseconds)
    for kind, values in sorted(by_kind.items()):
        print(
            f"{kind:14} {len(values):5} requests, median {percentile(values, 0.5):6.0f} ms, "
            f"p95 {percentile(values, 0.95):6.0f} ms"
        )
    everything = [milliseconds for _, milliseconds, _, _ in took]
    errors = [path for _, _, fine, path in took if not fine]
    p95 = percentile(everything, 0.95)
    print(
        f"all            {len(took):5} requests, p95 {p95:.0f} ms (goal {MOST_MS:.0f}), {len(errors)} errors"
    )
    print(
        f"server: {1000 * used / max(1, len(took)):.0f} ms of processor time per request, memory at most "
        f"{memory['peak']:.0f} MB (goal {MOST_MB:.0f}; "
        f"now {memory['own']:.0f} own, {memory['mapped']:.0f} mapped files)"
    )
    print(f"load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}")
    for path in errors[:5]:
        print(f"error: {path}")
    return int(bool(errors) or p95 > MOST_MS or memory["peak"] > MOST_MB)


if __name__ == "__main__":
    raise SystemExit(main())
