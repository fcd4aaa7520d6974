"""What whole commands cost, from the shell's point of view: start, work, report; each beside a rival in the same run.

The runs of a command and of its rival take turns, and the best of each counts: the machine may have other work. Rows
about public datasets need these beside this checkout.
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

import polars as pl

from benchmarks.measure import Ratio, Seconds, halves, in_fresh_process, record, table, timed

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
IMPORTS = [sys.executable, "-c", "import numpy, scipy.stats, polars, altair"]
IMPORTED = "`import numpy, scipy.stats, polars, altair`"
COUNTED = "`CountVectorizer.fit_transform` alone"
ROWS = 550_000
#: The default audits that are timed: name, training set, test set.
AUDITS = (
    ("SNLI (17 %) and its test set", "snli/train_partial", "snli/test"),
    ("MMLU", "mmlu/test", None),
    ("HH-RLHF", "hh_rlhf_harmless_base/test", None),
    ("SST-2", "sst2/train", "sst2/dev"),
)


def command(*arguments: str) -> list[str]:
    """Return what a shell would run for `cuecard ARGUMENTS`."""
    return [sys.executable, "-m", "cuecard", *arguments]


def in_turns(commands: Mapping[str, Sequence[str]], *, repeats: int) -> dict[str, Seconds]:
    """Return the shortest times of commands that take turns, after a first turn that fills the cache of files."""
    best: dict[str, Seconds] = {}
    for turn in range(repeats + 1):
        for name, words in commands.items():
            took = _seconds(words)
            if turn > 0:
                best[name] = shortest(best.get(name, took), took)
    return best


def shortest(one: Seconds, other: Seconds) -> Seconds:
    """Return the shorter of two times, on the clock and of the processor."""
    return Seconds(min(one.clock, other.clock), min(one.processor, other.processor))


def _seconds(words: Sequence[str]) -> Seconds:
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before, clock = os.times(), time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = os.times()
    used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Seconds(time.perf_counter() - clock, used)


def first_line(words: Sequence[str]) -> Seconds:
    """Return how long a command takes to print its first line."""
    before, clock = os.times(), time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        took = time.perf_counter() - clock
        process.kill()
    after = os.times()
    used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Seconds(took, used)


def count_vectorizer(file: str) -> Seconds:
    """Return the seconds of CountVectorizer's fit_transform on premise and hypothesis joined."""
    from sklearn.feature_extraction.text import CountVectorizer

    columns = pl.concat_str("premise", "hypothesis", separator=" ")
    texts = pl.read_parquet(file).select(columns).to_series().to_list()
    return timed(lambda: CountVectorizer(binary=True).fit_transform(texts))


def small_audits(folder: Path, repeats: int) -> list[Ratio]:
    """Return cues of 500 questions, on the terminal and with a report, and the first line, beside the imports."""
    copa = str(DATA / "copa" / "dev.parquet")
    cues = command("audit", copa, "--only", "cues")
    took = in_turns(
        {"imports": IMPORTS, "cues": cues, "report": [*cues, "--out", str(folder / "copa"), "--quiet"]},
        repeats=repeats,
    )
    lines = [first_line(cues) for _ in range(repeats + 1)]
    first = min(lines, key=lambda took: took.clock)
    return [
        Ratio("cues of COPA on the terminal", IMPORTED, took["cues"], took["imports"]),
        Ratio("cues of COPA with a report", IMPORTED, took["report"], took["imports"], 1.5),
        Ratio("the first line of an audit of COPA", IMPORTED, first, took["imports"]),
    ]


def word_cues(folder: Path, repeats: int, *, distinct: bool) -> Ratio:
    """Return word cues of 550,000 pairs from file to report, beside scikit-learn's counting alone."""
    file = str(folder / f"pairs-{distinct}.parquet")
    halves(ROWS, distinct=distinct).write_parquet(file)
    words = command(
        *("audit", file, "--only", "cues", "--features", "word", "--scope", "both", "--no-cache"),
        *("--out", str(folder / "large"), "--quiet"),
    )
    rival, _ = in_fresh_process(count_vectorizer, file)
    ours = in_turns({"ours": words}, repeats=repeats)["ours"]
    rival = shortest(rival, in_fresh_process(count_vectorizer, file)[0])
    kind = "distinct pairs" if distinct else "pairs of 92,727"
    return Ratio(f"word cues of {ROWS:,} {kind}, with a report", COUNTED, ours, rival, 1 / 1.5)


def default_audits(folder: Path, repeats: int) -> list[Ratio]:
    """Return the default audits of public datasets with their reports, beside the imports."""
    commands: dict[str, Sequence[str]] = {"imports": IMPORTS}
    for name, train, test in AUDITS:
        tested = ("--test", str(DATA / f"{test}.parquet")) if test else ()
        commands[name] = command(
            *("audit", str(DATA / f"{train}.parquet"), *tested, "--no-cache"),
            *("--out", str(folder / "audit"), "--quiet"),
        )
    took = in_turns(commands, repeats=repeats)
    return [Ratio(f"default audit of {name}", IMPORTED, took[name], took["imports"]) for name, *_ in AUDITS]


def main(argv: list[str]) -> None:
    """Print the ratios, and add them to the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.commands")
    parser.add_argument("--repeats", type=int, default=2, help="turns of each command")
    parser.add_argument("--only", choices=("small", "words", "audits"), help="one of the three")
    arguments = parser.parse_args(argv)
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.only in (None, "small") and DATA.is_dir():
            ratios += small_audits(folder, arguments.repeats)
        if arguments.only in (None, "words"):
            ratios += [word_cues(folder, arguments.repeats, distinct=distinct) for distinct in (True, False)]
        if arguments.only in (None, "audits") and DATA.is_dir():
            ratios += default_audits(folder, arguments.repeats)
    record(*ratios)
    print("\n".join(table(ratios)))


if __name__ == "__main__":
    main(sys.argv[1:])
