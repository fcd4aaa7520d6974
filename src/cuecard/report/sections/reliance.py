"""Cues of the data beside what each model does with them."""

from __future__ import annotations

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView

WORDS = {"relies": "relies on it", "signs": "signs of it", "none": "no sign", "unknown": "too few to tell"}
MOST_ROWS = 200


@SECTION_VIEWS.register("reliance")
def reliance(card: Card, section: Section) -> SectionView:
    """Return the joined table: cue, strength in the data, reliance per model, what to do next."""
    models = section.summary["models"]
    lead = [
        f"{display_text(name, 60)} relies on {found['relies']} of "
        f"{numbers.plural(section.summary['cues'], 'cue')} and shows signs of using {found['signs']} more."
        for name, found in models.items()
    ]
    return SectionView(
        lead=lead,
        figures=[
            KeyFigure(f"cues {display_text(name, 40)} relies on", numbers.count(found["relies"]))
            for name, found in models.items()
        ],
        tables=[_table(card)],
        notes=[
            "A model relies on a cue if it is more often right where the cue has its usual label than where it has "
            "another, and leans to that label on test examples sampled to equal labels, more so than where the cue is "
            "absent; one alone is a sign."
        ],
    )


def _table(card: Card) -> TableView:
    frame = card.tables["reliance"]
    rows = [
        (
            row["feature"],
            row["model"],
            WORDS[row["verdict"]],
            row["label"],
            row["share"],
            row["usual_accuracy"],
            row["unusual_accuracy"],
            row["unusual"],
            100 * row["gap"] if numbers.is_number(row["gap"]) else None,
            row["usual_share"],
            row["family"],
            row["train_count"],
            row["z"],
            row["next"],
        )
        for row in frame.iter_rows(named=True)
    ]
    columns = [
        Column("Cue"),
        Column("Model"),
        Column("Reliance"),
        Column("Points to", "label"),
        Column("Train share", "percent", "share of that label among train instances with the cue"),
        Column("Right, usual", "percent", "accuracy where the cue has its usual label"),
        Column("Right, other", "percent", "accuracy where it has another"),
        Column("Other", "count", "test examples in which the cue has another label"),
        Column("ΔAcc", "decimal", "accuracy with the cue minus accuracy without, in points"),
        Column("On flat", "percent", "how often the usual label is predicted on examples with equal labels"),
        Column("Family", brief=False),
        Column("Train", "count", "train instances with the cue", brief=False),
        Column("z", "decimal", brief=False),
        Column("What to do next", brief=False),
    ]
    return TableView(
        "Cues and what models do with them",
        columns,
        rows[:MOST_ROWS],
        total=frame.height,
        source="tables/reliance.parquet",
        searchable=True,
    )
