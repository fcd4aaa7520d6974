"""A sample of the numbers on the papers' pages is computed again: a page that is no longer true fails here."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cuecard.card import load_card
from cuecard_papers import Reproduction, read_paper
from cuecard_papers.judging import judged
from cuecard_papers.page import item_rows
from cuecard_papers.printed_tables import printed_tables, table_markdown

DOCS = Path(__file__).parents[2] / "docs"
#: Commands that take a few seconds: exact counts, clusters of the authors, a forest, a trained model with a seed.
SAMPLE = [
    ("icq", "copa"),
    ("icq", "copa-spelling"),
    ("icq", "fasttext-copa"),
    ("icq", "arct-lemma"),
    ("peco", "authors"),
    ("peco", "caugnli-dev"),
]


@pytest.mark.parametrize(("name", "run"), SAMPLE)
def test_the_numbers_of_a_command_are_those_on_the_page(name, run, cuecard, tmp_path, real_data, oracle):
    paper = read_paper(name)
    command = paper.runs[run]
    data = real_data("copa/dev.parquet").parents[1]
    typed = command.command.format(data=data, authors=oracle("paper_tables.json").parent, out=tmp_path)
    ran = cuecard(
        *shlex.split(typed), *(["--json"] if command.json else [command.card, tmp_path / "card", "--quiet"])
    )
    assert ran.code == 0, ran.err
    output = json.loads(ran.out) if command.json else load_card(tmp_path / "card")
    items = [item for item in paper.items if item.run == run]
    results = tuple(judged(item, paper, output, typed) for item in items)
    page = (DOCS / f"papers-{name}.md").read_text(encoding="utf-8")
    compared = 0
    for table in printed_tables(Reproduction(name, paper.title, paper.reference, results, order=paper.order)):
        section = page.partition(f"\n## {table.title}\n")[2].partition("\n## ")[0]
        rows = {line.split(" | ")[0]: line for line in section.splitlines() if line.startswith("| ")}
        for line in table_markdown(table).splitlines()[2:]:
            if not line.startswith("| "):
                continue
            head, *cells = line.removesuffix(" |").split(" | ")
            for cell in filter(None, (cell.strip() for cell in cells)):
                assert cell in rows[head], (table.title, head, cell, rows[head])
                compared += 1
    for line in item_rows([one for one in results if not any(reading.row for reading in one.readings)])[2:]:
        assert f"\n{line}\n" in page
        compared += 1
    assert compared
