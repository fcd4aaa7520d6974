"""Cues of the data beside what each model does with them."""

from __future__ import annotations

import polars as pl

from cuecard.card.card import Card, Section
from cuecard.data import GROUPED_TASKS
from cuecard.report import numbers
from cuecard.report.sections.model_tests import several
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView

WORDS = {
    "relies": "relies",
    "signs": "signs",
    "avoids": "avoids",
    "length": "as length explains",
    "none": "no sign",
    "unknown": "too few",
}
_NEXT = {
    "relies": "balance it",
    "signs": "look at what breaks it",
    "avoids": "report the sign",
    "length": "balance length",
    "unknown": "collect what breaks it",
    "none": "nothing here",
}
_RULE = (
    "A model relies on a cue if it is more often right where the cue has its usual label than where it has "
    "another, and leans to that label on test examples sampled to equal labels, more so than where the cue is "
    "absent, all of it beyond what length explains; the last alone is a sign. A model avoids a cue if it leans away "
    "from the usual label where the cue is."
)
_CHOICE_RULE = (
    "A model relies on a cue if it is more often right where the right choice has the cue, or lacks it, as is usual in "
    "train, and also picks, or passes over, choices with it where they are right as often as chance has it, beyond "
    "what length explains; the last alone is a sign. “On flat” is how often. A model that does the opposite avoids the "
    "cue."
)
MOST_ROWS = 200
MOST_NAMES = 12


@SECTION_VIEWS.register("reliance")
def reliance(card: Card, section: Section) -> SectionView:
    """Return the joined table: cue, strength in the data, reliance per model, what to do next."""
    models = section.summary["models"]
    lead = [
        f"{display_text(name, 60)} relies on {found['relies'] or 'none'} of "
        f"{numbers.plural(section.summary['cues'], 'cue')}"
        + (f" and shows signs of using {found['signs']} more" if found["signs"] else "")
        + (f"; it avoids {found['avoids']}" if found.get("avoids") else "")
        + (f"; for {found['unknown']} too few test examples could tell." if found["unknown"] else ".")
        for name, found in models.items()
    ]
    table = most_relied_on_first(card.tables["reliance"])
    return SectionView(
        lead=[*lead, *_next_steps(table)],
        figures=[
            KeyFigure(f"cues {display_text(name, 40)} relies on", numbers.count(found["relies"]))
            for name, found in models.items()
        ],
        tables=[_table(table)],
        notes=[_CHOICE_RULE if card.dataset.task in GROUPED_TASKS else _RULE],
    )


def most_relied_on_first(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows by verdict, and within one by how much more often the model is right with the usual label."""
    rank = pl.col("verdict").replace_strict(
        {verdict: i for i, verdict in enumerate(WORDS)}, return_dtype=pl.Int64
    )
    return table.sort(rank, "difference", descending=[False, True], nulls_last=True, maintain_order=True)


def _next_steps(table: pl.DataFrame) -> list[str]:
    """Return what to do next, the cues with the same advice in one sentence."""
    cues = table.unique(["family", "feature"], keep="first", maintain_order=True)
    kinds = {
        "relies": "Balance before training (cuecard debias), and report accuracy on what breaks them: {}.",
        "signs": "Look at the test examples that break them: {}.",
        "unknown": "Collect test examples that break them, there are too few to tell: {}.",
    }
    said = []
    for kind, sentence in kinds.items():
        here = cues.filter(pl.col("verdict") == kind)
        if here.height:
            names = [f"“{display_text(name, 30)}”" for name in here["feature"].head(MOST_NAMES).to_list()]
            more = [f"{here.height - MOST_NAMES} more"] if here.height > MOST_NAMES else []
            said.append("Next: " + sentence.format(", ".join([*names, *more])))
    return said


def _table(frame: pl.DataFrame) -> TableView:
    rows = [
        (
            row["feature"],
            row["model"],
            WORDS[row["verdict"]],
            row["label"],
            row["usual_accuracy"],
            row["unusual_accuracy"],
            row["usual_share"],
            row["gap"],
            row["share"],
            row["unusual"],
            _NEXT[row["verdict"]],
            row["family"],
            row["train_count"],
            row["z"],
        )
        for row in frame.iter_rows(named=True)
    ]
    columns = [
        Column("Cue"),
        Column("Model", brief=several(frame)),
        Column("Reliance"),
        Column("Usual label", "label"),
        Column("Right, usual", "percent", "accuracy where the cue has its usual label"),
        Column("Right, other", "percent", "accuracy where it has another"),
        Column("On flat", "percent", "how often the usual label is predicted on examples with equal labels"),
        Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        Column("In train", "percent", "share of the usual label among train instances with the cue"),
        Column("Breaking it", "count", "test examples in which the cue has another label"),
        Column("What to do next", brief=False, hint="in a word; tables/reliance.parquet has a sentence"),
        Column("Family", brief=False),
        Column("Train", "count", "train instances with the cue", brief=False),
        Column("z", "decimal", brief=False),
    ]
    return TableView(
        "Cues and what models do with them",
        columns,
        rows[:MOST_ROWS],
        total=frame.height,
        source="tables/reliance.parquet",
        searchable=True,
    )
