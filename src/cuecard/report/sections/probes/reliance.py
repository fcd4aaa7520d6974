"""Cues of the data, and whether each model relies on them."""

from __future__ import annotations

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.data import GROUPED_TASKS
from cuecard.features.cue_names import spoken_cue
from cuecard.report.sections.probes.model_tests import in_source, several
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView
from cuecard.wording import RELIANCE, TRAINING_SET, display_text

_NEXT = {
    "relies": "balance it",
    "signs": "inspect counterexamples",
    "avoids": "report it",
    "length": "balance length",
    "unknown": "collect counterexamples",
    "none": "nothing to do",
}
_RULE = (
    "A model relies on a cue if three conditions hold. Its accuracy is higher if the cue has its usual label than if "
    "it has another. On test examples with balanced labels, it prefers the usual label. It predicts this label more "
    "often with the cue than without, after control for length. The last condition alone is a sign. A model avoids a "
    "cue if it predicts the usual label less often with the cue. A counterexample is a test example in which the cue "
    "has another label."
)
_CHOICE_RULE = (
    "A model relies on a cue if two tests agree, after control for length: its accuracy is higher on examples that "
    "follow the pattern of {} (the correct choice has the cue, or does not), and it still follows this "
    "pattern on test examples reweighted so that choices with the cue are correct at chance (“On balanced” is how "
    "often). The second test alone is a sign. A model that does the opposite avoids the cue. A counterexample is a "
    "test example that breaks the pattern."
)
MOST_ROWS = 200
MOST_NAMES = 12


@SECTION_VIEWS.register("reliance")
def reliance(card: Card, section: Section) -> SectionView:
    """Return the joined table: cue, strength in the data, reliance per model, what to do next."""
    models = section.summary["models"]
    lead = [
        f"{display_text(name, 60)} relies on {counts['relies'] or 'none'} of "
        f"{wording.plural(section.summary['cues'], 'cue')}"
        + (f" and shows signs of using {counts['signs']} more" if counts["signs"] else "")
        + (f"; it avoids {counts['avoids']}" if counts.get("avoids") else "")
        + (
            f"; {wording.plural(counts['unknown'], 'cue has', 'cues have')} too few test examples."
            if counts["unknown"]
            else "."
        )
        for name, counts in models.items()
    ]
    source = section.summary.get("source", TRAINING_SET)
    table = most_relied_on_first(card.tables["reliance"])
    return SectionView(
        lead=[*lead, *_next_steps(table, source)],
        figures=[
            KeyFigure(f"cues {display_text(name, 40)} relies on", wording.count(counts["relies"]))
            for name, counts in models.items()
        ],
        tables=[_table(table, source)],
        notes=[_CHOICE_RULE.format(source) if card.dataset.task in GROUPED_TASKS else _RULE],
    )


def most_relied_on_first(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows by verdict, and within one by how much more often the model is right with the usual label."""
    rank = pl.col("verdict").replace_strict(
        {verdict: i for i, verdict in enumerate(RELIANCE)}, return_dtype=pl.Int64
    )
    return table.sort(rank, "difference", descending=[False, True], nulls_last=True, maintain_order=True)


def _next_steps(table: pl.DataFrame, source: str) -> list[str]:
    """Return what to do next, the cues with the same advice in one sentence."""
    cues = table.unique(["family", "feature"], keep="first", maintain_order=True)
    kinds = {
        "relies": "Balance these cues before training (cuecard debias), and report accuracy on counterexamples: {}."
        if source == TRAINING_SET
        else "Report accuracy on counterexamples to these cues, and look for them in the model's training data: {}.",
        "signs": "Inspect test examples that are counterexamples to these cues: {}.",
        "unknown": "Collect more counterexamples to these cues; there are too few to test: {}.",
    }
    sentences = []
    for kind, sentence in kinds.items():
        here = cues.filter(pl.col("verdict") == kind)
        if here.height:
            shown = here.select("family", "feature").head(MOST_NAMES).iter_rows()
            names = [display_text(spoken_cue(*cue), 40) for cue in shown]
            more = [f"{here.height - MOST_NAMES} more"] if here.height > MOST_NAMES else []
            sentences.append("Next: " + sentence.format(", ".join([*names, *more])))
    return sentences


def _table(frame: pl.DataFrame, source: str) -> TableView:
    rows = [
        (
            row["feature"],
            row["model"],
            RELIANCE[row["verdict"]],
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
        Column("Acc. usual", "percent", "accuracy if the cue has its usual label"),
        Column("Acc. other", "percent", "accuracy if it has another label"),
        Column(
            "On balanced",
            "percent",
            "how often the usual label is predicted on examples with balanced labels",
        ),
        Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        Column(
            in_source(source), "percent", f"share of the usual label among instances with the cue in {source}"
        ),
        Column("Counterexamples", "count", "test examples in which the cue has another label"),
        Column("What to do next", brief=False, hint="short; tables/reliance.parquet has the full sentence"),
        Column("Family", brief=False),
        Column("Instances", "count", f"instances with the cue in {source}", brief=False),
        Column("z", "decimal", brief=False),
    ]
    return TableView(
        "Cues and reliance of models",
        columns,
        rows[:MOST_ROWS],
        total=frame.height,
        source="tables/reliance.parquet",
        searchable=True,
    )
