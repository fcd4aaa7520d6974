"""Which surface features point to a label."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.features.cue_names import spoken_cue
from cuecard.report.cue_rows import (
    MOST_POINTS,
    MOST_ROWS,
    compared,
    prior_of,
    strongest,
    with_test_share,
)
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.text import reading_advice
from cuecard.wording import display_text

CUES_PER_LABEL = 10
MOST_LABELS = 6
REDUNDANT_ROWS = 100


@SECTION_VIEWS.register("cues")
def cues(card: Card, section: Section) -> SectionView:
    """Return the map of cues, the strongest of every label, and a table to search."""
    summary = section.summary
    families = summary.get("families", {})
    looked_at = sum(not info.get("skipped") for info in families.values())
    skipped: dict[str, list[str]] = {}
    for name, info in families.items():
        if info.get("skipped"):
            skipped.setdefault(info["skipped"].rstrip("."), []).append(name)
    advice = reading_advice(summary.get("language", ""), summary.get("tokens", ""))
    return SectionView(
        lead=[_verdict(summary), *_strongest(card, section)],
        figures=[
            KeyFigure("features tested", wording.count(summary["features"])),
            KeyFigure("significant", wording.count(summary["significant"]), f"q ≤ {summary['alpha']:g}"),
            KeyFigure(
                "cues",
                wording.count(summary["cues"]),
                f"in at least {summary['min_count']} instances of each split",
            ),
            *_given_length(summary),
            KeyFigure("families", wording.count(looked_at), f"of {len(families)} requested"),
        ],
        charts=_charts(card, section),
        tables=[cue_table(card, card.tables["cues"]), *_redundant(card)],
        notes=[
            *([advice] if advice else []),
            *(f"Not tested: {', '.join(names)} ({reason})." for reason, names in skipped.items()),
        ],
    )


def _given_length(summary: dict[str, Any]) -> list[KeyFigure]:
    if summary.get("by_length") is None:
        return []
    left = summary["significant"] - summary["by_length"]
    return [
        KeyFigure(
            "given length", wording.count(left), f"{wording.count(summary['by_length'])} go with length"
        )
    ]


def _verdict(summary: dict[str, Any]) -> str:
    tested = wording.plural(summary["features"], "feature")
    if not summary["significant"]:
        return (
            f"None of {tested} is significantly associated with a label "
            f"(false discovery rate {wording.percent(summary['alpha'], 0)})."
        )
    are = "is" if summary["significant"] == 1 else "are"
    text = (
        f"{wording.count(summary['significant'])} of {tested} "
        f"({wording.percent(summary['significant'] / summary['features'])}) {are} significantly associated with a "
        f"label (false discovery rate {wording.percent(summary['alpha'], 0)})"
    )
    if summary["cues"] == summary["significant"]:
        return f"{text}."
    listed = "is" if summary["cues"] == 1 else "are"
    return f"{text}; {wording.count(summary['cues'])} of them {listed} frequent enough to be listed as cues."


def _strongest(card: Card, section: Section) -> list[str]:
    frame = card.tables["cues"]
    if not section.summary["significant"] or frame.is_empty():
        return []
    row = frame.row(0, named=True)
    chance = row.get("chance", prior_of(section).get(row["label"]))
    n = compared(row)
    differing = round(n) != round(row["train_count"])
    where = f" in examples whose {_answers(card)} differ in it" if differing else ""
    return [
        f"Strongest: {display_text(spoken_cue(row['family'], row['feature']), 60)} "
        f"({wording.percent(row['share'])} of the {wording.count(n)} training instances with it{where} are "
        f"{row['label']}; chance is {wording.percent(chance)})."
    ]


def _answers(card: Card) -> str:
    return "responses" if card.dataset.task == "preference" else "choices"


def _charts(card: Card, section: Section) -> list[ChartView]:
    frame, labels = card.tables["cues"], card.dataset.labels
    if frame.is_empty():
        return []

    def cue_map() -> Any:
        from cuecard.report.charts.audits.cues import cue_map

        return cue_map(section, card.tables, labels)

    def by_family() -> Any:
        from cuecard.report.charts.audits.cues import family_counts

        return family_counts(section)

    sampled = (
        f" The chart shows the strongest {MOST_POINTS:,} of {frame.height:,} features."
        if frame.height > MOST_POINTS
        else ""
    )
    charts = [
        ChartView(
            "Map of cues",
            cue_map,
            alt=f"Scatter plot of {min(frame.height, MOST_POINTS):,} features by number of training instances "
            "and share of the label each predicts; features above the curve of their label are significant. The "
            "table below has the same numbers.",
            caption="Each point is a feature. Dashed lines show chance (the label's share in the training set); "
            f"points above the curve of their colour are significant.{sampled} Choose a label in the legend; "
            "drag to move, Ctrl + wheel to zoom, double-click to reset.",
            name="map",
        )
    ]
    with_cues = [label for label in labels if strongest(frame, label, 1).height]
    charts += [_label_chart(card, section, label) for label in with_cues[:MOST_LABELS]]
    if section.summary["significant"] and "test" in card.dataset.splits:
        charts.append(_confirmation(card))
    if len(section.summary.get("families", {})) > 1 and section.summary["significant"]:
        charts.append(
            ChartView(
                "By family",
                by_family,
                alt="Bars of the share of features that are significant and that are cues, one per family.",
                caption="Blue: cues. Grey: significant, but too rare in a split to be listed.",
                name="families",
            )
        )
    return charts


def _confirmation(card: Card) -> ChartView:
    def draw() -> Any:
        from cuecard.report.charts.audits.cue_confirmation import train_against_test

        return train_against_test(card.tables, card.dataset.labels)

    return ChartView(
        "Training set and test set",
        draw,
        alt="Scatter plot of the strongest cues by the share of their label in the training set and the test set.",
        caption="Each point is a significant cue in the training set; its size is the number of test instances with "
        "it. On the dashed line, the label share is equal in both sets. A cue that is only noise is near chance in the "
        "test set.",
        name="confirmation",
    )


def _label_chart(card: Card, section: Section, label: str) -> ChartView:
    def draw() -> Any:
        from cuecard.report.charts.audits.cues import top_cues

        return top_cues(section, card.tables, card.dataset.labels, label, CUES_PER_LABEL)

    top = strongest(card.tables["cues"], label, 3)["feature"].to_list()
    return ChartView(
        f"Cues of {display_text(label, 40)}",
        draw,
        alt=f"Share of {display_text(label, 40)} among instances with each of its strongest cues, in the training set "
        f"with 95 % CI and in the test set; the strongest are {', '.join(display_text(t, 40) for t in top)}.",
        caption="● training set with 95 % CI · ◇ test set · ┆ chance",
        wide=False,
    )


def _redundant(card: Card) -> list[TableView]:
    """Return the cues that co-occur with a stronger one, and what they add to it."""
    frame = card.tables.get("redundancy")
    if frame is None:
        return []
    told = frame.filter(pl.col("given").is_not_null())
    if told.is_empty():
        return []
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "label": Column("Label", "label"),
        "given": Column("Co-occurs with", hint="a stronger cue that occurs in most of its instances"),
        "contained": Column("Together", "percent", "share of its instances with the stronger cue"),
        "share_with": Column("Share", "percent", "label share if both cues are present"),
        "base_with": Column("Stronger cue", "percent", "label share if the stronger cue is present"),
        "z_given": Column("Added z", "decimal", "what it adds to the stronger cue, in standard errors"),
    }
    return [
        TableView.of(
            "Cues that co-occur with a stronger cue", "redundancy", told, columns, most=REDUNDANT_ROWS
        )
    ]


def cue_table(card: Card, cues: pl.DataFrame) -> TableView:
    """Return rows of the table of cues to look at, with the test share beside the training share."""
    frame = with_test_share(cues, card.dataset.labels).with_columns(
        pl.col("direction").replace({"points to": "for", "rules out": "against"})
    )
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "direction": Column(
            "Cue", "text", "for the label (more frequent with it) or against it (less frequent)"
        ),
        "label": Column("Label", "label"),
        "train_count": Column("Train", "count", "training instances with the feature"),
        "train_texts": Column(
            "Texts", "count", "distinct texts among them; duplicates count once", brief=False
        ),
        "share_n": Column(
            "Compared",
            "count",
            f"those of them in examples whose {_answers(card)} differ in the feature; share and q are of these",
        ),
        "share": Column("Share", "percent", "share of the label among these instances"),
        "share_low": Column("CI low", "percent", "lower end of the 95 % CI of the share", brief=False),
        "share_high": Column("CI high", "percent", "upper end of the 95 % CI of the share", brief=False),
        "lift": Column("Lift", "decimal", "share divided by the label's prior"),
        "test_count": Column("Test", "count", "test instances with the feature"),
        "test_share": Column("Test share", "percent", "share of the same label in the test set"),
        "cueness": Column(
            "Cueness",
            "decimal",
            "deviation from balance that also holds in the test set, in percent",
            brief=False,
        ),
        "z": Column("z", "decimal", "standard errors above the prior", brief=False),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
    }
    if "share_n" not in frame.columns or (frame["share_n"].round() == frame["train_count"].round()).all():
        del columns["share_n"]
    if "test" not in card.dataset.splits:
        columns = {name: column for name, column in columns.items() if not name.startswith("test_")}
    return TableView.of(
        "All cues" if frame.height <= MOST_ROWS else "Strongest cues",
        "cues",
        frame,
        columns,
        most=MOST_ROWS,
        searchable=True,
    )
