"""Printed numbers stand beside ours: the same, different with a reason, partial, or not possible."""

from __future__ import annotations

import json

import pytest

from cuecard.errors import InputError
from cuecard.reproduce.papers import PAPERS, read_paper, reproduce_paper, reproduction_markdown
from cuecard.reproduce.papers.judging import Reading


@pytest.mark.parametrize("name", PAPERS)
def test_every_item_names_its_run_or_why_there_is_none(name):
    paper = read_paper(name)
    for item in paper.items:
        assert bool(item.missing) != bool(item.run), item.what
        assert not item.run or item.run in paper.runs
        assert not item.run or sum(map(bool, (item.measure, item.cell, item.value, item.chart))) == 1
        assert bool(item.printed) == (bool(item.run) and not item.chart)


@pytest.mark.parametrize("name", PAPERS)
def test_every_run_is_used_and_its_command_is_understood(name):
    from typer.main import get_command

    from cuecard.cli.main import app

    paper = read_paper(name)
    assert set(paper.runs) == {item.run for item in paper.items if item.run}
    verbs = get_command(app).commands
    assert all(run.command.split()[0] in verbs for run in paper.runs.values())


@pytest.mark.parametrize(
    ("printed", "ours", "same"),
    [
        ("3.61", 3.6149, True),
        ("3.61", 3.616, False),
        ("2", 2.4, True),
        ("1.96e-10", 1.961e-10, True),
        ("4", None, False),
    ],
)
def test_numbers_agree_to_the_last_printed_digit(printed, ours, same):
    assert Reading("x", printed, ours).agrees(interval=False) is same


def test_an_interval_counts_only_where_it_is_allowed():
    reading = Reading("x", "70.2", 71.5, 69.9, 73.0)
    assert reading.agrees(interval=True)
    assert not reading.agrees(interval=False)


def test_without_the_data_items_are_not_possible_and_name_the_file(tmp_path):
    result = reproduce_paper("icq", tmp_path, tmp_path / "out")
    [copa] = [r for r in result.results if r.what == "COPA: cueness, %"]
    assert (copa.outcome, copa.reason) == (
        "not possible",
        "not in the data folder: copa/dev.parquet, copa/test.parquet",
    )
    assert result.counts["reproduced"] == 0
    assert "| Table 2 | COPA: cueness, % | not possible |" in reproduction_markdown(result)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(InputError, match="--data"):
        reproduce_paper("icq", tmp_path / "nowhere", tmp_path / "out")


def test_the_authors_clusters_give_the_released_score_and_are_scored_once(tmp_path, oracle):
    (tmp_path / "data").mkdir()
    (tmp_path / "oracles").symlink_to(oracle("peco/tsne_50_l2.csv").parents[1])
    commands: list[str] = []
    first = reproduce_paper("peco", tmp_path / "data", tmp_path / "out", tell=commands.append)
    again = reproduce_paper("peco", tmp_path / "data", tmp_path / "out", tell=commands.append)
    released = {r.what: r.outcome for r in first.results if "released" in r.what}
    assert set(released.values()) == {"reproduced"}
    assert len(commands) == 1
    assert again == first
    json.dumps(first.as_dict())


@pytest.fixture
def folders(tmp_path):
    """An empty folder of data, and one for what is kept."""
    (tmp_path / "data").mkdir()
    return ("--data", tmp_path / "data", "--out", tmp_path / "out")


def test_bad_pages_and_papers_are_refused(cuecard, folders):
    ran = cuecard("reproduce", "paper", "icq", *folders, "--page", "a.pdf")
    assert (ran.code, "written as .html or .md" in ran.err) == (2, True)
    ran = cuecard("reproduce", "paper", "icp", *folders)
    assert (ran.code, "icq" in ran.err) == (2, True)


def test_the_page_has_every_paper(cuecard, folders, tmp_path):
    ran = cuecard("reproduce", "paper", "all", *folders, "--page", tmp_path / "p.html")
    assert ran.code == 0, ran.err
    page = (tmp_path / "p.html").read_text()
    assert all(title in page for title in ("ICQ", "Stubborn Lexical Bias", "Selection Bias", "PECO"))
