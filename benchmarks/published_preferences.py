"""Published sets: what style explains of preferences, and the slice where a blind rule goes farthest.

`python -m benchmarks published_preferences` prints the rows of both tables in docs/preferences.md.
"""

from __future__ import annotations

from benchmarks.measure import SNLI
from cuecard.analysis import Skip
from cuecard.audits import Slices, Style
from cuecard.data import Instances, load

DATA = SNLI.parent
PREFERENCES = ("hh_rlhf_harmless_base/test", "llmbar/test", "auto_j_pairwise/test")
QUESTIONS = ("mmlu/test", "openbookqa/test")


def style_row(name: str, data: Instances) -> str:
    """Return accuracy, pseudo-R², bits and the strongest covariate of one file."""
    summary = Style().run(data).summary
    accuracy, first = summary["accuracy"], summary["coefficients"][0]
    ends = f"({accuracy['low'] * 100:.1f} to {accuracy['high'] * 100:.1f})"
    slope = f"{first['coefficient']:+.2f} ({first['low']:.2f} to {first['high']:.2f})"
    bits = summary["information"]["value"]
    return (
        f"| `{name}` | {summary['n']:,} | {accuracy['value']:.1%} {ends} | {summary['pseudo_r2']:.3f} | {bits:.3f} "
        f"| {first['feature']} {slope} |"
    )


def slices_row(name: str, data: Instances) -> str:
    """Return the blind rule and the slice that are farthest from chance, and how many tests are significant."""
    try:
        summary = Slices(learned=False).run(data).summary
    except Skip as reason:
        return f"| `{name}` | {reason} | | | |"
    row = summary["strongest"][0]
    where = f"{row['column']} = {row['value']} ({row['n']:,})"
    ends = f"({row['low'] * 100:.1f} to {row['high'] * 100:.1f})"
    return (
        f"| `{name}` | {summary['significant']} of {summary['tests']} | {row['rule']} | {where} "
        f"| {row['accuracy']:.1%} {ends}, chance {row['chance']:.1%} |"
    )


def main(arguments: list[str]) -> None:
    """Print both tables, without the files that are absent."""
    del arguments
    present = {
        name: load(DATA / f"{name}.parquet")
        for name in (*PREFERENCES, *QUESTIONS)
        if (DATA / f"{name}.parquet").exists()
    }
    for name in PREFERENCES:
        if name in present:
            print(style_row(name, present[name]).replace("%", " %"))
    for name, data in present.items():
        print(slices_row(name, data).replace("%", " %"))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
