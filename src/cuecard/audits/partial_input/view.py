"""What partial input shows: the baselines, where partial input is enough, and the examples that leak most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import (
    Axis,
    Chart,
    Column,
    Histogram,
    Intervals,
    KeyFigure,
    Lines,
    Outcome,
    Table,
    TokenMaps,
    View,
    interval_columns,
)
from cuecard.wording import ci, count, display_text, percent

MOST_EXAMPLES = 25
MOST_SLICES = 40
_SCHEMES = {"train to test": "scored on the test set"}
_ACCURACY = {
    "hypothesis_only": "hypothesis-only accuracy",
    "premise_only": "premise-only accuracy",
    "choices_only": "choices-only accuracy",
    "length": "length-only accuracy",
    "full": "full-input accuracy",
}
_KINDS = {
    "reference": "baseline",
    "content-blind": "content-blind",
    "relation": "compares texts",
    "partial": "partial input",
    "full": "full input",
}

#: What the length speaks for, which has no label of its own.
_EVERY_LABEL = "any label"
#: A baseline, or a trained model, as the summary describes it.
Line = Summary


def partial_input_view(outcome: Outcome) -> View:
    """Return the battery of baselines, where partial input is enough, and the examples that leak most."""
    summary = outcome.summary
    lines = {line["name"]: line for line in summary["baselines"]}
    primary, pairs = lines[summary["primary"]], summary.get("learners", [])
    return View(
        lead=[_lead(outcome, primary), *_at_chance(summary, primary), *map(_learner_sentence, pairs)],
        figures=_figures(summary, lines, primary),
        charts=_charts(outcome),
        tables=[_battery(outcome), *_carried(outcome), *_learners(pairs), _leaking(outcome)],
        notes=_notes(summary),
        maps=_token_maps(outcome, pairs),
        front=["leak_scores"],
    )


def _scored_split(outcome: Outcome) -> str:
    evaluated = outcome.summary["evaluated"]
    return outcome.training if evaluated == "train" else f"{evaluated} "


def _lead(outcome: Outcome, primary: Line) -> str:
    level = {
        "above": "significantly better than chance",
        "below": "significantly worse than chance, which is a leak, too",
        "at": "not significantly different from chance",
    }[primary["direction"]]
    auc = primary.get("auc")
    if primary["direction"] == "above" and primary["low"] <= primary["chance"] and auc is not None:
        level = f"significantly better than chance by its AUC of {auc:z.3f} (chance 0.5), not by its accuracy"
    return (
        f"{_ACCURACY[primary['name']].capitalize()} is {percent(primary['accuracy'])} on {count(primary['n'])} "
        f"{_scored_split(outcome)}examples "
        f"({ci(primary['low'], primary['high'])}). Chance is {percent(primary['chance'])}; the model is {level}."
    )


def _at_chance(summary: Summary, primary: Line) -> list[str]:
    return [
        f"{_ACCURACY[line['name']].capitalize()} is at chance: {percent(line['accuracy'])}."
        for line in summary["baselines"]
        if line["kind"] == "partial" and line["direction"] == "at" and line["name"] != primary["name"]
    ]


def _learner_sentence(pair: Line) -> str:
    return (
        f"{display_text(pair['learner'], 60)}, trained on {count(pair['train_examples'])} examples "
        f"({_SCHEMES.get(pair['scheme'], pair['scheme'])}), has an accuracy of {percent(pair['psc']['accuracy'])} "
        f"with the full input and {percent(pair['ssc']['accuracy'])} with the {pair['condition']} only."
    )


def _figures(summary: Summary, lines: Mapping[str, Line], primary: Line) -> list[KeyFigure]:
    accuracy, chance = percent(primary["accuracy"]), f"chance {percent(primary['chance'])}"
    figures = [
        KeyFigure(_ACCURACY[primary["name"]], accuracy, chance),
        KeyFigure("above chance", f"{100 * primary['delta_majority']:+z.1f}", "points"),
    ]
    if primary["percent_r"] is not None:
        full = f"of the full input's {percent(lines['full']['accuracy'])}"
        figures.append(KeyFigure("relative accuracy", percent(primary["percent_r"], 0), full))
    if primary.get("auc") is not None:
        figures.append(KeyFigure("AUC", f"{primary['auc']:z.3f}", "chance 0.5"))
    if primary["information"] is not None:
        figures.append(KeyFigure("information", f"{primary['information']:z.2f}", "bits about the label"))
    if (share := summary["leak"]["share_above_half"]) is not None:
        figures.append(KeyFigure("leak score above 0.5", percent(share), "of the examples scored"))
    return figures


def _notes(summary: Summary) -> list[str]:
    folds = summary["folds"]
    scored = (
        "Trained on the training set, scored on the test set."
        if summary["evaluated"] == "test"
        else f"Scored by {folds['count']}-fold cross-validation; no model is scored on its own training examples."
    )
    return [scored, *([folds["note"]] if folds["note"] else []), *summary.get("learner_notes", [])]


def _charts(outcome: Outcome) -> list[Chart]:
    charts: list[Chart] = [_baselines(outcome.summary["baselines"]), *_carrying(outcome)]
    if outcome.rows("leak_histogram").height:
        charts.append(_leak_scores(outcome))
    if outcome.rows("learning_curve").height > 1:
        charts.append(_learning_curve(outcome.tables["learning_curve"]["chance"][0]))
    if outcome.tables["partial_input_slices"].height:
        charts.append(_slices(outcome.tables["partial_input_slices"]))
    return charts


def _baselines(lines: Sequence[Line]) -> Intervals:
    rows = [
        {
            "name": line["name"].replace("_", " "),
            "kind": _KINDS[line["kind"]],
            **{key: line[key] for key in ("accuracy", "low", "high", "chance", "log10_p")},
            "differs": line["direction"] != "at",
            "text": percent(line["accuracy"]),
        }
        for line in lines
    ]
    kinds = {line["kind"] for line in lines}
    said = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    return Intervals(
        title="Baselines",
        data=pl.DataFrame(rows),
        y="name",
        x=Axis(
            "accuracy",
            "accuracy",
            "percent",
            domain=(0, min(1.0, max(line["high"] for line in lines) + 0.12)),
        ),
        low="low",
        high="high",
        colour="kind",
        colours=[name for kind, name in _KINDS.items() if kind in kinds],
        line=lines[0]["chance"],
        differs="differs",
        text="text",
        tooltip={"chance": Column("chance", "percent"), "log10_p": Column("p-value", "log10_p")},
        alt=f"Accuracy of every baseline with 95 % CI and chance: {said}",
        caption="● differs from chance · ▲ does not · line: 95 % CI · ┆ chance",
    )


def _carrying(outcome: Outcome) -> list[Chart]:
    """Return the shares of the features that carry most, if more than one does."""
    rows = outcome.rows("carried").filter("listed") if outcome.rows("carried").height else pl.DataFrame()
    if rows.height < 2:
        return []
    shown = rows.with_columns(pl.col("label").fill_null(_EVERY_LABEL))
    said = ", ".join(f"{row['feature']} {percent(row['share'])}" for row in shown.iter_rows(named=True))
    return [
        Intervals(
            title="What carries most",
            data=shown,
            y="feature",
            x=Axis("share", "share of the held-out log score", "percent", ticks=5),
            low="share_low",
            high="share_high",
            colour="label",
            colours=[*outcome.labels, _EVERY_LABEL],
            line=0.0,
            tooltip={
                "instances": Column("scored instances", "count"),
                "label": Column("label it speaks for"),
            },
            alt=f"Shares of the held-out log score by feature, with 95 % CI: {said}",
            caption="● share of the score with 95 % CI · all features together carry 100 %",
            name="carried",
        )
    ]


def _leak_scores(outcome: Outcome) -> Histogram:
    table = outcome.tables["leak_histogram"].filter(pl.col("split") == outcome.summary["evaluated"])
    present = set(table["label"])
    lines = {line["name"]: line for line in outcome.summary["baselines"]}
    return Histogram(
        title="Leak scores",
        data=table,
        low=Axis("low", "probability of the correct answer", "percent", domain=(0, 1)),
        high="high",
        y=Axis("count", "examples", "count"),
        colour="label",
        colours=[label for label in outcome.labels if label in present] or ["all"],
        alt="Histogram of the probability of the correct answer under a partial-input model.",
        caption="Probability of the correct answer of each example under a model that sees part of the input. ┆ chance",
        brief="Probability of the correct answer for a model that sees part of the input. ┆ chance",
        line=lines[outcome.summary["primary"]]["chance"],
        wide=False,
    )


def _learning_curve(chance: float) -> Lines:
    return Lines(
        title="Learning curve",
        data="learning_curve",
        x=Axis("train_examples", "training examples (logarithmic)", "count", log=True, ticks=6),
        y=Axis("accuracy", "accuracy", "percent", zero=False),
        low="low",
        high="high",
        level=chance,
        mean=True,
        points=True,
        tooltip={"n": Column("scored examples", "count")},
        alt="Partial-input accuracy by number of training examples.",
        caption="Each point is a random training sample; the band shows 95 % CIs. ┆ chance",
        wide=False,
        name="learning_curve",
    )


def _slices(table: pl.DataFrame) -> Intervals:
    shown = table.head(MOST_SLICES).with_columns(slice=pl.format("{}: {}", "column", "value"))
    return Intervals(
        title="Accuracy by slice",
        data=shown,
        y="slice",
        x=Axis("accuracy", "", "percent", domain=(0, 1), ticks=5),
        low="low",
        high="high",
        colour="column",
        legend=False,
        tick="chance",
        tooltip={
            "chance": Column("chance in this slice", "percent"),
            "n": Column("examples", "count"),
            "log10_p": Column("p-value", "log10_p"),
        },
        alt="Partial-input accuracy by label, length and extra columns.",
        caption="● accuracy with 95 % CI · │ chance within the slice",
        name="slices",
    )


def _learners(pairs: Sequence[Line]) -> list[Table]:
    """Return the trained models with the full and with partial input, if any were asked for."""
    if not pairs:
        return []
    columns = {
        "learner": Column("Model"),
        "psc": Column("PSC", "percent", "accuracy with the full input"),
        "ssc": Column("SSC", "percent", "accuracy with partial input"),
        **interval_columns("ssc_", of="the SSC"),
        "chance": Column("Chance", "percent", brief=False),
        "delta_maj": Column("Δ_maj", "points", "SSC minus chance, in points"),
        "percent_r": Column("%R", "percent", "SSC divided by PSC"),
        "nba": Column("NBA", "percent", "share of examples with the same answer from both"),
        "nbr": Column("NBR", "percent", "both correct / agreements (the paper's equation 8)"),
        "tra": Column("TRA", "decimal", "mean cosine of the two saliency maps"),
        "nbr_released": Column(
            "NBR released", "percent", "both correct / PSC correct (as in the paper's table)", brief=False
        ),
        "p_value": Column("p", "probability", "exact test of the SSC against chance, two-sided", brief=False),
        "n": Column("Examples", "count"),
    }
    of_partial = {"ssc": "accuracy", "ssc_low": "low", "ssc_high": "high", "p_value": "p_value"}
    rows = [
        {name: pair.get(name) for name in columns}
        | {"psc": pair["psc"]["accuracy"]}
        | {name: pair["ssc"][key] for name, key in of_partial.items()}
        for pair in pairs
    ]
    return [Table("Trained models", "learner_answers", columns, data=pl.DataFrame(rows), everywhere=True)]


def _battery(outcome: Outcome) -> Table:
    columns = {
        "name": Column("Input"),
        "kind": Column("Kind", brief=False),
        "accuracy": Column("Accuracy", "percent"),
        **interval_columns(brief=True),
        "chance": Column("Chance", "percent"),
        "auc": Column("AUC", "decimal", "how well the probabilities rank the correct answer; chance is 0.5"),
        "p_value": Column("p", "probability", "two-sided test of the log score, or of accuracy for rules"),
        "q_value": Column("q", "probability", "p-value adjusted for the number of baselines", brief=False),
        "percent_r": Column("%R", "percent", "accuracy divided by full-input accuracy", brief=False),
        "information": Column("Bits", "decimal", "V-information about the answer"),
        "turned": Column(
            "Least likely", "percent", "accuracy of the least likely answer, if below chance", brief=False
        ),
        "n": Column("Examples", "count"),
    }
    rows = outcome.tables["baselines"].with_columns(pl.col("name").str.replace_all("_", " "))
    return Table("Baselines", "baselines", columns, data=rows)


def _carried(outcome: Outcome) -> list[Table]:
    """Return the features that carry the score of partial input, if there is one above chance."""
    score, rows = outcome.summary.get("carried"), outcome.rows("carried")
    if score is None or rows.is_empty():
        return []
    columns = {
        "feature": Column(
            "Feature", hint="a word with the n-grams of which it is the rarest word, or the length"
        ),
        "label": Column("Label", "label", "the label it speaks for in the model"),
        "share": Column("Share of score", "percent", "its part of the held-out log score; all parts add up"),
        **interval_columns("share_", of="the share"),
        "bits": Column("Bits", "decimal", "the same in bits per example", brief=False),
        "instances": Column("Instances", "count", "scored instances with it"),
    }
    model = _ACCURACY[score["input"]].removesuffix(" accuracy")
    title = f"Carries most: {percent(score['share'])} of the {model} log score"
    shown = rows.filter("listed") if rows["listed"].any() else rows.head(0)
    return [Table(title, "carried", columns, data=shown)]


def _leaking(outcome: Outcome) -> Table:
    columns = {
        "leak_score": Column("Leak", "percent", "probability of the correct answer from partial input"),
        "pvi": Column("PVI", "decimal", "pointwise V-information in bits", brief=False),
        "label": Column("Label", "label"),
        "hypothesis": Column({"text": "Text", "pair": "Hypothesis"}.get(outcome.task, "Answer")),
        "premise": Column("Premise" if outcome.task == "pair" else "Question or prompt", brief=False),
        "example_id": Column("Example", brief=False),
        "split": Column("Split", brief=False),
    }
    if not outcome.training:
        del columns["split"]
    return Table("Examples that leak most", "leaking_examples", columns, most=MOST_EXAMPLES)


def _token_maps(outcome: Outcome, pairs: Sequence[Line]) -> list[TokenMaps]:
    """Return the saliency maps of every learner: of the full input, and of what it reads of it."""
    table = outcome.rows("saliency_maps")
    if table.is_empty():
        return []
    conditions = {pair["learner"]: f"{pair['condition']} only" for pair in pairs}
    return [
        TokenMaps(f"Saliency maps of {name}", maps, "full input", conditions[str(name)])
        for (name,), maps in table.group_by("learner", maintain_order=True)
    ]
