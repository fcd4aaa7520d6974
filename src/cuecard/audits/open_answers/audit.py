"""Are open answers given away? The answer prior, the question alone, template copies, and copied answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Measure, MeasureKind, Result, Skip, Summary
from cuecard.audits.open_answers.facts import (
    common_answers,
    context_facts,
    copied_from_question,
    formats_by_slice,
    shared_answers,
)
from cuecard.audits.open_answers.findings import NAME, open_findings
from cuecard.audits.open_answers.predictors import Judge, Plan, judged
from cuecard.audits.open_answers.questions import FEWEST_OF_TYPE, Questions, template_codes
from cuecard.audits.open_answers.view import open_view
from cuecard.audits.partial_input.slices import slice_columns
from cuecard.data import Examples, Instances, Task
from cuecard.stats.arrays import Bools, Ints

PRIOR = MeasureKind(
    "prior.accuracy",
    "exact match of the commonest answer",
    "share",
    "higher",
    key=True,
    solved="solved_prior",
)
BLIND = MeasureKind(
    "{rule}.accuracy", "{rule} exact match", "share", "higher", key=True, solved="solved_{rule}"
)
BY_COLUMN = MeasureKind(
    "column.{column}.accuracy", "exact match of the commonest answer by {column}", "share"
)
F1 = MeasureKind("{rule}.f1", "{rule} F1", "share")
EXCESS = MeasureKind("{rule}.excess", "{rule} exact match above the commonest answer", "points", "higher")
COPIED = MeasureKind("copied.share", "answers that stand in their question", "share")
TEMPLATED = MeasureKind("templates.share", "questions that share a template with another", "share")
SEEN_TEMPLATES = MeasureKind("templates.seen", "test questions of a template of the training set", "share")
SHARED = MeasureKind("answers.shared", "test questions whose answer occurs in the training set", "share")
MISSING = MeasureKind("context.missing", "questions without a context", "share", "higher")
KINDS = (PRIOR, BLIND, BY_COLUMN, F1, EXCESS, COPIED, TEMPLATED, SEEN_TEMPLATES, SHARED, MISSING)

FEWEST_QUESTIONS = 50
#: Rows of tables of common answers, and of templates.
MOST_ANSWERS, MOST_TEMPLATES = 50, 100
#: What the rules on every card are said to do.
SAYS = {
    "prior": "the commonest answer",
    "question_type": "the commonest answer of the type of question (its first words)",
    "nearest_question": "the answer of the most similar training question",
    "question_words": "a linear model of the words of the question",
    "same_template": "the commonest answer of questions that are equal but for numbers and names",
}


@dataclass(frozen=True)
class OpenAnswers:
    """Predict answers in words from what should not be enough, cross-fitted or from the training set.

    Args:
        alpha: level of the tests, corrected by Holm's method.
        seed: of the folds.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Open answers"
    tasks: ClassVar[frozenset[Task]] = frozenset({"open"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    view = staticmethod(open_view)
    parallel: ClassVar[bool] = True
    caveat: ClassVar[str] = (
        "Exact match of blind predictors is a lower bound: a stronger model of the question may find more."
    )

    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances) -> Result:
        """Return the exact match of every blind rule, and what is repeated, shared, missing or copied."""
        questions = Questions.of(data)
        plan = Plan.of(questions, self.seed)
        n = len(plan.scored)
        if n < FEWEST_QUESTIONS:
            raise Skip(f"needs at least {FEWEST_QUESTIONS} questions, found {n}")
        judge = Judge(plan, plan.prior())
        columns = slice_columns(Examples(data), (data.cluster, "context", "question", "accepted"))
        predicted, partners = plan.blind_rules(self.seed)
        masked = template_codes(questions)[1]
        lines = [
            judge.line(
                rule, _kind(rule), SAYS[rule], codes, partners > 0 if rule == "same_template" else None
            )
            for rule, codes in predicted.items()
        ]
        for column in columns:
            says = f"the commonest answer of the same {column.name}"
            lines.append(judge.line(column.name, "column", says, plan.by_kind(_codes(column))))
        lines = judged(lines, self.alpha)
        copied, in_question = copied_from_question(questions, plan.scored)
        train = np.flatnonzero(data.in_splits("train"))
        shared = None if plan.cross_fitted else shared_answers(questions, train, plan.scored)
        context = context_facts(questions, plan.scored)
        by_template, seen = _template_table(plan, masked)
        summary: Summary = {
            "n": n,
            "cross_fitted": plan.cross_fitted,
            "alpha": self.alpha,
            "distinct": len(np.unique(questions.answers[plan.scored])),
            "lines": [line.row for line in lines],
            "copied": {"n": copied.n, "hits": copied.hits, "chance": copied.chance, "log_p": copied.log_p},
            "templates": {"partners": int((partners > 0).sum()), "groups": seen},
            "shared": None if shared is None else vars(shared),
            "context": None if context is None else vars(context),
            "commonest": str(questions.forms[int(judge.prior[plan.scored[0]])]),
        }
        in_scored = np.zeros(len(questions), dtype=np.bool_)
        in_scored[plan.scored] = True
        scored = pl.Series(in_scored)
        whole = pl.repeat("all", len(questions), eager=True).alias("all questions")
        slices = [whole, questions.types.alias("question type"), *columns]
        tables = {
            "rules": pl.DataFrame([line.row for line in lines]),
            "common_answers": common_answers(questions, plan.scored, MOST_ANSWERS),
            "kinds": _kinds_table(judge, slices),
            "formats": formats_by_slice(questions, slices),
            "templates": by_template,
        }
        examples = _examples_table(data, questions, judge, predicted, in_question).filter(scored)
        evidence = {rule: (judge.hits(codes), codes) for rule, codes in predicted.items()}
        findings = open_findings(summary, plan, evidence, in_question)
        return Result(
            summary,
            tables,
            findings,
            examples,
            measures=_measures(summary),
            smallest_q=min((line.p_value for line in lines), default=None),
        )


def _kind(rule: str) -> Any:
    return {"prior": "prior", "same_template": "template"}.get(rule, "question")


def _codes(column: pl.Series) -> Ints:
    """Return a code from 0 for every value of a column; a missing value is one of its own."""
    ranks = column.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0)
    return ranks.to_numpy().astype(np.int64)


def _kinds_table(judge: Judge, slices: list[pl.Series]) -> pl.DataFrame:
    """Return the commonest answer of every type of question and value of a column, and what it scores there."""
    plan, rows = judge.plan, []
    data, prior = plan.data, judge.hits(judge.prior)
    for values in slices[1:]:
        own = values.cast(pl.String).gather(plan.scored)
        for value in own.unique().drop_nulls().sort().to_list():
            inside = plan.scored[(own == value).fill_null(False).to_numpy()]
            if len(inside) < FEWEST_OF_TYPE:
                continue
            counts = np.asarray(data.accepted[inside].sum(axis=0)).ravel()
            rows.append(
                {
                    "column": values.name,
                    "value": value,
                    "n": len(inside),
                    "answer": data.forms[int(counts.argmax())],
                    "share": float(counts.max() / len(inside)),
                    "prior": float(prior[np.isin(plan.scored, inside)].mean()),
                    "distinct": len(np.unique(data.answers[inside])),
                }
            )
    schema = {
        "column": pl.String,
        "value": pl.String,
        "n": pl.Int64,
        "answer": pl.String,
        "share": pl.Float64,
    }
    schema |= {"prior": pl.Float64, "distinct": pl.Int64}
    return pl.DataFrame(rows, schema=schema).sort("share", descending=True)


def _template_table(plan: Plan, masked: pl.Series) -> tuple[pl.DataFrame, int]:
    """Return the templates of several questions, the commonest first, and how many there are."""
    data = plan.data
    codes, _ = template_codes(data)
    frame = pl.DataFrame(
        {
            "code": codes,
            "template": masked,
            "question": data.questions,
            "answer": data.first_answers,
            "split": data.instances.table["split"].cast(pl.String),
        }
    )
    table = (
        frame.group_by("code", maintain_order=True)
        .agg(
            pl.col("template").first(),
            pl.col("question").first().alias("example"),
            questions=pl.col("question").n_unique(),
            answers=pl.col("answer").n_unique(),
            commonest=pl.col("answer").value_counts(sort=True).first().struct.field("answer"),
            share=pl.col("answer").value_counts(sort=True).first().struct.field("count") / pl.len(),
            splits=pl.col("split").unique(maintain_order=True).str.join(", "),
        )
        .filter(pl.col("questions") > 1)
        .drop("code")
        .sort("questions", descending=True, maintain_order=True)
    )
    return table.head(MOST_TEMPLATES), table.height


def _examples_table(
    data: Instances, questions: Questions, judge: Judge, predicted: dict[str, Ints], in_question: Bools
) -> pl.DataFrame:
    """Return what is known of every question: its type, format, and which rules answer it."""
    copied = np.zeros(len(questions), dtype=np.bool_)
    copied[judge.plan.scored] = in_question
    return data.table.select("example_id", pl.col("split").cast(pl.String)).with_columns(
        questions.types.alias("question_type"),
        questions.formats.alias("answer_format"),
        pl.Series("answer_in_question", copied),
        *(pl.Series(f"solved_{rule}", questions.correct(codes)) for rule, codes in predicted.items()),
    )


def _measures(summary: Summary) -> list[Measure]:
    n, measures = summary["n"], []
    for line in summary["lines"]:
        ends = {"low": line["low"], "high": line["high"], "chance": line["chance"], "n": line["n"]}
        if line["kind"] == "column":
            measures.append(BY_COLUMN.of(NAME, line["accuracy"], **ends, column=line["rule"]))
            continue
        kind = PRIOR if line["kind"] == "prior" else BLIND
        slots = {} if line["kind"] == "prior" else {"rule": line["rule"]}
        measures.append(kind.of(NAME, line["accuracy"], **ends, **slots))
        measures.append(F1.of(NAME, line["f1"], n=line["n"], rule=line["rule"]))
        above = {
            "low": line["difference_low"],
            "high": line["difference_high"],
            "chance": 0.0,
            "n": line["n"],
        }
        measures.append(EXCESS.of(NAME, line["difference"], **above, rule=line["rule"]))
    copied = summary["copied"]
    measures.append(COPIED.of(NAME, copied["hits"] / n, chance=copied["chance"], n=n))
    templated = summary["templates"]["partners"] / n
    measures.append((TEMPLATED if summary["cross_fitted"] else SEEN_TEMPLATES).of(NAME, templated, n=n))
    if summary["shared"] is not None:
        measures.append(SHARED.of(NAME, summary["shared"]["hits"] / n, n=n))
    if summary["context"] is not None:
        measures.append(MISSING.of(NAME, summary["context"]["missing"] / n, chance=0.0, n=n))
    return measures
