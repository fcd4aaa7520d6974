"""Regenerate the papers' tables and write docs/papers.md and their numbers: `python scripts/make_papers.py DATA`.

What is already in the folder of cards is not run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cuecard.reproduce.papers import (
    PAPERS,
    Reproduction,
    reproduce_paper,
    reproduction_markdown,
    write_reproductions,
)

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
BEGIN, END = "<!-- papers -->", "<!-- end of the papers -->"


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the datasets, one folder each")
    parser.add_argument("--cards", type=Path, default=Path("out/papers"), help="folder of the cards")
    parser.add_argument("--slow", action="store_true", help="also run what takes long, such as training")
    options = parser.parse_args()
    papers = [
        reproduce_paper(name, options.data, options.cards, slow=options.slow, tell=print) for name in PAPERS
    ]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    tables = "\n".join(reproduction_markdown(paper) for paper in papers)
    PAGE.write_text(f"{before}{BEGIN}\n{counts_table(papers)}\n{tables}{END}{after}", encoding="utf-8")
    for suffix in (".html", ".json"):
        write_reproductions(papers, options.cards / f"papers{suffix}")


def counts_table(papers: list[Reproduction]) -> str:
    """Return how many items of every paper came out in which way."""
    outcomes = list(papers[0].counts)
    lines = ["| paper | items | " + " | ".join(outcomes) + " |", "|---|" + "---:|" * (len(outcomes) + 1)]
    rows = [(paper.title, len(paper.results), *paper.counts.values()) for paper in papers]
    rows.append(("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True))))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
