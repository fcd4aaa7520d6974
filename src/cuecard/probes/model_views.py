"""What models show beside each other: agreement, differences, positions, hard and reweighted accuracy, net scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import Axis, Boxes, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import (
    ci,
    count,
    display_text,
    fine,
    listed,
    number,
    percent,
    plural,
    points,
    probability,
)

MOST_PAIRS = 6
MOST_LEADS = 4
_ADJUSTED = "p-value adjusted for multiple tests (false discovery rate)"


def agreement_view(outcome: Outcome) -> View:
    """Return how far the answers of every two models coincide."""
    lead = [
        f"{display_text(pair['normal'], 60)} and {display_text(pair['biased'], 60)} give the same answer to "
        f"{percent(pair['nba'])} of the test examples; {percent(pair['expected_nba'])} is expected by chance."
        for pair in outcome.summary["pairs"][:MOST_PAIRS]
    ]
    columns = {
        "normal": Column("Model"),
        "biased": Column("Other"),
        "nba": Column("Agree", "percent", "share of test examples with the same answer (NBA)"),
        "expected_nba": Column("Chance", "percent", "agreement expected from label frequencies"),
        "kappa": Column("κ", "decimal", "Cohen's kappa: agreement beyond chance"),
        "nbr": Column("NBR", "percent", "both correct / agreements"),
        "nbr_released": Column("NBR released", "percent", "both correct / first model correct"),
        "n": Column("Examples", "count"),
    }
    return View(lead, tables=[Table("Agreement of models", "agreement", columns)])


def paired_view(outcome: Outcome) -> View:
    """Return the difference of every two models on the same examples, in all and per cue."""
    lead = [
        f"{display_text(pair['model_a'], 60)} minus {display_text(pair['model_b'], 60)}: "
        f"{points(pair['difference'])} points ({ci(pair['low'], pair['high'], points)}; "
        f"McNemar p = {probability(None, pair['log10_p'])})."
        for pair in outcome.summary["pairs"][:MOST_PAIRS]
    ]
    overall, by_cue = outcome.tables["paired_comparison"], outcome.tables["paired_by_cue"]
    several = overall.height > 1
    columns = {
        "feature": Column("Cue"),
        "model_a": Column("A", brief=several),
        "model_b": Column("B", brief=several),
        "difference": Column("A−B", "points", "difference in accuracy, in points"),
        **interval_columns(kind="points", brief=True),
        "q_value": Column("q", "probability", _ADJUSTED),
        "relies": Column(
            "B relies on it", hint="whether B relies on the cue less or more than A, as far as it is shown"
        ),
        "reliance_change": Column(
            "Change", "points", "accuracy with its usual label minus with another: that of B minus that of A"
        ),
        **interval_columns("reliance_change_", kind="points", of="the change"),
        "only_a": Column("Only A", "count", "test examples that only A answers correctly"),
        "only_b": Column("Only B", "count", "test examples that only B answers correctly"),
        "n": Column("With cue", "count", "test examples with the cue"),
    }
    shown = by_cue.sort("log10_p", nulls_last=True, maintain_order=True)
    pairs = overall.select("model_a", "model_b").head(MOST_PAIRS).rows()
    return View(
        lead,
        charts=[_pair(overall, by_cue, a, b) for a, b in pairs],
        tables=[Table("Per cue", "paired_by_cue", columns, data=shown, searchable=True)],
    )


def _pair(overall: pl.DataFrame, by_cue: pl.DataFrame, a: str, b: str) -> Intervals:
    """Return the accuracy difference of two models with its interval, in all and within each cue."""
    same = (pl.col("model_a") == a) & (pl.col("model_b") == b)
    columns = ["feature", "difference", "low", "high", "n", "log10_p"]
    total = overall.filter(same).with_columns(feature=pl.lit("all test examples")).select(columns)
    rows = pl.concat([total, by_cue.filter(same).select(columns)], how="vertical_relaxed")
    return Intervals(
        title=f"{display_text(a, 40)} minus {display_text(b, 40)}",
        data=rows,
        y="feature",
        x=Axis("difference", "difference in accuracy, in points", "points"),
        low="low",
        high="high",
        line=0.0,
        tooltip={"n": Column("test examples", "count"), "log10_p": Column("McNemar p", "log10_p")},
        alt="Differences in accuracy of two models with 95 % CIs, overall and for each cue.",
        caption="To the right of zero, the first model is more accurate.",
    )


def option_order_view(outcome: Outcome) -> View:
    """Return the answers of every model by position, beside the key."""
    lead = [
        f"{display_text(model, 60)}: positions of its answers and of the correct answers, Stuart–Maxwell p = "
        f"{probability(None, test['paired_log10_p'])} (chi-square p = {probability(None, test['log10_p'])})."
        for model, test in outcome.summary["models"].items()
    ]
    columns = {
        "model": Column("Model"),
        "position": Column("Position", "count", "counted from 0"),
        "answer_share": Column("Answered", "percent", "share of the model's answers at this position"),
        "key_share": Column("Correct", "percent", "share of the correct answers at this position"),
        "accuracy": Column("Accuracy", "percent", "accuracy if the correct choice is at this position"),
        **interval_columns(brief=True),
    }
    return View(lead, tables=[Table("Answers by position", "option_order", columns)])


def side_by_side(
    table: pl.DataFrame, prefixes: Mapping[str, str], kind: str, *, title: str, alt: str, caption: str
) -> Intervals:
    """Return two accuracies of every model with their intervals; `prefixes` are those of their columns, by name."""
    rows = [
        {
            "model": row["model"],
            kind: name,
            **{key: row[f"{prefix}{key}"] for key in ("accuracy", "low", "high")},
        }
        for row in table.iter_rows(named=True)
        for name, prefix in prefixes.items()
    ]
    schema = {"model": pl.String, kind: pl.String, **dict.fromkeys(("accuracy", "low", "high"), pl.Float64)}
    return Intervals(
        title=title,
        data=pl.DataFrame(rows, schema=schema),
        y="model",
        x=Axis("accuracy", "accuracy", "percent", zero=False),
        low="low",
        high="high",
        series=kind,
        alt=alt,
        caption=caption,
        name="accuracy",
    )


def hard_subset_view(outcome: Outcome) -> View:
    """Return both accuracies of every model, and how the test examples are divided."""
    summary = outcome.summary
    solvers = listed([display_text(name.replace("_", " "), 40) for name in summary["solvers"]])
    examples = plural(summary["n"], "test example")
    lead = [
        f"No partial input ({solvers}) gives {summary['hard']:,} of {examples} away; these are the hard subset."
    ]
    lead += [
        f"{display_text(name, 60)} has an accuracy of {percent(row['hard_accuracy'])} on the hard subset "
        f"and {percent(row['easy_accuracy'])} on the easy one (difference {points(row['difference'])} points, "
        f"{ci(row['low'], row['high'], points)})."
        for name, row in list(summary["models"].items())[:MOST_LEADS]
    ]
    columns = {
        "model": Column("Model"),
        "hard_accuracy": Column("Hard", "percent", "accuracy on the hard subset"),
        **interval_columns("hard_", brief=True),
        "easy_accuracy": Column("Easy", "percent", "accuracy on the easy subset"),
        **interval_columns("easy_"),
        "difference": Column("Difference", "points", "easy minus hard, in points"),
        **interval_columns(kind="points", of="the difference", brief=True),
    }
    majority = (
        f"The most frequent answer has an accuracy of {percent(summary['hard_majority'])} on the hard subset "
        f"and {percent(summary['easy_majority'])} on the easy one."
    )
    chart = side_by_side(
        outcome.tables["hard_subset"],
        {"hard": "hard_", "easy": "easy_"},
        "subset",
        title="Accuracy on the hard and the easy subset",
        alt="Accuracy of every model on the hard and on the easy subset, each with its 95 % CI.",
        caption="With 95 % CIs. Models that rely on a partial input lose more on the hard subset.",
    )
    return View(
        lead,
        figures=[KeyFigure("hard examples", count(summary["hard"]), f"of {examples}")],
        charts=[chart],
        tables=[Table("Hard and easy subset", "hard_subset", columns)],
        notes=[majority],
    )


_REWEIGHTED = {
    "model": Column("Model"),
    "accuracy": Column("Accuracy", "percent"),
    **interval_columns(),
    "weighted_accuracy": Column(
        "Reweighted", "percent", "accuracy on the reweighted test set; leakage-neutral: doubly robust"
    ),
    **interval_columns("weighted_", brief=True),
    "change": Column("Change", "points", "reweighted minus unweighted accuracy, in points"),
    **interval_columns("change_", "points", of="the change", brief=True),
    "weights_alone": Column("Weights only", "percent", "weighted mean, no outcome model", brief=False),
    "effective_n": Column("Effective n", "count", "effective sample size of the estimate", brief=False),
}


def debiased_evaluation_view(outcome: Outcome) -> View:
    """Return both accuracies of every model beside the majority, and what the weights cost."""
    summary = outcome.summary
    models = {name: row for name, row in summary["models"].items() if not row["baseline"]}
    size, examples = count(summary["effective_sample_size"]), plural(summary["n"], "test example")
    chart = side_by_side(
        outcome.tables["debiased_evaluation"],
        {"unweighted": "", "reweighted": "weighted_"},
        "weights",
        title="Accuracy with and without the leak",
        alt="Unweighted and reweighted accuracy of every model, each with its 95 % CI.",
        caption="With 95 % CIs. Models that rely on the leak lose more accuracy.",
    )
    table = Table(
        "Unweighted and reweighted accuracy",
        "debiased_evaluation",
        _REWEIGHTED,
        caption="The CI of the change is paired: both accuracies are on the same examples.",
    )
    return View(
        lead=[
            f"{_weights_sentence(summary['weights'])}; the effective sample size is {size} of {examples}."
            if summary["weights"] == "leakage-neutral"
            else f"{_weights_sentence(summary['weights'])}, the effective sample size is {size} of {examples}.",
            *(_reweighted_sentence(name, row) for name, row in list(models.items())[:MOST_LEADS]),
        ],
        figures=[
            KeyFigure("effective sample size", size, f"of {examples}"),
            KeyFigure("largest weight", number(summary["largest"]), "the mean is 1"),
        ],
        charts=[chart],
        tables=[table],
        notes=summary["notes"],
    )


def _weights_sentence(weights: str) -> str:
    if weights == "leakage-neutral":
        return "With leakage-neutral weights, the pair graph does not predict the label"
    return f"With the weights of the column “{display_text(weights, 60)}”"


def _reweighted_sentence(name: str, row: Summary) -> str:
    return (
        f"{display_text(name, 60)} has an accuracy of {percent(row['accuracy'])}, and "
        f"{percent(row['weighted_accuracy'])} ({ci(row['weighted_low'], row['weighted_high'])}) on the reweighted test "
        "set."
    )


_NET_SCORES = {
    "model": Column("Model"),
    "accuracy": Column("As it stands", "percent"),
    "neutral": Column("Leak-neutral", "percent", "under weights at which no shortcut is above chance"),
    **interval_columns("neutral_"),
    "unsolved": Column("Unsolved", "percent", "on examples that no shortcut solves"),
    **interval_columns("unsolved_"),
    "accuracy_rank": Column("Rank", "count"),
    "neutral_rank": Column("Net rank", "count"),
    "neutral_rank_change_low": Column("Change CI low", "count", brief=False),
    "neutral_rank_change_high": Column("Change CI high", "count", brief=False),
}
_WAYS = {"accuracy": "as it stands", "neutral": "leak-neutral", "unsolved": "no shortcut solves it"}


def net_scores_view(outcome: Outcome) -> View:
    """Return every model's scores with one chart."""
    summary = outcome.summary
    working = ", ".join(name.replace("_", " ") for name in summary["working"])
    solved = f"{count(summary['solved'])} of {plural(summary['n'], 'test example')}"
    lead = [
        f"Shortcuts above chance: {working}; they solve {solved}."
        if working
        else "No shortcut is above chance: all scores stay as they are."
    ]
    lead += [
        f"{model}: {fine(part['value'])} bits beyond {part['beyond']} ({ci(part['low'], part['high'], fine)})."
        for model, part in summary["beyond"].items()
    ]
    tables = [Table("Models", "net_scores", _NET_SCORES)]
    return View(lead=lead, charts=[_scores(summary["models"])], tables=tables)


def _scores(models: Sequence[Summary]) -> Intervals:
    """Return every model's accuracies with intervals, the best model first."""
    rows = [
        {
            "model": row["model"],
            "way": name,
            "value": row[way],
            "low": row[f"{way}_low"],
            "high": row[f"{way}_high"],
        }
        for row in sorted(models, key=lambda row: -row["accuracy"])
        for way, name in _WAYS.items()
        if way in row
    ]
    return Intervals(
        title="Scores net of the leak",
        data=pl.DataFrame(rows),
        y="model",
        x=Axis("value", "accuracy", "percent", zero=False),
        low="low",
        high="high",
        series="way",
        alt="Accuracy of every model as it stands, under leak-neutral weights, and where no shortcut works.",
        caption="● accuracy with 95 % CI",
        name="scores",
    )


_BOXES = {
    "model": Column("Model"),
    "occurs": Column("Occurs", hint="how often the sentence occurs in the training set"),
    "n": Column("Sentences", "count"),
    "low": Column("Low", "decimal", "end of the lower whisker"),
    "q1": Column("Q1", "decimal", "first quartile"),
    "median": Column("Median", "decimal"),
    "q3": Column("Q3", "decimal", "third quartile"),
    "high": Column("High", "decimal", "end of the upper whisker"),
    "mean": Column("Mean", "decimal"),
    "matched": Column("Match", "percent", "share of scores of at least 0.5"),
    "outliers": Column("Outliers", "count", "scores beyond the whiskers", brief=False),
}


def identical_pairs_view(outcome: Outcome) -> View:
    """Return the boxes by frequency, one series per model."""
    summary = outcome.summary
    boxes = _occurring(outcome.tables["identical_pairs"], summary["last"])
    lead = (
        f"{plural(summary['pairs'], 'sentence')} of the training set, each paired with itself. All of them "
        "match, so a score that depends on sentence frequency does not come from reading the pair."
    )
    return View(
        lead=[lead, *(_score_sentence(name, scores) for name, scores in summary["models"].items())],
        charts=[identical_pairs_chart(outcome.tables["identical_pairs"], summary["last"])],
        tables=[Table("Scores of identical pairs by frequency", "identical_pairs", _BOXES, data=boxes)],
    )


def _score_sentence(name: str, scores: Summary) -> str:
    trend = ""
    if scores["rho"] is not None:
        trend = (
            f"; Spearman's ρ with frequency is {scores['rho']:+z.2f} (p = {probability(scores['p_value'])})"
        )
    return (
        f"{display_text(name, 60)} gives {percent(scores['matched'])} of them a score of at least 0.5; the "
        f"mean score is {scores['mean']:z.2f}{trend}."
    )


def _occurring(boxes: pl.DataFrame, last: int) -> pl.DataFrame:
    """Return the boxes of all models beside each other at each frequency, the last of which means “or more”."""
    frequency = pl.col("frequency").cast(pl.String)
    or_more = pl.when(pl.col("frequency") >= last).then(pl.lit("+")).otherwise(pl.lit(""))
    return boxes.sort("frequency", maintain_order=True).with_columns(occurs=frequency + or_more)


def identical_pairs_chart(
    boxes: pl.DataFrame,
    last: int,
    *,
    title: str = "Score by sentence frequency",
    alt: str = "Tukey boxes of each model's score of identical pairs by the sentence's frequency.",
    caption: str = "Box: middle 50 %; line: median; whiskers: most extreme scores within 1.5 box lengths.",
    name: str = "scores",
) -> Boxes:
    """Return one box per frequency and model; a fair model's boxes are all high and level (Selection, Figure 5)."""
    return Boxes(
        title=title,
        data=_occurring(boxes, last),
        x="occurs",
        x_title="sentence frequency in the training set",
        colour="model",
        colours=boxes["model"].unique(maintain_order=True).to_list(),
        y=Axis("low", "probability of a match", "percent", domain=(0, 1.02)),
        tooltip={"n": Column("sentences", "count")},
        alt=alt,
        caption=caption,
        name=name,
    )
