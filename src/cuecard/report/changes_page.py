"""What changed between two cards, as a page: the verdict, what moved with its interval, cues, findings, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from markupsafe import Markup

from cuecard import wording
from cuecard.analysis import Unit
from cuecard.card.changes import CueChange, Movement
from cuecard.card.diff import Change, Comparison
from cuecard.report.changes import change_text, merged_settings, value_text, verdict_of
from cuecard.report.html.page import environment, inlined_parts, sentence
from cuecard.report.sections import SectionView, TableView
from cuecard.view import Axis, Chart, Column, Intervals, KeyFigure, Pairs
from cuecard.wording import display_text
from cuecard.writing import write_text

#: What a measure can have done, in the order of the colours.
VERDICTS = ("worse", "better", "within noise")
#: Rows of a chart, so that it stays readable.
MOST_DRAWN = 20


@dataclass(frozen=True)
class PagePart:
    """A section of the page; `html` comes before what the view shows."""

    name: str
    title: str
    view: SectionView
    html: Markup = field(default_factory=Markup)


@dataclass(frozen=True)
class ComparisonChapter:
    """What a page shows of one step from a card to the next."""

    name: str
    title: str
    severity: str
    verdict: str
    detail: Sequence[str]
    figures: Sequence[KeyFigure]
    parts: Sequence[PagePart]


def comparison_chapter(comparison: Comparison, number: int = 1) -> ComparisonChapter:
    """Return what to show of a comparison; `number` tells several on one page apart."""
    title = f"{display_text(comparison.before, 60)} → {display_text(comparison.after, 60)}"
    views = {
        "Measures": _measures(comparison),
        "Cues": _cues(comparison),
        "Findings": _findings(comparison),
        "Data and settings": _settings(comparison),
    }
    parts = [
        PagePart(f"c{number}-{name.split()[0].lower()}", name, view)
        for name, view in views.items()
        if view is not None
    ]
    same = "The data is the same." if comparison.same_data else "The data differs."
    severity = "high" if comparison.worse else "none"
    detail = (
        f"{same} Changes count as beyond noise after Holm's correction over all measures, and over all features.",
        *comparison.notes,
    )
    return ComparisonChapter(
        f"c{number}", title, severity, verdict_of(comparison), detail, _figures(comparison), parts
    )


def _figures(comparison: Comparison) -> list[KeyFigure]:
    """Return how many measures and cues got worse and better, beside how many could."""
    figures = []
    for direction in ("worse", "better"):
        measures = sum(move.direction == direction for move in comparison.moved)
        figures.append(
            KeyFigure(
                f"measures {direction}", wording.count(measures), f"of {len(comparison.judged):,} compared"
            )
        )
        cues = sum(cue.direction == direction for cue in comparison.cues_moved)
        figures.append(KeyFigure(f"cues {direction}", wording.count(cues)))
    shared = max((move.change.shared for move in comparison.judged), default=0)
    if shared:
        figures.append(KeyFigure("shared examples", wording.count(shared), "compared one by one"))
    return figures


def _measures(comparison: Comparison) -> SectionView | None:
    judged = comparison.judged
    judged_names = {move.after.name for move in judged}
    others = [change for change in comparison.measures if change.measure not in judged_names]
    if not judged and not others:
        return None
    moved = len(comparison.moved)
    lead = (
        [f"{moved} of {wording.plural(len(judged), 'measure')} moved beyond noise."]
        if judged
        else ["No measure of both cards has a direction in which it gets worse."]
    )
    drawable = [move for move in judged if move.after.unit in ("share", "points")][:MOST_DRAWN]
    charts = []
    if drawable:
        more = len(judged) - len(drawable)
        charts.append(
            _changes(
                drawable,
                "After minus before, in points. The dashed line is no change."
                + (
                    f" {wording.plural(more, 'more measure is', 'more measures are')} in the table."
                    if more
                    else ""
                ),
            )
        )
    tables = []
    if judged:
        tables.append(_judged_table(judged))
    if others:
        tables.append(_change_table("Other measures that differ", others))
    return SectionView(lead, charts=charts, tables=tables)


def _changes(judged: Sequence[Movement], caption: str) -> Chart:
    """Return a dot with its interval for the change of every measure, in points."""
    rows = [
        {
            "name": move.after.label or move.after.name,
            "verdict": move.direction,
            "change": move.change.difference,
            "low": move.change.low,
            "high": move.change.high,
        }
        for move in judged
    ]
    return Intervals(
        title="Changes with 95 % CIs",
        data=pl.DataFrame(rows),
        y="name",
        x=Axis("change", "change in points", "points"),
        low="low",
        high="high",
        colour="verdict",
        colours=VERDICTS,
        legend=True,
        line=0.0,
        alt="Change of every measure in points with its 95 % CI; the table has the same numbers.",
        caption=caption,
    )


def _moved(cues: Sequence[CueChange]) -> Chart:
    """Return the share of every cue's label before and after, joined by a line."""
    rows = [
        {
            "cue": f"{display_text(cue.feature, 40)} · {display_text(cue.label, 30)}",
            "before": cue.share_before,
            "after": cue.share_after,
            "verdict": cue.direction,
        }
        for cue in cues
    ]
    schema = {"cue": pl.String, "before": pl.Float64, "after": pl.Float64, "verdict": pl.String}
    return Pairs(
        title="Cues that moved beyond noise",
        data=pl.DataFrame(rows, schema=schema),
        item="cue",
        before="before",
        after="after",
        axis=Axis("share", "share of the label", "percent", domain=(0, 1)),
        tooltip={"verdict": Column("verdict")},
        alt="Share of the label of every cue that moved, before and after; the table has the same numbers.",
        caption="Share of the cue's label among the training instances with the cue. A cue with one mark was "
        "too rare to be tested in the other version.",
    )


def _judged_table(judged: Sequence[Movement]) -> TableView:
    columns = [
        Column("Measure"), Column("Verdict"), Column("Before"), Column("After"),
        Column("Change", hint="after minus before; of shares in points"),
        Column("CI low", hint="lower end of the 95 % CI of the change"),
        Column("CI high", hint="upper end of the 95 % CI of the change"),
        Column("Worse if", hint="the direction in which the measure gets worse"),
    ]  # fmt: skip
    rows = []
    for move in judged:
        unit: Unit = "points" if move.after.unit in ("share", "points") else move.after.unit
        ends = [move.change.difference, move.change.low, move.change.high]
        rows.append(
            [
                move.after.label or move.after.name,
                move.direction,
                value_text(move.before.value, move.before.unit),
                value_text(move.after.value, move.after.unit),
                *(value_text(end, unit) for end in ends),
                move.after.worse,
            ]
        )
    return TableView("Every measure that can get worse", columns, rows, len(rows), searchable=True)


def _change_table(title: str, changes: Sequence[Change]) -> TableView:
    columns = [Column("What"), Column("Before"), Column("After"), Column("Change")]
    rows: list[list[object]] = [
        [
            change.what
            if change.section == "dataset" or change.measure
            else f"{change.section}: {change.what}",
            value_text(change.before, change.unit),
            value_text(change.after, change.unit),
            change_text(change),
        ]
        for change in changes
    ]
    return TableView(title, columns, rows, len(rows), searchable=len(rows) > 15)


def _cues(comparison: Comparison) -> SectionView | None:
    if not comparison.cues:
        return None
    moved = comparison.cues_moved
    worse = sum(cue.direction == "worse" for cue in moved)
    lead = [
        f"{wording.plural(worse, 'cue')} got worse and {len(moved) - worse} got better beyond noise."
        if moved
        else "No cue moved beyond noise."
    ]
    charts = []
    if moved:
        charts.append(_moved(moved[:MOST_DRAWN]))
    columns = [
        Column("Cue"), Column("Change"), Column("Verdict"), Column("Label before"), Column("Label after"),
        Column("Before", "percent", hint="share of the label after, or of the one before where it is gone"),
        Column("After", "percent"), Column("Family"),
    ]  # fmt: skip
    rows = [
        [
            cue.feature, cue.kind, cue.direction, cue.label_before, cue.label_after,
            cue.share_before, cue.share_after, cue.family,
        ]
        for cue in comparison.cues
    ]  # fmt: skip
    table = TableView(
        "Cues that are new, gone, stronger, weaker or turned", columns, rows, len(rows), searchable=True
    )
    return SectionView(lead, charts=charts, tables=[table])


def _findings(comparison: Comparison) -> SectionView | None:
    rows = [["new", title] for title in comparison.findings_new]
    rows += [["gone", title] for title in comparison.findings_gone]
    if not rows:
        return None
    lead = f"{len(comparison.findings_new)} new, {len(comparison.findings_gone)} gone."
    table = TableView(
        "New findings, then those that are gone", [Column("Change"), Column("Finding")], rows, len(rows)
    )
    return SectionView([lead], tables=[table])


def _settings(comparison: Comparison) -> SectionView | None:
    tables = [
        _change_table(title, changes)
        for title, changes in (
            ("Data", comparison.data),
            ("Analyses and options", merged_settings(comparison.sections)),
        )
        if changes
    ]
    return SectionView((), tables=tables) if tables else None


def comparison_html(comparisons: Sequence[Comparison]) -> str:
    """Return the page of one or more comparisons: each with its verdict first, then what changed."""
    chapters = [comparison_chapter(comparison, i) for i, comparison in enumerate(comparisons, start=1)]
    names = [comparisons[0].before, *(comparison.after for comparison in comparisons)]
    return chapters_html(chapters, " → ".join(names), "cuecard compare --json")


def chapters_html(chapters: Sequence[ComparisonChapter], title: str, exact: str) -> str:
    """Return a page of chapters, each with its verdict first; `exact` is the command that prints the exact numbers."""
    parts = [part for chapter in chapters for part in chapter.parts]
    charts = {f"{part.name}-{i}": chart for part in parts for i, chart in enumerate(part.view.charts)}
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            title=display_text(title, 160),
            chapters=chapters,
            exact=exact,
            numbers=wording,
            show=display_text,
            say=sentence,
            **inlined_parts(charts),
        )
    )


def write_comparison(comparisons: Sequence[Comparison], path: str | Path) -> Path:
    """Write the page to a file, whole or not at all, and return its path."""
    path = Path(path)
    write_text(path, comparison_html(comparisons), errors="replace")
    return path
