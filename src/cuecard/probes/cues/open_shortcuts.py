"""Is a model that answers in words better where a shortcut gives the answer away?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.stats import fisher_exact

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Skip, Summary
from cuecard.audits.open_answers.facts import copied_from_question
from cuecard.audits.open_answers.place import RULES, SENTENCES, look_up
from cuecard.audits.open_answers.predictors import Plan, effect_on_mean
from cuecard.audits.open_answers.questions import Questions
from cuecard.data import Instances, Task
from cuecard.probes.examples import widened_within
from cuecard.probes.formats.open_texts import TextAnswers
from cuecard.probes.predictions import Probe
from cuecard.stats import newcombe_difference, state_probability
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import wilson
from cuecard.stats.models.paired import deflated_log10_p
from cuecard.stats.multiple_testing import holm
from cuecard.stats.scores.cross_fit_intervals import mean_interval
from cuecard.view import Axis, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import listed, percent, plural, points

NAME = "open_shortcuts"
ACCURACY = MeasureKind("{model}.accuracy", "exact match of {model}", "share", "lower", key=True)
F1 = MeasureKind("{model}.f1", "F1 of {model}", "share", "lower")
GAP = MeasureKind("{shortcut}.{model}", "exact match of {model} with minus without {shortcut}", "points")
SAID = MeasureKind("commonest.{model}", "answers of {model} that are the commonest answer", "share")
KINDS = (ACCURACY, F1, GAP, SAID)

#: Questions that each side of a comparison needs.
FEWEST = 10
FEWEST_QUESTIONS = 20
#: A gap is of medium severity where it surely is this large.
MEDIUM_GAP = 0.1
SHORTCUTS = {
    "prior": "the answer is the commonest one",
    "question_type": "the commonest answer of its type of question is right",
    "nearest_question": "the answer of the most similar question is right",
    "question_words": "a linear model of the question is right",
    "same_template": "the template's commonest answer is right",
    "known_template": "another question has the same template",
    "copied": "the answer stands in the question",
    "first_sentence": "the answer is in the first sentence",
    "last_sentence": "the answer is in the last sentence",
    **{rule: f"{said} of the context is right" for rule, (said, _) in RULES.items()},
}


def _view(outcome: Outcome) -> View:
    if not outcome.summary:
        return View()
    gaps = outcome.rows("gaps")
    models = outcome.rows("models")
    chart = [
        Intervals(
            title="Exact match with and without each shortcut",
            name="gaps",
            data=gaps.select("shortcut", "model", "gap", "low", "high", "n_with", "n_without"),
            y="shortcut",
            x=Axis("gap", "difference in exact match", "points"),
            low="low",
            high="high",
            series="model" if models.height > 1 else "",
            line=0.0,
            alt="Dots with intervals of the difference in exact match where a shortcut is right.",
            caption="To the right of zero a model is better where the shortcut gives the right answer.",
            tooltip={"n_with": Column("with", "count"), "n_without": Column("without", "count")},
        )
    ]
    columns = {
        "model": Column("Model"),
        "shortcut": Column("Where"),
        "with": Column("Exact match", "percent"),
        "without": Column("Elsewhere", "percent"),
        "gap": Column("Difference", "points"),
        **interval_columns(kind="points"),
        "p_value": Column("p", "probability", "corrected by Holm's method"),
        "f1_with": Column("F1", "percent", brief=False),
        "f1_without": Column("F1 elsewhere", "percent", brief=False),
        "n_with": Column("Questions", "count", brief=False),
    }
    scores = {
        "model": Column("Model"),
        "accuracy": Column("Exact match", "percent"),
        **interval_columns(),
        "f1": Column("F1", "percent"),
        "prior": Column("Commonest answer", "percent", "what always giving it scores"),
        "said": Column("Says it", "percent", "share of the model's answers"),
        "unanswered": Column("No answer", "count", brief=False),
    }
    return View(
        lead=[
            "Exact match and F1 of the answers of each model, as SQuAD counts them, and where shortcuts that need no "
            "answering are right."
        ],
        figures=[
            KeyFigure(f"exact match of {row['model']}", percent(row["accuracy"]), f"F1 {percent(row['f1'])}")
            for row in models.head(3).iter_rows(named=True)
        ],
        charts=chart if gaps.height else [],
        tables=[
            Table("Models", "models", scores),
            *([Table("With and without shortcuts", "gaps", columns)] if gaps.height else []),
        ],
    )


@dataclass(frozen=True)
class OpenShortcuts(Probe):
    """Exact match and F1 of every model where a shortcut gives the right answer, and elsewhere.

    Args:
        alpha: level of the tests, corrected by Holm's method for all shortcuts and models.
        seed: of the folds of the blind rules, where there is no test split.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Answers with and without shortcuts"
    tasks: ClassVar[frozenset[Task]] = frozenset({"open"})
    needs: ClassVar[frozenset[Need]] = frozenset({"answers"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    view = staticmethod(_view)
    caveat: ClassVar[str] = (
        "Questions that a shortcut answers may also be easier: a gap is a reason to look, not proof of a shortcut."
    )

    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, answers: Sequence[TextAnswers]) -> Result:
        """Return the scores of every model, and their difference by shortcut."""
        questions = Questions.of(data)
        plan = Plan.of(questions, self.seed)
        if len(plan.scored) < FEWEST_QUESTIONS:
            raise Skip(f"needs at least {FEWEST_QUESTIONS} questions, found {len(plan.scored)}")
        given = _given_away(plan, self.seed)
        models, gaps, about = [], [], data.table.select("example_id", pl.col("split").cast(pl.String))
        about = about[plan.scored.tolist()]
        prior = plan.prior()[plan.scored]
        for one in answers:
            codes = np.full(len(questions), -1, dtype=np.int64)
            codes[plan.scored] = questions.codes(one.texts)
            right = questions.correct(codes)[plan.scored]
            f1 = questions.f1(_spread(one.texts, plan, len(questions)))[plan.scored]
            models.append(_model(one, right, f1, codes[plan.scored], prior, plan))
            for name, (asked, helped) in given.items():
                row = _gap(one.model, name, right[asked], f1[asked], helped, plan.shared(plan.scored[asked]))
                gaps += [row] if row is not None else []
            about = about.with_columns(
                one.texts.alias(f"prediction {one.model}"), pl.Series(f"right {one.model}", right)
            )
        corrected = holm([10.0 ** row["log10_p"] for row in gaps])
        for row, p in zip(gaps, corrected, strict=True):
            row["p_value"] = float(p)
            row["clear"] = bool(p <= self.alpha)
        summary: Summary = {"n": len(plan.scored), "models": models, "gaps": gaps}
        tables = {"models": pl.DataFrame(models)}
        if gaps:
            tables["gaps"] = pl.DataFrame(gaps).with_columns(
                pl.col("shortcut").replace(SHORTCUTS), pl.col("shortcut").alias("name")
            )
        return Result(
            summary,
            tables,
            [_finding(row, [gap for gap in gaps if gap["model"] == row["model"]]) for row in models],
            about,
            _measures(summary),
            smallest_q=float(corrected.min()) if len(gaps) else None,
        )


def _spread(texts: pl.Series, plan: Plan, n: int) -> pl.Series:
    """Return answers to the scored questions at their places among all."""
    every: list[str | None] = [None] * n
    for row, text in zip(plan.scored.tolist(), texts.to_list(), strict=True):
        every[row] = text
    return pl.Series(every, dtype=pl.String)


def _given_away(plan: Plan, seed: int) -> dict[str, tuple[Ints, Bools]]:
    """Return for every shortcut the scored questions it is about, and for which of these it gives the right answer."""
    data, everywhere = plan.data, np.arange(len(plan.scored))
    rules, partners = plan.blind_rules(seed)
    given = {
        rule: (
            np.flatnonzero(partners > 0) if rule == "same_template" else everywhere,
            data.correct(codes)[plan.scored],
        )
        for rule, codes in rules.items()
    }
    given = {rule: (asked, helped[asked]) for rule, (asked, helped) in given.items()}
    given["known_template"] = (everywhere, partners > 0)
    given["copied"] = (everywhere, copied_from_question(data, plan.scored)[1])
    if data.contexts is not None:
        found = look_up(data, plan.scored)
        for name in (*SENTENCES, *RULES):
            if name in found.outcomes:
                rows, hits, _ = found.outcomes[name]
                given[name] = (np.searchsorted(plan.scored, rows), hits)
    return given


def _model(one: TextAnswers, right: Bools, f1: Floats, codes: Ints, prior: Ints, plan: Plan) -> Row:
    """Return the scores of one model, and how often it gives the commonest answer."""
    kinds = plan.shared(plan.scored)
    share = float(right.mean())
    ends = wilson(int(right.sum()), len(right))
    low, high = widened_within(share, *ends, effect_on_mean(right.astype(np.float64), kinds), minimum=0.0)
    mean, f1_low, f1_high = mean_interval(f1, inflation=effect_on_mean(f1, kinds))
    commonest = plan.data.correct(plan.prior())[plan.scored]
    return {
        "model": one.model,
        "n": len(right),
        "accuracy": share,
        "low": float(low),
        "high": float(high),
        "f1": mean,
        "f1_low": max(0.0, f1_low),
        "f1_high": min(1.0, f1_high),
        "prior": float(commonest.mean()),
        "said": float((codes == prior).mean()),
        "unanswered": int(one.texts.null_count()),
    }


def _gap(
    model: str, name: str, right: Bools, f1: Floats, helped: Bools, kinds: Sequence[Ints]
) -> Summary | None:
    """Return the exact match with and without a shortcut, its difference and the exact test; None on few questions."""
    n_with, n_without = int(helped.sum()), int((~helped).sum())
    if min(n_with, n_without) < FEWEST:
        return None
    k_with, k_without = int(right[helped].sum()), int(right[~helped].sum())
    p = float(fisher_exact([[k_with, n_with - k_with], [k_without, n_without - k_without]]).pvalue)
    residual: Floats = right - np.where(helped, k_with / n_with, k_without / n_without)
    effect = effect_on_mean(residual, kinds)
    gap = k_with / n_with - k_without / n_without
    ends = newcombe_difference(k_with, n_with, k_without, n_without)
    low, high = widened_within(gap, *ends, effect)
    return {
        "model": model,
        "shortcut": name,
        "n_with": n_with,
        "n_without": n_without,
        "with": k_with / n_with,
        "without": k_without / n_without,
        "f1_with": float(f1[helped].mean()),
        "f1_without": float(f1[~helped].mean()),
        "gap": gap,
        "low": float(low),
        "high": float(high),
        "log10_p": float(deflated_log10_p(np.log10(max(p, 1e-300)), effect)),
    }


def _finding(row: Row, gaps: list[Summary]) -> Finding:
    """Return what a model scores, and where it is better than elsewhere."""
    model = row["model"]
    better = sorted((gap for gap in gaps if gap["clear"] and gap["gap"] > 0), key=lambda gap: -gap["low"])
    text = (
        f"{model} scores {percent(row['accuracy'])} exact match (95 % CI {percent(row['low'])} to "
        f"{percent(row['high'])}; F1 {percent(row['f1'])}) on {plural(row['n'], 'question')}; always giving the "
        f"commonest answer scores {percent(row['prior'])}, and {percent(row['said'])} of its answers are that one."
    )
    severity: Severity = "info"
    if not better:
        title = f"No clear difference of {model} where a shortcut gives the answer away"
        if not gaps:
            title = f"{model} could not be tested for shortcuts"
            text += " No shortcut has enough questions with it and without it."
        return Finding(
            NAME, severity, title, text, value=row["accuracy"],
            low=row["low"], high=row["high"], n=row["n"], key=str(model), role="flaw",
        )  # fmt: skip
    best = better[0]
    severity = "medium" if best["low"] >= MEDIUM_GAP else "low"
    parts = [
        f"{percent(gap['with'])} where {SHORTCUTS[gap['shortcut']]} ({plural(gap['n_with'], 'question')}) and "
        f"{percent(gap['without'])} elsewhere: {points(gap['gap']).removeprefix('+')} points (95 % CI "
        f"{points(gap['low'])} to {points(gap['high'])}; {state_probability('p', gap['p_value'])})"
        for gap in better[:3]
    ]
    text += f" It scores {listed(parts)}. These questions may also be easier: look at some of them."
    return Finding(
        NAME, severity, f"{model} is better where {SHORTCUTS[best['shortcut']]}", text, value=best["gap"],
        low=best["low"], high=best["high"], chance=0.0, n=best["n_with"] + best["n_without"], unit="points",
        key=str(model), role="flaw", q_value=best["p_value"],
    )  # fmt: skip


def _measures(summary: Summary) -> list[Measure]:
    measures = []
    for row in summary["models"]:
        ends = {"low": row["low"], "high": row["high"], "n": row["n"]}
        measures.append(ACCURACY.of(NAME, row["accuracy"], **ends, model=row["model"]))
        f1 = {"low": row["f1_low"], "high": row["f1_high"], "n": row["n"]}
        measures.append(F1.of(NAME, row["f1"], **f1, model=row["model"]))
        measures.append(SAID.of(NAME, row["said"], chance=row["prior"], n=row["n"], model=row["model"]))
    for gap in summary["gaps"]:
        n = gap["n_with"] + gap["n_without"]
        ends = {"low": gap["low"], "high": gap["high"], "chance": 0.0, "n": n}
        measures.append(GAP.of(NAME, gap["gap"], **ends, shortcut=gap["shortcut"], model=gap["model"]))
    return measures
