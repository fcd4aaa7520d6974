"""Regenerate the papers' tables and write docs/papers.md and a page per paper: `python scripts/make_papers.py DATA`.

What is already in the folder of cards is not run again.
"""

from __future__ import annotations

import argparse
import platform
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import cuecard
from cuecard_papers import PAPERS, Reproduction, reproduce_paper, write_reproductions
from cuecard_papers.judging import KINDS
from cuecard_papers.page import printed_markdown

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "papers.md"
BEGIN, END = "<!-- papers -->", "<!-- end of the papers -->"
#: Extras whose packages change numbers of the papers, and a module of each.
EXTRAS = {
    "english": "hunspell",
    "nltk": "nltk",
    "spelling": "spellchecker",
    "zh": "rjieba",
    "models": "torch",
    "transport": "ot",
}


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
    pages = " · ".join(f"[{paper.title}](papers-{paper.paper}.md)" for paper in papers)
    summary = [counts_table(papers), coverage(papers), "", cpu_time(papers), "", made_with(), "", pages]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *summary, f"{END}{after}"]), encoding="utf-8")
    for paper in papers:
        text = printed_markdown(paper)
        for folder, name in ((options.cards, "out/papers"), (options.data.parent, ".")):
            text = text.replace(f"{folder}/", f"{name}/" if name != "." else "")
        page = f"# {paper.title}, as printed and as ours\n\n{made_with()}\n\n{text}"
        (DOCS / f"papers-{paper.paper}.md").write_text(page, encoding="utf-8")
    for suffix in (".html", ".json"):
        write_reproductions(papers, options.cards / f"papers{suffix}")


def made_with() -> str:
    """Return the versions that the numbers were made with."""
    extras = [name for name, module in EXTRAS.items() if find_spec(module) is not None]
    return (
        f"Made with CueCard {cuecard.__version__}, Python {platform.python_version()} and the extras "
        f"{', '.join(extras)}, by `python scripts/make_papers.py DATA`."
    )


def counts_table(papers: list[Reproduction]) -> str:
    """Return how many items of every paper came out in which way."""
    lines = []
    for kind, (_, name) in KINDS.items():
        outcomes = list(papers[0].counts[kind])
        lines += [f"| {name} | items | " + " | ".join(outcomes) + " |"]
        lines += ["|---|" + "---:|" * (len(outcomes) + 1)]
        counts = [paper.counts[kind] for paper in papers]
        rows = [(one.title, sum(n.values()), *n.values()) for one, n in zip(papers, counts, strict=True)]
        rows.append(("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True))))
        lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def coverage(papers: list[Reproduction]) -> str:
    """Return in words how much of the papers is regenerated, and how much cannot be."""
    results = [result for paper in papers for result in paper.results if result.kind == "result"]
    counts = Counter(result.outcome for result in results)
    agree = counts["reproduced"] + counts["within CI"]
    return (
        f"Of {len(results)} results of methods, {agree} agree with the paper on its data ({counts['reproduced']} to "
        f"the last digit, {counts['within CI']} within our 95 % CI) and {counts['different']} differ. "
        f"{counts['partial']} were run on a part of the data, or with another model, and are not judged; "
        f"{counts['not possible']} are not possible, and {counts['not run']} were not run."
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
