"""What the distribution test and the joined table of cues show: predictions on balanced examples, and reliance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.data import GROUPED_TASKS
from cuecard.features.family import spoken_cue
from cuecard.view import (
    Axis,
    Bars,
    Column,
    HeatMap,
    KeyFigure,
    Outcome,
    Table,
    View,
    interval_columns,
)
from cuecard.wording import (
    RELIANCE,
    TRAINING_SET,
    count,
    display_text,
    ends,
    plural,
    points,
)

MOST_CUE_CHARTS = 8
MOST_ROWS = 300
MOST_RELIANCE_ROWS = 200
MOST_NAMES = 12
#: Cues and models of the map of gaps.
MOST_GAPS = 10


def _several(table: pl.DataFrame) -> bool:
    """Return whether a table is about more than one model, so that its rows must name theirs."""
    return table["model"].n_unique() > 1


def distribution_view(outcome: Outcome) -> View:
    """Return what each model predicts on flattened examples, one chart per cue."""
    summary, tests = outcome.summary, outcome.tables["distribution_test"]
    tested = tests.drop_nulls("log10_p").unique(["family", "feature"], keep="first", maintain_order=True)
    notes = []
    if summary["untested"]:
        names = [display_text(name, 40) for name in summary["untested"]]
        notes.append(
            f"Not tested, because they occur in fewer than {summary['min_per_label']} test examples of a "
            f"label: {', '.join(names)}."
        )
    return View(
        lead=[
            _leaning(outcome, display_text(name, 60), counts) for name, counts in summary["models"].items()
        ],
        charts=[
            _predicted(outcome, *cue)
            for cue in tested.select("family", "feature").head(MOST_CUE_CHARTS).rows()
        ],
        tables=[_leans(outcome, tests)],
        notes=notes,
    )


def _source(outcome: Outcome) -> str:
    """Return where cues come from."""
    return str(outcome.summary.get("source", TRAINING_SET))


def _in_source(outcome: Outcome) -> str:
    """Return the head of a column about where cues come from."""
    return "In train" if _source(outcome) == TRAINING_SET else "Cue half"


def _leaning(outcome: Outcome, name: str, counts: Summary) -> str:
    """Return for how many cues a model leans to the usual label; the choices of an example are compared in it."""
    cues = f"{counts['towards_usual']} of {plural(counts['tested'], 'cue')}"
    if outcome.task in GROUPED_TASKS:
        return (
            "The test examples are reweighted so that choices with a cue are correct at chance. On them, "
            f"{name} follows {_source(outcome)} for {cues} and does the opposite for {counts['away_from_usual']}."
        )
    return (
        f"On test examples with balanced labels, {name} prefers the usual label for {cues}"
        + (f" (for {counts['with_cue_only']} more than without the cue)" if counts["towards_usual"] else "")
        + f" and avoids it for {counts['away_from_usual']}."
    )


def _predicted(outcome: Outcome, family: str, feature: str) -> Bars:
    """Return the labels that each model predicts on flattened examples of a cue, train and flat beside them."""
    source = _source(outcome)
    shares = outcome.tables["distribution_shares"]
    of_cue = shares.filter((pl.col("family") == family) & (pl.col("feature") == feature))
    first = of_cue.filter(pl.col("model") == of_cue["model"][0])
    bars = [
        *(
            (f"{source.removeprefix('the ')} (with the cue)", row, "train_share")
            for row in first.rows(named=True)
        ),
        *(("balanced labels", row, "flat") for row in first.rows(named=True)),
        *((row["model"], row, "predicted_share") for row in of_cue.rows(named=True)),
    ]
    place = {label: i for i, label in enumerate(outcome.labels)}
    rows = [
        {
            "bar": bar,
            "label": row["answer"],
            "share": row[column],
            "interval": ends(row["low"], row["high"]) if column == "predicted_share" else "",
        }
        for bar, row, column in bars
    ]
    order = list(dict.fromkeys(row["bar"] for row in rows))
    rows.sort(key=lambda row: (order.index(row["bar"]), place[row["label"]]))
    return Bars(
        title=display_text(spoken_cue(family, feature), 60),
        data=pl.DataFrame(rows),
        y="bar",
        x=Axis("share", "", "percent", domain=(0, 1)),
        series="label",
        stacked=True,
        colours=outcome.labels,
        tooltip={"interval": Column("95 % CI")},
        alt=f"Stacked bars of label shares for {display_text(feature, 40)}: {source}, balanced, and each model.",
        caption=f"Labels with the cue in {source}, in the balanced test sample, and as predicted on it.",
        wide=False,
    )


def _leans(outcome: Outcome, tests: pl.DataFrame) -> Table:
    columns = {
        "feature": Column("Cue"),
        "model": Column("Model", brief=_several(tests)),
        "label": Column("Usual label", "label"),
        "usual_share": Column("Share", "percent", "share of the usual label among the predictions"),
        "flat": Column("Chance", "percent", "share expected from an unbiased model"),
        "usual_share_without": Column("No cue", "percent", "the same share without the cue"),
        "train_share": Column(
            _in_source(outcome), "percent", f"share of the usual label in {_source(outcome)}"
        ),
        "q_value": Column("q", "probability", "adjusted p-value: predictions differ from balanced"),
        "contrast_q": Column(
            "q, no cue", "probability", "adjusted p-value: predictions differ from those without the cue"
        ),
        "n": Column("Examples", "count", "test examples with the cue", brief=False),
        "per_label": Column("Per label", "count", "examples per label in a balanced sample", brief=False),
        **interval_columns("usual_", of="the predicted share"),
        "amplification": Column(
            "Bits", "decimal", "divergence of the predictions from balanced labels", brief=False
        ),
        **interval_columns("amplification_", "decimal", of="the bits"),
        "amplification_null": Column(
            "Bits, chance", "decimal", "95th percentile of the bits of an unbiased model", brief=False
        ),
    }
    if (
        outcome.task in GROUPED_TASKS
    ):  # what choices without the cue get is what is left, so it says nothing more
        del columns["usual_share_without"], columns["contrast_q"]
    leaning_first = ~(pl.col("towards_usual") & pl.col("with_cue_only"))
    shown = tests.sort(leaning_first, -pl.col("lean"), nulls_last=True, maintain_order=True)
    title = "Predictions on balanced examples"
    return Table(title, "distribution_test", columns, data=shown, most=MOST_ROWS, searchable=True)


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


def reliance_view(outcome: Outcome) -> View:
    """Return the joined table: cue, strength in the data, reliance per model, what to do next."""
    models, source = outcome.summary["models"], _source(outcome)
    table = most_relied_on_first(outcome.tables["reliance"])
    cues = plural(outcome.summary["cues"], "cue")
    rows = _models(outcome, table)
    return View(
        lead=[
            *(_relies(display_text(name, 60), counts, cues) for name, counts in models.items()),
            *_steps(table, source),
        ],
        figures=[
            KeyFigure(f"cues {display_text(name, 40)} relies on", count(counts["relies"]))
            for name, counts in models.items()
        ],
        charts=_gaps(table, rows["model"].to_list()),
        tables=[_reliance(outcome, table), _model_table(rows, cues)],
        notes=[_CHOICE_RULE.format(source) if outcome.task in GROUPED_TASKS else _RULE],
        front=[_MODELS, "gaps"],
    )


_MODELS = "Models"
_GAP = "accuracy where the cue has its usual label minus accuracy where it has another, in points"


def _models(outcome: Outcome, table: pl.DataFrame) -> pl.DataFrame:
    """Return a row per model: its accuracy, the cues it relies on, its largest gap and a verdict."""
    rows = []
    for model, counts in outcome.summary["models"].items():
        accuracy = outcome.measures.get(f"accuracy_test.accuracy.{model}")
        gaps = _surest_gap(table.filter(pl.col("model") == model))
        verdict = next((name for name in ("relies", "signs", "avoids", "length") if counts.get(name)), "none")
        if verdict == "none" and counts["unknown"] == outcome.summary["cues"]:
            verdict = "unknown"
        rows.append(
            {
                "model": model,
                "accuracy": None if accuracy is None else accuracy.value,
                "relies": counts["relies"],
                **gaps,
                "verdict": RELIANCE[verdict],
            }
        )
    schema = {
        "model": pl.String, "accuracy": pl.Float64, "relies": pl.Int64, "difference": pl.Float64,
        "difference_low": pl.Float64, "difference_high": pl.Float64, "cue": pl.String, "verdict": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("relies", "accuracy", descending=True, nulls_last=True)


def _model_table(rows: pl.DataFrame, cues: str) -> Table:
    columns = {
        "model": Column("Model"),
        "accuracy": Column("Accuracy", "percent"),
        "relies": Column("Relies on", "count", f"of {cues}"),
        "difference": Column("Largest gap", "points", _GAP),
        **interval_columns("difference_", "points", of="the gap"),
        "verdict": Column("Verdict", hint="the strongest verdict on any cue"),
        "cue": Column("Gap of", hint="the cue with the largest gap", brief=False),
    }
    caption = f"Relies on: of {cues}. Gap: {_GAP}."
    return Table(_MODELS, "", columns, data=rows, caption=caption)


def _surest_gap(table: pl.DataFrame) -> dict[str, object]:
    """Return the largest gap of a model that is sure: the one whose interval begins highest."""
    known = table.drop_nulls("difference_low").filter(pl.col("difference_low").is_not_nan())
    if known.is_empty():
        return dict.fromkeys(("difference", "difference_low", "difference_high", "cue"))
    row = known.sort("difference_low", descending=True).row(0, named=True)
    return {
        **{name: row[name] for name in ("difference", "difference_low", "difference_high")},
        "cue": spoken_cue(row["family"], row["feature"]),
    }


def _gaps(table: pl.DataFrame, models: Sequence[str]) -> list[HeatMap]:
    """Return the gap of every model for the cues that are most relied on, as a map of cues and models."""
    cells = table.drop_nulls("difference").filter(pl.col("difference").is_not_nan())
    if cells.is_empty():
        return []
    cues = cells.select("family", "feature").unique(maintain_order=True).head(MOST_GAPS)
    shown = pl.DataFrame({"model": models[:MOST_GAPS]}).join(cues, how="cross")
    drawn = shown.join(cells, on=["model", "family", "feature"], maintain_order="left")
    rows = drawn.rows(named=True)
    drawn = drawn.with_columns(
        cue=pl.Series([spoken_cue(row["family"], row["feature"]) for row in rows], dtype=pl.String),
        text=pl.Series([points(row["difference"]) for row in rows], dtype=pl.String),
        reliance=pl.col("verdict").cast(pl.String).replace(RELIANCE),
        pale=~pl.col("verdict").cast(pl.String).is_in(["relies", "signs"]),
    )
    return [
        HeatMap(
            title="Accuracy gaps by cue and model",
            data=drawn,
            x="model",
            y="cue",
            value=Axis("difference", kind="points"),
            middle=0.0,
            text="text",
            faint="pale",
            tooltip={
                "reliance": Column("reliance"),
                "difference_low": Column("CI low", "points"),
                "difference_high": Column("CI high", "points"),
                "label": Column("usual label"),
                "unusual": Column("counterexamples", "count"),
            },
            alt="Map of the accuracy gap of each model for each cue; the table of cues has the same numbers.",
            caption=f"{_GAP[:1].upper()}{_GAP[1:]}. Pale: no reliance.",
            brief="Points by which accuracy is higher where the cue has its usual label. Pale: no reliance.",
            name="gaps",
            wide=False,
        )
    ]


def _relies(name: str, counts: Summary, cues: str) -> str:
    signs = f" and shows signs of using {counts['signs']} more" if counts["signs"] else ""
    avoids = f"; it avoids {counts['avoids']}" if counts.get("avoids") else ""
    few = plural(counts["unknown"], "cue has", "cues have")
    unknown = f"; {few} too few test examples" if counts["unknown"] else ""
    return f"{name} relies on {counts['relies'] or 'none'} of {cues}{signs}{avoids}{unknown}."


def most_relied_on_first(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows by verdict, and within one by how much more often the model is right with the usual label."""
    rank = pl.col("verdict").replace_strict(
        {verdict: i for i, verdict in enumerate(RELIANCE)}, return_dtype=pl.Int64
    )
    return table.sort(rank, "difference", descending=[False, True], nulls_last=True, maintain_order=True)


def _steps(table: pl.DataFrame, source: str) -> Iterable[str]:
    """Give what to do next, the cues with the same advice in one sentence."""
    cues = table.unique(["family", "feature"], keep="first", maintain_order=True)
    advice = {
        "relies": "Balance these cues before training (cuecard debias), and report accuracy on counterexamples: {}."
        if source == TRAINING_SET
        else "Report accuracy on counterexamples to these cues, and look for them in the model's training data: {}.",
        "signs": "Inspect test examples that are counterexamples to these cues: {}.",
        "unknown": "Collect more counterexamples to these cues; there are too few to test: {}.",
    }
    for kind, sentence in advice.items():
        here = cues.filter(pl.col("verdict") == kind)
        if here.height:
            shown = here.select("family", "feature").head(MOST_NAMES).iter_rows()
            names = [display_text(spoken_cue(*cue), 40) for cue in shown]
            more = [f"{here.height - MOST_NAMES} more"] if here.height > MOST_NAMES else []
            yield "Next: " + sentence.format(", ".join([*names, *more]))


def _reliance(outcome: Outcome, table: pl.DataFrame) -> Table:
    source = _source(outcome)
    share = f"share of the usual label among instances with the cue in {source}"
    columns = {
        "feature": Column("Cue"),
        "model": Column("Model", brief=_several(table)),
        "reliance": Column("Reliance"),
        "label": Column("Usual label", "label"),
        "usual_accuracy": Column("Acc. usual", "percent", "accuracy if the cue has its usual label"),
        "unusual_accuracy": Column("Acc. other", "percent", "accuracy if it has another label"),
        "usual_share": Column(
            "On balanced",
            "percent",
            "how often the usual label is predicted on examples with balanced labels",
        ),
        "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        "share": Column(_in_source(outcome), "percent", share),
        "unusual": Column("Counterexamples", "count", "test examples in which the cue has another label"),
        "next": Column(
            "What to do next", brief=False, hint="short; tables/reliance.parquet has the full sentence"
        ),
        "family": Column("Family", brief=False),
        "train_count": Column("Instances", "count", f"instances with the cue in {source}", brief=False),
        "z": Column("z", "decimal", brief=False),
    }
    said = pl.col("verdict").cast(pl.String)
    rows = table.with_columns(reliance=said.replace(RELIANCE), next=said.replace(_NEXT))
    title = "Cues and reliance of models"
    return Table(title, "reliance", columns, data=rows, most=MOST_RELIANCE_ROWS, searchable=True)
