"""Remedies and probes before and after, from the published figures: `python -m benchmarks.calibration.probe_figures`.

With `--data FOLDER`, the balance of held-out halves of SNLI is computed, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.calibration.__main__ import stored


def lines() -> Iterator[tuple[str, str, str]]:
    """Yield what is measured, the figure before and the figure now, for every published simulation of them."""
    figures = stored()

    def rows(section: str, **wanted: str) -> list[dict[str, Any]]:
        return [
            row for row in figures.get(section, []) if all(part in row[name] for name, part in wanted.items())
        ]

    for row in rows("debiased evaluation"):
        yield (
            f"debiased accuracy covered, n = {row['n']}: {row['data']}",
            row["before"],
            _percent(row["share"]),
        )
    for row in rows("distribution test", kind="coverage"):
        what = f"share in the distribution test covered, {row['data']}, {row['n']}"
        yield what, row["before"], _percent(row["share"])
    for section in ("probes", "reliance", "longest, shortest, position", "remedies"):
        for row in rows(section):
            yield (
                f"{row['what']}: {row['data']}, n = {row['n']}",
                row["before"] or "–",
                _percent(row["share"]),
            )


def held_out(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield Err and effective sample size on held-out halves of SNLI by ridge; equal weights are the figure before."""
    import cuecard as cc
    from cuecard.remedies import LexicalWeights
    from cuecard.remedies.balance_results import held_out as judged

    problem = LexicalWeights(ridge="exact").balance(cc.load(data / "snli" / "train_partial.parquet")).problem
    found = judged(problem, target="uniform", ridge=None, max_weight=None, seed=0)
    for ridge, err, ess in zip(found.ridges, found.err, found.ess, strict=True):
        yield f"held-out Err, ridge {ridge:g} (ESS {ess:.0%})", f"{found.unweighted:.4f}", f"{err:.4f}"
    yield "held-out Err that sampling alone leaves", "–", f"{found.floor:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of public datasets")
    options = parser.parse_args()
    print("| what | before | after |\n|---|--:|--:|")
    for what, before, after in (*lines(), *(held_out(options.data) if options.data else ())):
        print(f"| {what} | {before} | {after} |", flush=True)


if __name__ == "__main__":
    main()
