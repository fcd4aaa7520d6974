"""Score the clusters of real datasets and write their table into docs/clusters.md: `make_clusters.py DATA`."""

from __future__ import annotations

import argparse
from pathlib import Path

import cuecard as cc
from cuecard.analysis import Row
from cuecard.audits import Clusters
from cuecard.text import Scope

PAGE = Path(__file__).parents[1] / "docs" / "clusters.md"
BEGIN, END = "<!-- datasets -->", "<!-- end of the datasets -->"
DATASETS: dict[str, tuple[str, Scope]] = {
    "SNLI test": ("snli/test", "hypothesis"),
    "CAugNLI test": ("caugnli/all_combined_test", "hypothesis"),
    "CAugNLI test, premises": ("caugnli/all_combined_test", "premise"),
    "MNLI dev matched": ("mnli/dev_matched", "hypothesis"),
    "SICK test": ("sick/test", "hypothesis"),
    "OCNLI dev": ("ocnli/dev", "hypothesis"),
    "ANLI r1 test": ("anli/r1_test", "hypothesis"),
    "ANLI r2 test": ("anli/r2_test", "hypothesis"),
    "ANLI r3 test": ("anli/r3_test", "hypothesis"),
    "FEVER-symmetric test, claims": ("fever_symmetric/test", "hypothesis"),
    "FEVER-symmetric test, premises": ("fever_symmetric/test", "premise"),
    "OpenBookQA test": ("openbookqa/test", "hypothesis"),
}
HEAD = (
    "| dataset | sentences | k | PECO | at chance | excess (95 % CI) | excess of the 10 starts | significant starts "
    "| p | sentences in leaning clusters | largest cluster |\n|---|" + "---:|" * 10
)


def main() -> None:
    """Score every dataset, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the datasets, one folder each")
    data = parser.parse_args().data
    lines = [
        BEGIN,
        f"Made with CueCard {cc.__version__} by `python scripts/make_clusters.py DATA`.",
        "",
        HEAD,
    ]
    for name, (file, scope) in DATASETS.items():
        result = Clusters(scope=scope, permutations=999).run(cc.load(data / f"{file}.parquet"))
        lines.append(table_row(name, result.summary))
        print(lines[-1], flush=True)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        "\n".join([text.partition(BEGIN)[0] + lines[0], *lines[1:], END]) + text.partition(END)[2]
    )


def table_row(name: str, summary: Row) -> str:
    """Return what the clusters of a dataset say, as a row of the page's table."""
    starts = summary["excess_by_start"]
    cells = [
        name,
        f"{summary['instances']:,}",
        summary["k"],
        number(summary["peco_exact_l2"]),
        number(summary["null_mean"]),
        f"{number(summary['excess'])} ({number(summary['excess_low'])} to {number(summary['excess_high'])})",
        f"{number(min(starts))} to {number(max(starts))}",
        summary["starts_significant"],
        f"{summary['p_value']:.3f}",
        f"{100 * summary['leaning_share']:.0f} %",
        f"{100 * summary['largest_cluster']:.0f} %",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def number(value: float) -> str:
    """Return a number to two decimals, with a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


if __name__ == "__main__":
    main()
