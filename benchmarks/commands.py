"""What whole commands cost, from the shell's point of view: start, work, report; each beside a rival in the same run.

The runs of a command and of its rival take turns, and the best of each counts: the machine may have other work. The
first and the third need the datasets beside this checkout; `--before FOLDER` names the sources of an earlier version
(its `src`) to compare the whole audit with.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cues import COMPARED, corpus, count_vectorizer
from benchmarks.measure import Seconds, in_fresh_process, write_json

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
IMPORTS = [sys.executable, "-c", "import numpy, scipy.stats, polars, altair"]
#: What the project promises: at most this many times the imports; at least this many times faster than scikit-learn.
MOST_IMPORTS, LEAST_SPEEDUP = 1.8, 1.5


def command(*arguments: str) -> list[str]:
    """Return what a shell would run for `cuecard ARGUMENTS`."""
    return [sys.executable, "-m", "cuecard", *arguments]


def in_turns(
    commands: Mapping[str, Sequence[str]], *, repeats: int, sources: Mapping[str, Path] | None = None
) -> dict[str, Seconds]:
    """Return the shortest times of commands that take turns; `sources` says where a command's package lies."""
    best: dict[str, Seconds] = {}
    for turn in range(repeats + 1):
        for name, words in commands.items():
            took = _seconds(words, (sources or {}).get(name))
            if turn == 0:  # compiles what is not yet compiled, fills the cache of files
                continue
            known = best.get(name, took)
            best[name] = Seconds(min(known.clock, took.clock), min(known.processor, took.processor))
    return best


def _seconds(words: Sequence[str], source: Path | None) -> Seconds:
    environment = dict(os.environ) | ({"PYTHONPATH": str(source)} if source else {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before, clock = os.times(), time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = os.times()
    used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Seconds(time.perf_counter() - clock, used)


def small_audit(folder: Path, repeats: int) -> dict[str, Any]:
    """Return the cues of 500 questions, on the terminal and with a report, beside the imports alone."""
    audit = command(
        "audit", str(DATA / "copa" / "dev.parquet"), "--test", str(DATA / "copa" / "test.parquet")
    )
    took = in_turns(
        {
            "imports": IMPORTS,
            "cues": [*audit, "--only", "cues"],
            "cues_with_report": [*audit, "--only", "cues", "--out", str(folder / "copa")],
            "whole_audit": audit,
        },
        repeats=repeats,
    )
    imports = took.pop("imports")
    print(f"import numpy, scipy.stats, polars, altair: {_said(imports)}")
    figures: dict[str, Any] = {"imports": imports._asdict()}
    for name, seconds in took.items():
        ratio = _ratio(seconds, imports)
        figures[name] = {**seconds._asdict(), "ratio": ratio}
        print(f"copa, {name.replace('_', ' ')}: {_said(seconds)}, {_times(ratio)} of the imports", flush=True)
    print(f"promised for cues: at most {MOST_IMPORTS}×")
    return figures


def large_corpus(folder: Path, repeats: int) -> dict[str, Any]:
    """Return word cues of 550,000 pairs from files to report, beside scikit-learn's counting alone."""
    pairs = corpus(folder, COMPARED)
    words = command(
        *("audit", str(pairs), "--only", "cues", "--features", "word", "--scope", "both"),
        *("--out", str(folder / "large"), "--quiet"),
    )
    best: dict[str, Seconds] = {}
    for _ in range(repeats):
        rival, _ = in_fresh_process(count_vectorizer, str(pairs))
        took = {"count_vectorizer": rival, **in_turns({"word_cues": words}, repeats=1)}
        for name, seconds in took.items():
            known = best.get(name, seconds)
            best[name] = Seconds(min(known.clock, seconds.clock), min(known.processor, seconds.processor))
    ratio = _ratio(best["count_vectorizer"], best["word_cues"])
    print(f"CountVectorizer.fit_transform, {COMPARED:,} pairs: {_said(best['count_vectorizer'])}")
    print(
        f"cuecard audit, word cues with report: {_said(best['word_cues'])}, {_times(ratio)} faster "
        f"(promised: at least {LEAST_SPEEDUP}×)",
        flush=True,
    )
    return {**{name: seconds._asdict() for name, seconds in best.items()}, "speedup": ratio}


def whole_audit(folder: Path, repeats: int, before: Path | None) -> dict[str, Any]:
    """Return the default audit of SNLI with its report, beside that of an earlier version where one is named."""
    snli = DATA / "snli"
    words = command(
        *("audit", str(snli / "train_partial.parquet"), "--test", str(snli / "test.parquet")),
        *("--out", str(folder / "snli"), "--quiet"),
    )
    commands = {"now": words, **({"before": words} if before else {})}
    took = in_turns(commands, repeats=repeats, sources={"before": before} if before else None)
    print(f"whole audit of snli/train_partial: {_said(took['now'])}", flush=True)
    figures: dict[str, Any] = {name: seconds._asdict() for name, seconds in took.items()}
    if before:
        figures["ratio"] = ratio = _ratio(took["now"], took["before"])
        print(f"the same by {before}: {_said(took['before'])}; now {_times(ratio)} of it (promised: 0.5×)")
    return figures


def _ratio(of: Seconds, to: Seconds) -> dict[str, float]:
    return {"clock": of.clock / to.clock, "processor": of.processor / to.processor}


def _said(took: Seconds) -> str:
    return f"{took.clock:.2f} s ({took.processor:.2f} s of processor time)"


def _times(ratio: Mapping[str, float]) -> str:
    return f"{ratio['clock']:.2f}× ({ratio['processor']:.2f}× in processor time)"


def main(argv: list[str]) -> None:
    """Print the three ratios, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.commands")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each command")
    parser.add_argument("--before", type=Path, help="the `src` of an earlier version to compare with")
    parser.add_argument("--only", choices=("small", "large", "whole"), help="one of the three")
    arguments = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.only in (None, "small") and DATA.is_dir():
            figures["small"] = small_audit(folder, arguments.repeats)
        if arguments.only in (None, "large"):
            figures["large"] = large_corpus(folder, arguments.repeats)
        if arguments.only in (None, "whole") and DATA.is_dir():
            figures["whole"] = whole_audit(folder, arguments.repeats, arguments.before)
    print(f"written to {write_json('commands', figures)}")


if __name__ == "__main__":
    main(sys.argv[1:])
