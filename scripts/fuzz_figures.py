"""Measure what once took too much time or memory, and print it beside what it took before.

    python scripts/fuzz_figures.py [--large] [--only NAME]

Each figure is measured in a process of its own. `--large` adds an audit of a million rows and one of 990 labels, which
take minutes. The exit code is 1 if a figure is above its limit.
"""

from __future__ import annotations

import argparse
import gzip
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.measure import in_fresh_process  # noqa: E402

MILLION = 1_000_000


@dataclass(frozen=True)
class Figure:
    """What is measured, its unit ("GB" is the peak memory of the process), what it was, and what it may be."""

    name: str
    unit: str
    before: str
    most: float
    measure: Callable[[], float]
    large: bool = False


def looping_answer() -> float:
    """Return the seconds that reading an answer of 128 KB takes which repeats itself."""
    from cuecard.probes.formats.answer_parsing import parsed_answer

    text = "it is not entailment, so maybe neutral " * 3300
    start = time.process_time()
    parsed_answer(text, ["entailment", "neutral", "contradiction"])
    return time.process_time() - start


def slow_server() -> float:
    """Return the seconds until a question ends whose answer comes byte by byte, where 2 are allowed."""
    from cuecard.models.endpoint import Endpoint, Question

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(150):
                time.sleep(1)
                connection.sendall(b" ")

    return _asked(drip, lambda url: Endpoint(url, "m", timeout=2, attempts=1).ask([Question("q")]))


def packed_reply() -> float:
    """Read a reply of 4 MB that expands to 4 GB; return the seconds."""
    from cuecard.models.endpoint import Endpoint, Question

    def bomb(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        body = gzip.compress(bytes(64 << 20), 9) * 64
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        with suppress(OSError):
            connection.sendall(head.encode() + body)

    return _asked(bomb, lambda url: Endpoint(url, "m", timeout=60, attempts=1).ask([Question("q")]))


def _asked(serve: Callable[[socket.socket], None], ask: Callable[[str], object]) -> float:
    from cuecard.errors import CueCardError

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        start = time.monotonic()
        with suppress(CueCardError):
            ask(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        return time.monotonic() - start


def expanding_file() -> float:
    """Read a file of 3 MB that expands to 2.9 GB; return the seconds."""
    from cuecard.data import load
    from cuecard.errors import InputError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.jsonl.gz"
        block = gzip.compress(b'{"text": "' + b"x" * 1_000_000 + b'", "label": "a"}\n')
        path.write_bytes(block * 2900)
        start = time.monotonic()
        with suppress(InputError):
            load(path)
            return float("nan")  # it was to be refused
        return time.monotonic() - start


def long_message() -> float:
    """Return the characters of the message about a column with a name of 30,000."""
    from cuecard.data import load
    from cuecard.errors import CueCardError

    try:
        load([{"x" * 30_000: 1, "\x1b[31m": 2}])
    except CueCardError as error:
        return len(str(error)) if str(error).isprintable() else float("nan")
    return float("nan")


def bad_target() -> float:
    """Return the seconds until a target that is a file is refused where a folder is needed."""
    from cuecard.errors import CueCardError
    from cuecard.limits import check_folder

    start = time.monotonic()
    with suppress(CueCardError), tempfile.NamedTemporaryFile() as file:
        check_folder(Path(file.name))
        return float("nan")
    return time.monotonic() - start


def label_of_test() -> float:
    """Return how many features are cues for a label that only the test set has."""
    import cuecard as cc

    rows = [{"text": f"word{i % 7} w{i}", "label": "ab"[i % 2]} for i in range(200)]
    test = [{"text": f"word{i % 7} v{i}", "label": "c"} for i in range(200)]
    card = cc.audit(cc.load(rows, test=test), only="cues")
    return card.tables["cues"].filter(label="c").height


def many_labels() -> float:
    """Audit the cues of 40,000 texts with 990 labels; return the seconds."""
    import numpy as np

    import cuecard as cc

    rng = np.random.default_rng(0)
    words = rng.zipf(1.3, (40_000, 14)) % 40_000
    rows = [{"text": " ".join(f"w{w}" for w in row), "label": f"l{i % 990}"} for i, row in enumerate(words)]
    start = time.monotonic()
    cc.audit(cc.load(rows), only=["cues"], cache=False)
    return time.monotonic() - start


def million_rows() -> float:
    """Audit a million pairs, every section, within 4 GB; return the seconds."""
    from benchmarks.cues import corpus

    import cuecard as cc

    with tempfile.TemporaryDirectory() as folder:
        path = corpus(Path(folder), MILLION)
        start = time.monotonic()
        cc.audit(str(path), memory="4GB", cache=False)
        return time.monotonic() - start


FIGURES = [
    Figure("answer of 128 KB that repeats itself", "s", "> 20", 2, looping_answer),
    Figure("answer that comes byte by byte, 2 s allowed", "s", "> 150", 10, slow_server),
    Figure("reply of a server that expands to 4 GB", "GB", "6.5", 1, packed_reply),
    Figure("file of 3 MB that expands to 2.9 GB", "GB", "2.9", 2.5, expanding_file),
    Figure("longest error message", "characters", "26,000", 2000, long_message),
    Figure("target that cannot be written: work lost", "s", "19", 1, bad_target),
    Figure("cues for a label that only test has", "", "79", 0, label_of_test),
    Figure("cues of 40,000 texts with 990 labels", "GB", "10.1", 4, many_labels, large=True),
    Figure("whole audit of 1,000,000 pairs within 4 GB", "GB", "4.1", 4.1, million_rows, large=True),
]


def main() -> int:
    """Print every figure before and now; the exit code is 1 if one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--large", action="store_true", help="also the audits that take minutes")
    parser.add_argument("--only", choices=[one.measure.__name__ for one in FIGURES])
    options = parser.parse_args()
    above = 0
    print(f"{'figure':<46}{'before':>18}{'now':>20}{'seconds':>9}", flush=True)
    for one in FIGURES:
        if options.only not in (None, one.measure.__name__) or (
            one.large and not (options.large or options.only)
        ):
            continue
        start = time.monotonic()
        value, peak = in_fresh_process(one.measure)
        said = peak * 1.073741824 if one.unit == "GB" else value
        bad = not said <= one.most or value != value
        above += bad
        now = f"{said:,.0f}" if float(said).is_integer() else f"{said:,.2f}"
        seconds = value if one.large else time.monotonic() - start
        print(
            f"{one.name:<46}{one.before + ' ' + one.unit:>18}{now + ' ' + one.unit:>20}{seconds:>9.1f}"
            f"{'  above the limit' if bad else ''}",
            flush=True,
        )
    return int(above > 0)


if __name__ == "__main__":
    raise SystemExit(main())
