"""Regenerate the papers' tables and write docs/papers.md and their numbers: `python scripts/make_papers.py DATA`.

What is already in the folder of cards is not run again.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from cuecard_papers import (
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
    summary = "\n".join([counts_table(papers), coverage(papers), "", cpu_time(papers), ""])
    PAGE.write_text(f"{before}{BEGIN}\n{summary}\n{tables}{END}{after}", encoding="utf-8")
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


def coverage(papers: list[Reproduction]) -> str:
    """Return in words how much of the papers is regenerated, and how much cannot be."""
    counts = Counter(result.outcome for paper in papers for result in paper.results)
    n = counts.total()
    judged = sum(counts[outcome] for outcome in ("reproduced", "within CI", "different"))
    settled = n - counts["not run"]
    strict = judged + counts["not possible"]
    return (
        f"In full, on the paper's data: {judged} of {n} items. Not possible, with the reason: "
        f"{counts['not possible']}. Together {strict} ({100 * strict / n:.0f} %). With the {counts['partial']} items "
        f"whose commands run and lack only a part of the paper's data: {settled} ({100 * settled / n:.0f} %). "
        f"Not run: {counts['not run']}."
    )


def cpu_time(papers: list[Reproduction]) -> str:
    """Return in words how long the commands take that were timed."""
    sentences = []
    for slow, name in ((False, "make reproduce-fast"), (True, "make reproduce")):
        timings = [timing for paper in papers for timing in paper.timings if slow or not timing.slow]
        known = [timing.cpu_seconds for timing in timings if timing.cpu_seconds is not None]
        sentences.append(
            f"`{name}`: {len(known)} of its {len(timings)} commands were timed and take {sum(known) / 60:.0f} CPU "
            "minutes together."
        )
    return " ".join(sentences)


if __name__ == "__main__":
    main()
