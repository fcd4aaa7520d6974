"""`python -m benchmarks.calibration [--short] [--only SECTION…]`: simulate, and write docs/calibration.md."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.calibration.clean_sets import clean_sets
from benchmarks.calibration.page import page
from benchmarks.calibration.sections import SECTIONS
from benchmarks.calibration.shuffled_sets import shuffled_sets
from benchmarks.calibration.units import significant_under_blocks
from benchmarks.calibration.whole_cards import audited

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).parent / "figures.json"
PAGE = ROOT / "docs" / "calibration.md"
NAMES = ("whole cards", "blocks", *SECTIONS)
SHORT = 0.1


def simulated(name: str, *, scale: float, cards: int, data: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of a section one after the other."""
    if name == "whole cards":
        sets = chain(clean_sets(cards // 2), shuffled_sets(data, cards - cards // 2))
        yield from (card.as_json() for card in audited(sets))
    elif name == "blocks":
        found = significant_under_blocks(max(2, round(6 * scale)))
        yield from ({"significant": significant, "tested": tested} for significant, tested in found)
    else:
        yield from (row.as_json() for row in SECTIONS[name](scale))


def main() -> None:
    """Run the simulations; figures of sections that are not run stay what they were."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of the runs, and 20 cards")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of runs")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="SECTION")
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of public datasets"
    )
    parser.add_argument("--cards", type=int, default=200, help="datasets of which a whole card is made")
    options = parser.parse_args()
    scale, cards = (SHORT, 20) if options.short else (options.scale, options.cards)
    warnings.simplefilter("ignore")
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in options.only:
        rows = []
        for row in simulated(name, scale=scale, cards=cards, data=options.data):
            rows.append(row)
            print(name, *row.values(), sep=" | ", flush=True)
        figures[name] = rows
        if not options.short:
            ordered = {key: figures[key] for key in NAMES if key in figures}
            FIGURES.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            PAGE.write_text(page(ordered), encoding="utf-8")


if __name__ == "__main__":
    main()
