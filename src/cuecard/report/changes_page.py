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
from cuecard.report.changes import (
    change_text,
    change_unit,
    merged_settings,
    value_text,
    verdict_of,
    visible,
)
from cuecard.report.html.page import environment, inlined_parts, sentence
from cuecard.report.sections import SectionView, TableView
from cuecard.view import Axis, Chart, Column, Intervals, KeyFigure, Pairs, Written
from cuecard.wording import display_text
from cuecard.writing import write_text

#: What a measure can have done, in the order of the colours.
VERDICTS = ("worse", "better")
#: Rows of a chart, so that it stays readable.
MOST_DRAWN = 20


@dataclass(frozen=True)
class PagePart:
    """A section of the page; `html` comes before what the view shows, and `quiet` is folded behind its title."""

    name: str
    title: str
    view: SectionView
    html: Markup = field(default_factory=Markup)
    quiet: SectionView = field(default_factory=SectionView)
    quiet_title: str = ""


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
    changed: dict[str, tuple[SectionView | None, list[TableView]]] = {
        "Measures": (_measures(comparison), _measures_within_noise(comparison)),
        "Cues": (_cues(comparison), _cues_within_noise(comparison)),
        "Findings": (_findings(comparison), []),
        "Data and settings": (_settings(comparison), []),
    }
    parts = [
        PagePart(
            f"c{number}-{name.split()[0].lower()}",
            name,
            view or SectionView(),
            quiet=SectionView(tables=quiet),
            quiet_title=f"Within noise: {sum(len(table.rows) for table in quiet):,}",
        )
        for name, (view, quiet) in changed.items()
        if view is not None or quiet
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
    """Return the measures that moved, or, of the same data, those that differ as they are shown."""
    judged, moved, shifted = comparison.judged, comparison.moved, comparison.shifted
    exact = visible(comparison.measures) if comparison.same_data else []
    if not judged and not shifted and not exact:
        return None
    lead = (
        [f"{len(moved)} of {wording.plural(len(judged), 'measure')} moved beyond noise."]
        if judged
        else ["No measure of both cards has a direction in which it gets worse."]
    )
    drawable = [move for move in moved if move.after.unit in ("share", "points")][:MOST_DRAWN]
    caption = "After minus before, in points. The dashed line is no change."
    charts = [_changes(drawable, caption)] if drawable else []
    tables = []
    if moved:
        tables.append(_movements("Measures that moved", moved))
    if shifted:
        tables.append(_movements("Also changed, neither worse nor better", shifted))
    if exact:
        tables.append(_change_table("Measures that differ by the settings or the models", exact))
    return SectionView(lead, charts=charts, tables=tables)


def _measures_within_noise(comparison: Comparison) -> list[TableView]:
    still = [
        move for move in comparison.judged if move.direction == "within noise" and move.change.difference
    ]
    return [_movements("Measures within noise", still)] if still else []


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


#: What stands before the verdict on a change.
_ARROWS = {"worse": "▲ worse", "better": "▼ better", "higher": "↑ higher", "lower": "↓ lower"}


def _movements(title: str, moves: Sequence[Movement]) -> TableView:
    """Return a row per measure, with its values, its change and the interval of that."""
    columns = [
        Column("Measure"), Column("Verdict"), Column("Before", "number"), Column("After", "number"),
        Column("Change", "number", hint="after minus before; of shares in points"),
        Column("CI low", "number", hint="lower end of the 95 % CI of the change"),
        Column("CI high", "number", hint="upper end of the 95 % CI of the change"),
        Column("Shared", "count", hint="examples of both versions that were compared one by one"),
    ]  # fmt: skip
    rows: list[list[object]] = []
    for move in moves:
        unit = change_unit(move)
        ends = [move.change.difference, move.change.low, move.change.high]
        rows.append(
            [
                move.after.label or move.after.name,
                _ARROWS.get(move.direction, move.direction),
                Written(value_text(move.before.value, move.before.unit), move.before.value),
                Written(value_text(move.after.value, move.after.unit), move.after.value),
                *(Written(value_text(end, unit), end) for end in ends),
                move.change.shared or None,
            ]
        )
    if not any(move.change.shared for move in moves):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return TableView(title, columns, rows, len(rows), searchable=len(rows) > 15)


def _change_table(title: str, changes: Sequence[Change]) -> TableView:
    columns = [
        Column("What"), Column("Before", "number"), Column("After", "number"), Column("Change", "number")
    ]  # fmt: skip
    rows: list[list[object]] = [
        [
            change.what
            if change.section == "dataset" or change.measure
            else f"{change.section}: {change.what}",
            _cell(change.before, change.unit),
            _cell(change.after, change.unit),
            Written(change_text(change), change.difference),
        ]
        for change in changes
    ]
    return TableView(title, columns, rows, len(rows), searchable=len(rows) > 15)


def _cell(value: object, unit: Unit | None) -> Written:
    return Written(value_text(value, unit), value if wording.is_number(value) else None)


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
    if not moved:
        return SectionView(lead)
    return SectionView(
        lead, charts=[_moved(moved[:MOST_DRAWN])], tables=[_cue_table("Cues that moved", moved)]
    )


def _cues_within_noise(comparison: Comparison) -> list[TableView]:
    still = [cue for cue in comparison.cues if cue.direction == "within noise"]
    return [_cue_table("Changes of the list of cues within noise", still)] if still else []


def _cue_table(title: str, cues: Sequence[CueChange]) -> TableView:
    columns = [
        Column("Cue"), Column("Verdict"), Column("What", hint="new, gone, turned, stronger or weaker"),
        Column("Label"), Column("Before", "percent", hint="share of the label"), Column("After", "percent"),
        Column("Change", "points", hint="by how much further it is from chance, in points"),
        Column("CI low", "points", hint="lower end of the 95 % CI of the change"),
        Column("CI high", "points", hint="upper end of the 95 % CI of the change"),
        Column("Family"),
    ]  # fmt: skip
    rows: list[list[object]] = [
        [
            cue.feature, _ARROWS.get(cue.direction, cue.direction), cue.kind,
            f"{cue.label_before} → {cue.label_after}" if cue.kind == "turned" else cue.label,
            *(Written("too rare") if share is None else share for share in (cue.share_before, cue.share_after)),
            cue.change, cue.low, cue.high, cue.family,
        ]
        for cue in cues
    ]  # fmt: skip
    return TableView(title, columns, rows, len(rows), searchable=len(rows) > 15)


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
