"""Make small cards of every kind with the installed tree, or compare those of two trees.

    PYTHONPATH=src python scripts/freeze_cards.py make OUT [--only NAME,…] [--jobs 2]
    python scripts/freeze_cards.py compare BEFORE AFTER [--only NAME,…] [--tolerance 1e-9]

`make` uses the command line alone, so that it works on any tree. Data are generated; what rests on shared data is left
out with a note where that is absent. `--only` takes beginnings of names: `pair,probe-choice`. `compare` prints for
every card whether it is equal, and which paths of its JSON and which columns of its tables differ; times and
versions are not compared. Its exit code is 1 if a card differs by more than the tolerance.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.freezing.cards import FROZEN, Frozen  # noqa: E402
from scripts.freezing.comparison import Difference, compare_folders  # noqa: E402
from scripts.freezing.inputs import write_inputs  # noqa: E402

SHARED = ROOT.parent / "shared" / "data"
#: Differences of a card that are printed.
SHOWN = 12
CRASHED = 70


def make(out: Path, only: str, jobs: int) -> int:
    """Make cards in a folder; return how many commands ended with an error."""
    out.mkdir(parents=True, exist_ok=True)
    write_inputs(out / "inputs", SHARED if SHARED.exists() else None)
    chosen = [card for card in chosen_cards(only) if not card.needs or (out / "inputs" / card.needs).exists()]
    for card in chosen_cards(only):
        if card not in chosen:
            print(f"{card.name}: left out, shared data {card.needs} is absent")
    if jobs == 1:
        codes = [make_card(out, card) for card in chosen]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            codes = list(pool.map(make_card, [out] * len(chosen), chosen))
    return sum(code != 0 for code in codes)


def chosen_cards(only: str) -> list[Frozen]:
    """Return the cards whose names start with one of some comma-separated beginnings; without any, all."""
    beginnings = tuple(only.split(",")) if only else ("",)
    return [card for card in FROZEN if card.name.startswith(beginnings)]


def make_card(out: Path, card: Frozen) -> int:
    """Make one card with a cache of its own; what the command prints is kept beside it."""
    from cuecard.cli import main

    folder, cache = out / "cards" / card.name, out / "cache" / card.name
    for path in (folder, cache):
        shutil.rmtree(path, ignore_errors=True)
    (folder / "").mkdir(parents=True)
    os.environ |= {"CUECARD_CACHE": str(cache.resolve()), "COLUMNS": "120", "NO_COLOR": "1"}
    os.environ.pop("CI", None)
    printed, complained, code = io.StringIO(), io.StringIO(), 0
    before, hook, start = sys.argv, sys.excepthook, time.process_time()
    sys.argv = ["cuecard", *card.arguments]
    with contextlib.chdir(out), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:
            code = CRASHED
            traceback.print_exc()
    sys.argv, sys.excepthook = before, hook  # the parser of options sets a hook of its own
    if code:
        (folder / "error.txt").write_text(complained.getvalue(), encoding="utf-8")
    elif printed.getvalue():
        (folder / "printed.json").write_text(printed.getvalue(), encoding="utf-8")
    shutil.rmtree(cache, ignore_errors=True)
    said = complained.getvalue().strip().splitlines()[-1] if code else "made"
    print(f"{card.name}: {said}, {time.process_time() - start:.1f} s", flush=True)
    return code


def compare(before: Path, after: Path, only: str, tolerance: float) -> int:
    """Print what differs; return the number of cards that differ by more than the tolerance."""
    differing, lonely = 0, list[str]()
    for card in chosen_cards(only):
        folders = before / "cards" / card.name, after / "cards" / card.name
        if not all(folder.exists() for folder in folders):
            lonely += [card.name] if any(folder.exists() for folder in folders) else []
            continue
        found = compare_folders(*folders)
        beyond = [difference for difference in found if difference.size > tolerance]
        differing += bool(beyond)
        print(f"{card.name}: {_verdict(found, beyond)}")
        for difference in beyond[:SHOWN]:
            by = f" ({difference.size:.1e})" if difference.size < float("inf") else ""
            print(f"    {difference.place}: {difference.text}{by}")
        if len(beyond) > SHOWN:
            print(f"    … {len(beyond) - SHOWN} more")
    if lonely:
        print(f"in one folder only, not compared: {', '.join(lonely)}")
    print(f"{differing} cards differ" if differing else "no card differs")
    return differing


def _verdict(found: list[Difference], beyond: list[Difference]) -> str:
    if beyond:
        return f"{len(beyond)} differences"
    if found:
        return f"equal within {max(difference.size for difference in found):.1e} ({len(found)} places)"
    return "equal"


def main() -> None:
    """Read the command line and run one of the two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("out", type=Path)
    making.add_argument("--jobs", type=int, default=1)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--tolerance", type=float, default=1e-9)
    for verb in (making, comparing):
        verb.add_argument("--only", default="")
    asked = parser.parse_args()
    if asked.verb == "make":
        failed = make(asked.out.resolve(), asked.only, asked.jobs)
    else:
        failed = compare(asked.before, asked.after, asked.only, asked.tolerance)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
