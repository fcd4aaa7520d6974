"""The cluster section of the report: what it says, what it draws, what it lets in."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from cuecard.audits.clusters.view import cluster_verdict, confidence_chart
from cuecard.card import Card
from cuecard.report import write_report
from cuecard.report.charts.cluster_map import map_layers, maps_side_by_side
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import outcome_of, section_view
from cuecard.report.terminal.card import render_terminal
from cuecard.run import audit
from cuecard.view import PointMap
from pace import PATIENCE
from small_sets import pair_instances

BROWSER = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None
)
EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


def made_card(
    folder: Path, *, leak: bool, decoration: str = "", labels: tuple[str, str] = ("no", "yes")
) -> Card:
    """A card of texts about five topics, the first of which has one label if it leaks."""
    rng = np.random.default_rng(0)
    topics = ["sleep bed nap", "song stage guitar", "soup stove cook", "snow ski cold", "boat river net"]
    rows = []
    for i in range(300):
        topic = i % len(topics)
        label = labels[1] if leak and topic == 0 else labels[int(rng.integers(2))]
        words = " ".join(rng.permutation(topics[topic].split()))
        # A decoration alone would make all texts near copies of each other, which count as one.
        own = " ".join(f"y{i}z{j}" for j in range(12)) if decoration else ""
        rows.append(("train", f"premise {i}", f"{words} {decoration} {own} x{rng.integers(200)}", label))
    data = pair_instances(rows, name=f"made {decoration}")
    folder.mkdir(exist_ok=True)
    dynamics = folder / "dynamics.csv"
    pl.DataFrame({"example_id": data.table["example_id"], "confidence": rng.random(300)}).write_csv(dynamics)
    return audit(
        data,
        only=["clusters"],
        k=6,
        map="pca",
        transformations=("shuffled_words",),
        dynamics=str(dynamics),
    )


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Card:
    return made_card(tmp_path_factory.mktemp("made"), leak=True)


def test_a_leaking_set_is_said_to_differ_and_shows_everything(leaking: Card) -> None:
    view = section_view(leaking, "clusters")
    assert "Here the clusters differ" in view.lead[1]
    assert [chart.title for chart in view.charts] == [
        "Map of meaning",
        "Clusters that predict a label",
        "PECO curve",
        "Sensitivity to the settings",
        "Effect of text transformations",
        "Confidence in training",
    ]
    for chart in view.charts:
        assert json.dumps(draw(chart).to_dict(), allow_nan=False)
    assert view.tables[0].rows[0][2] == "yes"
    assert "sleep" in view.tables[0].rows[0][0]


def test_the_sweep_is_a_table_too_with_what_became_of_each_setting(leaking: Card) -> None:
    view = section_view(leaking, "clusters")
    table = next(table for table in view.tables if table.title == "Other settings")
    assert [column.title for column in table.columns][:4] == ["k", "Clusters", "Components", "Starts"]
    assert len(table.rows) == leaking.tables["cluster_sweep"].height
    chart = next(chart for chart in view.charts if chart.title == "Sensitivity to the settings")
    assert "framed" in chart.caption
    assert "10 above" in chart.caption
    drawn = json.dumps(draw(chart).to_dict())
    assert '"headline": true' in drawn
    assert "clusters after merging" in drawn


def test_clusterings_that_disagree_and_a_giant_cluster_are_said(leaking: Card) -> None:
    card = leaking.model_copy(deep=True)
    card._tables = dict(leaking.tables)
    card["clusters"].summary.update(starts_significant=4, largest_cluster=0.52)
    view = section_view(card, "clusters")
    assert "4 of 10 are significant" in view.lead[1]
    assert "One cluster contains 52" in view.lead[1]
    assert "4 of 10 starts are significant" in view.notes[0]


def test_the_confidence_histogram_says_how_many_examples_it_compares(leaking: Card) -> None:
    counts = leaking.tables["cluster_confidence"]
    chart = next(c for c in section_view(leaking, "clusters").charts if c.title == "Confidence in training")
    assert f"the {counts['biased'].sum()} examples" in chart.caption
    assert f"the {counts['other'].sum()} other examples" in chart.caption


def test_a_clean_set_is_said_to_hold(tmp_path: Path) -> None:
    view = section_view(made_card(tmp_path, leak=False), "clusters")
    assert "This is the case here" in view.lead[1]


def test_the_map_grows_biased_clusters_by_a_slider_on_a_canvas(leaking: Card) -> None:
    spec = specification(draw(section_view(leaking, "clusters").charts[0]))
    slider = next(p for p in spec["params"] if p["name"] == "threshold")
    assert slider["bind"]["input"] == "range"
    assert spec["usermeta"]["embedOptions"]["renderer"] == "canvas"
    drawn = [row for data in spec["datasets"].values() for row in data] if "datasets" in spec else []
    layers = [row for layer in spec["layer"] for row in layer.get("data", {}).get("values", [])]
    assert sum("text" in row for row in [*drawn, *layers]) in (300, 600)


def test_maps_stand_side_by_side_under_one_slider(leaking: Card) -> None:
    chart = section_view(leaking, "clusters").charts[0]
    assert isinstance(chart, PointMap)
    spec = maps_side_by_side([chart, replace(chart, title="other")]).to_dict()
    assert (
        len(spec["concat"]) == spec["columns"] == 2
    )  # more sets stand below, so that a screen is wide enough
    assert [p["name"] for p in spec["params"]].count("threshold") == 1


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_draws_every_chart_and_hostile_texts_never_run(tmp_path: Path) -> None:
    card = made_card(tmp_path / "made", leak=True, decoration=EVIL, labels=("a.b[0]", EVIL))
    file = write_report(card, tmp_path / "report.html")
    assert BROWSER is not None
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=15000",
        f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
    dom = re.sub(r"<script.*?</script>", "", done.stdout.decode("utf-8"), flags=re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title is not None
    assert title[1].endswith("· CueCard")
    assert (
        dom.count('data-chart="') == dom.count('data-state="drawn"') == 7
    )  # one of them on the first screen as well
    assert "<canvas" in dom
    assert 'type="range"' in dom


def test_a_map_of_fifty_thousand_points_stays_small_enough_to_open(leaking: Card, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 50_000
    points = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "x": rng.normal(size=n) * 40,
            "y": rng.normal(size=n) * 40,
            "cluster": rng.integers(0, leaking["clusters"].summary["k"], n),
            "label": rng.choice(leaking.dataset.labels, n),
            "text": [
                f"A man in a blue shirt number {i} is standing on a ladder cleaning a window."
                for i in range(n)
            ],
        }
    )
    small = write_report(leaking, tmp_path / "small.html").stat().st_size
    crowded = leaking.model_copy()
    crowded._tables = {**leaking.tables, "cluster_map": points}
    large = write_report(crowded, tmp_path / "large.html").stat().st_size
    assert large - small > 500_000  # points are there, as many as the report has room for
    assert large < 3_000_000


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_points_of_any_unit_keep_their_places_on_the_map(leaking: Card, unit: float) -> None:
    points = leaking.tables["cluster_map"]
    scaled = points.with_columns(pl.col("x", "y") * unit / (points["x"].max() - points["x"].min()))  # type: ignore[operator]
    chart = section_view(leaking, "clusters").charts[0]
    assert isinstance(chart, PointMap)
    layers = map_layers(replace(chart, data=scaled))
    drawing = layers[0].to_dict()
    drawn = sorted(row["x"] for row in drawing["datasets"][drawing["data"]["name"]])
    assert np.allclose(drawn, scaled["x"].sort().to_numpy(), rtol=0, atol=2e-4 * unit)


def test_confidence_is_drawn_as_bars_from_zero_up(leaking: Card) -> None:
    for layer in draw(confidence_chart(leaking.tables["cluster_confidence"])).to_dict()["layer"]:
        x = layer["encoding"]["x"]
        assert x["bin"] == "binned"
        assert layer["mark"]["type"] == "bar"


def test_changed_texts_and_training_dynamics_are_told_where_no_chart_can_be_seen(leaking: Card) -> None:
    _, _, changed, training = section_view(leaking, "clusters").lead
    original, shuffled = leaking.tables["cluster_transformations"]["excess"]
    assert f"{shuffled:.2f} with shuffled words" in changed
    assert changed.startswith(f"On the original texts, the excess over shuffled labels is {original:.2f};")
    histogram = leaking.tables["cluster_confidence"]
    sure = histogram.filter(pl.col("low") > 0.49)
    for kind in ("biased", "other"):
        assert f"{100 * sure[kind].sum() / histogram[kind].sum():.1f}\N{NO-BREAK SPACE}%" in training


def test_a_verdict_that_rests_on_few_clusterings_and_no_cluster_says_may(leaking: Card) -> None:
    hedged = leaking.sections["clusters"].summary | {"significant_clusters": 0, "starts_significant": 4}
    said = cluster_verdict(replace(outcome_of(leaking, leaking.sections["clusters"]), summary=hedged))
    assert "Here the clusters may differ" in said
    assert "none of the" in said
    assert "0 clusters" not in said


def test_eighty_columns_show_the_words_of_a_cluster_whole(leaking: Card) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    render_terminal(leaking, console)
    shown = console.export_text()
    assert "Nearest its centre" not in shown
    assert leaking.tables["clusters"]["words"][0] in shown
