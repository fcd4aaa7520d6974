"""Printed numbers stand beside ours: the same, different with a reason, partial, or not possible."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import polars as pl
import pytest

from cuecard.analysis import Measure
from cuecard.card.card import Card, DatasetInfo, Provenance, Section
from cuecard.errors import InputError
from cuecard_papers import PAPERS, read_paper, reproduce_paper, reproduction_markdown
from cuecard_papers.judging import Reading, Reproduction, Result, Unavailable, judged, summarised
from cuecard_papers.page import printed_markdown
from cuecard_papers.plotted import plotted
from cuecard_papers.printed_tables import commands_html, printed_tables, table_html
from cuecard_papers.specification import Cell, Correlation, Item, Paper, Run, WordList


@pytest.mark.parametrize("name", PAPERS)
def test_every_item_names_its_run_or_why_there_is_none(name):
    paper = read_paper(name)
    for item in paper.items:
        assert sum(map(bool, (item.missing, item.run, item.correlate, item.plot))) == 1, item.what
        assert not item.run or item.run in paper.runs
        read = sum(map(bool, (item.measure, item.cell, item.value, item.words)))
        assert read == bool(item.run and item.printed), item.what
        assert item.printed or item.missing or item.chart or item.plot, item.what


@pytest.mark.parametrize("name", PAPERS)
def test_no_item_is_listed_twice(name):
    items = [(item.where, item.what) for item in read_paper(name).items]
    assert len(items) == len(set(items))


def test_the_printed_tables_give_the_printed_correlations():
    paper = read_paper("peco")
    figures = [item for item in paper.items if item.correlate is not None]
    assert [item.where for item in figures] == ["Figure 3", "Figure 5", "Figure 6", "Figure 7"]
    for item in figures:
        result = judged(item, paper, None, "")
        assert result.outcome == "reproduced", result


@pytest.mark.parametrize(
    ("printed", "ours", "holds"),
    [(">0.5", 0.6, True), (">0.5", 0.5, False), ("<-1", -2, True), ("<0", None, False)],
)
def test_a_statement_without_a_number_holds_or_not(printed, ours, holds):
    assert Reading("x", printed, ours).agrees(interval=False) is holds


def test_a_tolerance_takes_the_place_of_the_last_digit():
    reading = Reading("x", "0.75", 0.7541)
    assert not reading.agrees(interval=False, tolerance=0.001)
    assert Reading("x", "0.75", 0.7509).agrees(interval=False, tolerance=0.001)


def card_with(table: pl.DataFrame, *measures: Measure) -> Card:
    section = Section(title="Cues", status="done", measures=list(measures), tables=["words"])
    dataset = DatasetInfo(name="d", task="pair", labels=["a", "b"], splits={}, fingerprint="0" * 16)
    card = Card(dataset=dataset, findings=[], sections={"cues": section}, provenance=Provenance())
    card.tables["words"] = table
    return card


TABLE = pl.DataFrame(
    {
        "feature": ["no", "cat", "dog"],
        "label": ["a", "a", "b"],
        "z": [3.0, 1.0, 2.0],
        "low": [2.0, 0.5, 1.0],
        "high": [4.0, 1.5, 3.0],
    }
)
WORDS = {"no": "3.4"}


@pytest.mark.parametrize(
    ("read", "ours", "outcome"),
    [
        ({"measure": "cues.a + cues.b"}, 5.0, "different"),
        ({"measure": "cues.a / cues.b"}, 1.5, "different"),
        ({"measure": "cues.a / cues.b - 1"}, 0.5, "different"),
        ({"cell": Cell("words", "z", {"feature": "{key}"})}, 3.0, "different"),
        (
            {"cell": Cell("words", "z", {"feature": "{key}"}, "low", "high"), "interval": True},
            3.0,
            "within CI",
        ),
        (
            {"cell": Cell("words", "low", {"feature": "{key}"}, "low", "low"), "interval": True},
            2.0,
            "different",
        ),
        ({"cell": Cell("words", "high", {"feature": "{key}"}), "tolerance": 0.7}, 4.0, "reproduced"),
        ({"cell": Cell("words", "z", {"label": "a"})}, None, "different"),
        ({"cell": Cell("absent", "z", {"label": "a"})}, None, "different"),
        ({"words": WordList("words", "z", listed=("dog", "no"))}, 2.0, "different"),
        ({"words": WordList("words", "-z", listed=("no", "cat"), where={"label": "a"})}, 2.0, "different"),
        ({"words": WordList("words", "z", "lists.json", "a")}, 1.0, "different"),
        ({"words": WordList("words", "z", listed=("no",), at_least={"high": 4})}, 1.0, "different"),
        ({"words": WordList("words", "z", listed=("no",), at_least={"high": 5})}, 0.0, "different"),
        ({"cell": Cell("words", "low + high", {"feature": "{key}"})}, 6.0, "different"),
    ],
)
def test_every_way_to_read_a_number_of_a_card(read, ours, outcome, tmp_path):
    (tmp_path / "lists.json").write_text('{"a": ["no", "mouse"], "b": []}')
    card = card_with(TABLE, Measure("cues.a", 3.0), Measure("cues.b", 2.0))
    item = Item("Table 1", "x", run="r", printed=WORDS, **read)
    paper = Paper("p", "P", "P.", (item,), {"r": Run("audit")})
    result = judged(item, paper, card, "cuecard audit", tmp_path)
    assert (result.readings[0].ours, result.outcome) == (ours, outcome)


@pytest.mark.parametrize("name", PAPERS)
def test_every_run_is_used_and_its_command_is_understood(name):
    from typer.main import get_command

    from cuecard.cli.main import app

    paper = read_paper(name)
    assert set(paper.runs) == {item.run for item in paper.items if item.run}
    verbs = get_command(app).commands
    papers = verbs["papers"].commands
    for run in paper.runs.values():
        verb, below = run.command.split()[:2]
        assert below in papers if verb == "papers" else verb in verbs


@pytest.mark.parametrize("name", PAPERS)
def test_every_command_stops_only_where_its_data_is_missing(name, cuecard, tmp_path):
    """Options, models and settings are checked before any data is read, so a wrong one would be named instead."""
    nowhere = tmp_path / "nowhere"
    (tmp_path / "out").mkdir()
    for run in read_paper(name).runs.values():
        for command in filter(None, (run.before, run.command)):
            if "{data}" not in command and "{authors}" not in command:
                continue
            typed = command.format(data=nowhere, authors=nowhere, out=tmp_path / "out")
            added = () if command == run.before or run.json else (run.card, tmp_path / "card")
            ran = cuecard(*shlex.split(typed), *added)
            assert ran.code == 2, command
            assert str(tmp_path) in ran.err, f"{command}: {ran.err}"


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
    assert all(counts["reproduced"] == 0 for counts in result.counts.values())
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
    timed = [timing.cpu_seconds for timing in first.timings if timing.cpu_seconds is not None]
    assert len(timed) == 1
    assert timed[0] > 0.1  # it starts Python
    assert again == first
    json.dumps(first.as_dict())


@pytest.fixture
def folders(tmp_path):
    """An empty folder of data, and one for what is kept."""
    (tmp_path / "data").mkdir()
    return ("--data", tmp_path / "data", "--out", tmp_path / "out")


def test_bad_pages_and_papers_are_refused(cuecard, folders):
    ran = cuecard("papers", "reproduce", "icq", *folders, "--page", "a.pdf")
    assert (ran.code, "written as .html, .md or .json" in ran.err) == (2, True)
    ran = cuecard("papers", "reproduce", "icp", *folders)
    assert (ran.code, "icq" in ran.err) == (2, True)


def test_results_of_methods_are_counted_apart_from_descriptions_and_statements():
    printed = {"went": "3.61"}
    items = [
        Item("Table 1", "size", described=True, printed=printed),
        Item("Table 2", "cueness", printed=printed),
        Item("Figure 1", "scores rise", printed={"rise": ">0"}),
        Item("Figure 2", "a drawing", missing="a drawing without numbers"),
        Item("Figure 3", "printed columns", correlate=Correlation("a", "b"), printed={"PCC": "0.9"}),
    ]
    kinds = ["description", "result", "statement", "statement", "description"]
    assert [item.kind for item in items] == kinds
    outcomes = ("reproduced", "different", "reproduced", "not possible", "reproduced")
    results = tuple(
        Result(item.where, item.what, outcome, kind=item.kind)
        for item, outcome in zip(items, outcomes, strict=True)
    )
    paper = Reproduction("p", "P", "P.", results)
    assert {kind: counts["reproduced"] for kind, counts in paper.counts.items()} == {
        "result": 0,
        "statement": 1,
        "description": 2,
    }
    assert "1 result of a method: 1 different; 2 statements" in summarised(paper)


@pytest.mark.parametrize("name", PAPERS)
def test_every_number_has_its_own_place_in_the_printed_table(name):
    paper = read_paper(name)
    places = []
    for item in paper.items:
        result = judged(item, paper, Unavailable("not run", ""), "") if item.run else None
        places += [
            (item.where, one.row, one.column) for one in (result.readings if result else ()) if one.row
        ]
    assert places
    assert len(places) == len(set(places)), [place for place in places if places.count(place) > 1][:5]


def test_a_printed_table_has_its_rows_in_their_order_and_every_number_leads_to_its_command():
    def result(row, outcome, ours, printed="3.6"):
        reading = Reading(row, printed, ours, 3.0, 4.0, row, "<b>")
        return Result("Table 1", row, outcome, criterion="or our 95 % CI", readings=(reading,), run="a")

    results = (result("second", "reproduced", 3.61), result("first", "within CI", 3.9))
    paper = Reproduction("p", "P", "P.", results, order={"Table 1": ("first",)})
    [table] = printed_tables(paper)
    assert table.rows == ("first", "second")
    shown = table_html(table, "p")
    assert shown.index("first") < shown.index("second")
    assert "&lt;b&gt;" in shown
    assert '<td class="is-within-ci">3.6 <i>≈</i> <a href="#run-p-a"' in shown
    assert 'id="run-p-a"' in commands_html(paper)


def test_the_printed_layout_is_also_markdown_with_every_other_item_and_command_below():
    reading = Reading("went", "3.6", 3.61, 3.0, 4.0, "a|b", "Δ")
    results = (
        Result("Table 1", "x", "reproduced", readings=(reading,), run="a", command="cuecard audit a.csv"),
        Result(
            "Table 1",
            "y",
            "not possible",
            "no data",
            readings=(Reading("z", "2", None, row="c", column="Δ"),),
        ),
        Result("Figure 1", "a drawing", "not possible", "without numbers"),
    )
    text = printed_markdown(Reproduction("p", "P", "P.", results))
    assert "| a\\|b | 3.6 =<br>**3.6**<br><small>3.0 to 4.0</small> |" in text
    assert "| c | 2 ∅<br>**–** |" in text
    assert "- ∅ not possible: no data (y)" in text
    assert "| Figure 1 | a drawing | not possible |  | without numbers |" in text
    assert "| Table 1 | x |" not in text
    assert "- `cuecard audit a.csv`" in text


def test_a_figure_of_two_printed_columns_has_a_point_of_each_where_both_are_known():
    def row(where, row, key, printed, ours):
        return Result(
            where, f"{row} {key}", "different", readings=(Reading(key, printed, ours, row=row, column=key),)
        )

    axes = Correlation("full", "part", {"MNLIdb": "MNLI debiased"})
    figure = Result("Figure 2", "saturation", "partial", plot=axes)
    results = (
        row("Table 2", "SICK", "full", "87.8", 78.6),
        row("Table 2", "MNLI debiased", "full", "90", None),
        row("Table 3", "SICK/s2", "part", "60", 57.0),
        row("Table 3", "MNLIdb/s1", "part", "34", None),
        row("Table 3", "elsewhere/s1", "part", "34", 1.0),
        replace(
            row("Table 2", "SICK", "full", "87.8", 85.0),
            readings=(Reading("full", "87.8", 85.0, column="other"),),
        ),
        figure,
    )
    chart = plotted(Reproduction("p", "P", "P.", results), figure)
    assert chart.data.rows() == [
        ("SICK/s2", "printed", 87.8, 60.0),
        ("SICK/s2", "ours", 78.6, 57.0),
        ("MNLIdb/s1", "printed", 90.0, 34.0),
    ]
    assert chart.caption == "2 printed points, 1 of ours."
    assert (chart.x.title, chart.y.title) == ("full", "part")
    assert plotted(Reproduction("p", "P", "P.", results), results[0]) is None


def test_every_number_can_be_written_as_json(cuecard, folders, tmp_path):
    ran = cuecard("papers", "reproduce", "selection", *folders, "--page", tmp_path / "p.json")
    assert ran.code == 0, ran.err
    [paper] = json.loads((tmp_path / "p.json").read_text())
    theorem = next(result for result in paper["results"] if result["where"] == "Theorem 1")
    assert theorem["outcome"] == "reproduced"
    assert theorem["command"] == "cuecard papers theorem"
    assert theorem["criterion"] == "±0.005"
    assert theorem["readings"][0]["ours"] == pytest.approx(0.75, abs=0.005)


def test_the_page_has_every_paper(cuecard, folders, tmp_path):
    ran = cuecard("papers", "reproduce", "all", *folders, "--page", tmp_path / "p.html")
    assert ran.code == 0, ran.err
    page = (tmp_path / "p.html").read_text()
    assert all(title in page for title in ("ICQ", "Stubborn Lexical Bias", "Selection Bias", "PECO"))


def test_a_number_that_is_not_the_printed_one_is_shown_with_its_interval():
    same, near = Reading("a", "3.6", 3.61, 3.0, 4.0), Reading("b", "70.2", 71.5, 69.94, 73.0)
    paper = Reproduction("p", "P", "P.", (Result("Table 1", "x", "reproduced", readings=(same, near)),))
    assert "a 3.6 → 3.6; b 70.2 → 71.5 (69.9 to 73.0)" in reproduction_markdown(paper)


def test_a_number_halfway_between_two_printed_ones_is_shown_as_it_is():
    readings = Reading("train", "5", 4.5), Reading("test", "5", 4.927), Reading("low", "-2.5", -2.46)
    paper = Reproduction("p", "P", "P.", (Result("Table 5", "x", "reproduced", readings=readings),))
    assert "train 5 → 4.5; test 5 → 5; low -2.5 → -2.5" in reproduction_markdown(paper)
