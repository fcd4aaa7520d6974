"""What a judge's scores depend on besides quality: fair, biased or undecided, test by test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.stats import rankdata

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, interval
from cuecard.data import Instances, Task
from cuecard.data.instances import TASKS
from cuecard.features.style import formatting
from cuecard.probes.judge.biases import FEWEST, model_family
from cuecard.probes.judge.forms import BATCH, PAIRS
from cuecard.probes.judge.perturbations import PERTURBATIONS
from cuecard.probes.judge.scored import Scored
from cuecard.probes.judge.view import change_name, fairness_view
from cuecard.probes.predictions import Probe
from cuecard.stats.arrays import Floats
from cuecard.stats.multiple_testing import holm
from cuecard.stats.preferences.changes import Expected, mean_change, ruling, slope_parts
from cuecard.wording import listed, plural, points, probability

NAME = "judge_tests"
EFFECT = MeasureKind("{model}.{test}.effect", "change of the scores of {model} by {test}", "points")
MISSING = MeasureKind("{model}.missing", "scores of {model} that could not be read", "share", "higher")
BIASED = MeasureKind("{model}.biased", "tests that {model} does not pass", "count", "higher")
#: One response to one prompt, as it was asked.
_SAME = ("id", "response", "form")


@dataclass(frozen=True, eq=False)
class Changes:
    """What one test measured: a change per response, and the prompts that these are about."""

    test: str
    form: str
    expected: Expected
    values: Floats
    units: pl.Series
    detail: str = ""
    #: How many tests it is the most extreme of.
    tests: int = 1


@dataclass(frozen=True)
class JudgeFairness(Probe):
    """Test what the scores of judges depend on: changes by rules, length, formatting, place, family and wording.

    Every effect is a change on a scale from 0 (the lowest score, or a lost comparison) to 1. What must not move a score
    (padding, Markdown, restating, flattery, made-up sources, place, wording, length, the judge's own family) is fair if
    the interval stays within the margin, and biased if it is significant and does not. What must lower it (a wrong
    number, a negation) is fair if it surely does, and biased if it surely does so by less than the margin.
    Intervals are over prompts; p-values are adjusted over all tests of a judge (Holm).

    Args:
        alpha: level of the tests of a judge.
        margin: a change of less than this is none: 0.05 is 0.45 points of a score from 1 to 10.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Tests of judges"
    view = staticmethod(fairness_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"scores"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (EFFECT, MISSING, BIASED)

    alpha: float = 0.05
    margin: float = 0.05

    def run(self, data: Instances, scores: Sequence[Scored]) -> Result:
        """Return one row per judge, way of asking and test."""
        del data
        rows: list[Row] = []
        judges: dict[str, Row] = {}
        for judge in scores:
            own = self._tested(judge)
            rows += own
            total = judge.table.height + judge.missing
            judges[judge.name] = {
                "scores": judge.table.height,
                "missing": judge.missing / total,
                "total": total,
                **{
                    result: [row["name"] for row in own if row["result"] == result]
                    for result in ("fair", "biased", "undecided")
                },
            }
        summary = {
            "rows": rows,
            "judges": judges,
            "alpha": self.alpha,
            "margin": self.margin,
            "fewest": FEWEST,
        }
        table = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
        return Result(summary, {NAME: table}, _findings(summary), measures=_measures(summary))

    def _tested(self, judge: Scored) -> list[Row]:
        changes = [one for one in all_changes(judge) if one.units.n_unique() >= FEWEST]
        figures = [mean_change(one.values, one.units.to_numpy()) for one in changes]
        each = [min(1.0, p * one.tests) for one, (*_, p) in zip(changes, figures, strict=True)]
        adjusted = holm(each) if each else np.empty(0)
        rows: list[Row] = []
        for one, (effect, low, high, p), p_adjusted in zip(changes, figures, adjusted, strict=True):
            result = ruling(one.expected, low, high, float(p_adjusted), alpha=self.alpha, margin=self.margin)
            rows.append(
                {
                    "judge": judge.name,
                    "form": one.form,
                    "test": one.test,
                    "name": f"{one.test} ({one.form})",
                    "expected": one.expected,
                    "result": result,
                    "effect": effect,
                    "low": low,
                    "high": high,
                    "p_value": p,
                    "p_adjusted": float(p_adjusted),
                    "n": len(one.values),
                    "detail": one.detail,
                }
            )
        return rows


def all_changes(judge: Scored) -> Iterator[Changes]:
    """Give what every test of a judge measured, by way of asking."""
    table = judge.table
    plain = table.filter(pl.col("perturbation") == "")
    for (form,), part in plain.group_by("form", maintain_order=True):
        name = str(form)
        once = part.group_by("id", "response", maintain_order=True).agg(
            pl.col("merit").mean(), pl.col("text", "author", "human").first(), pl.col("form").first()
        )
        changed = table.filter((pl.col("form") == form) & (pl.col("perturbation") != ""))
        yield from _perturbed(name, once, changed)
        yield from _place(name, part)
        if name == PAIRS:
            continue  # length, formatting and family of pairs have a section of their own
        if name != BATCH:
            yield from _style(name, once)
            yield from _family(judge.name, name, once)
        yield from _people(name, once)
    yield from _wordings(plain.filter(~pl.col("form").is_in([PAIRS, BATCH])))


def _perturbed(form: str, once: pl.DataFrame, changed: pl.DataFrame) -> Iterator[Changes]:
    """Give the score of a changed response minus that of the same response as it is."""
    means = changed.group_by("perturbation", "id", "response", maintain_order=True).agg(
        pl.col("merit").mean()
    )
    both = means.join(once, on=["id", "response"], suffix="_plain", maintain_order="left")
    for (name,), part in both.group_by("perturbation", maintain_order=True):
        rule = PERTURBATIONS.get(str(name))
        difference = (part["merit"] - part["merit_plain"]).to_numpy()
        yield Changes(str(name), form, rule.expected if rule else "same", difference, part["id"])


def _place(form: str, part: pl.DataFrame) -> Iterator[Changes]:
    """Give, for the place that moves scores most, the score there minus that of the same response elsewhere."""
    seen = part.filter(pl.col("place").is_not_null())
    several = seen.filter(pl.col("place").n_unique().over("id", "response") > 1)
    if not several.height:
        return
    if form == PAIRS:  # both responses of a comparison say the same
        several = several.filter(pl.col("response") == several["response"][0])
    best: Changes | None = None
    tests = 0
    for place in sorted(several["place"].unique().to_list()):
        here = pl.col("place") == place
        sides = (
            several.group_by("id", "response", maintain_order=True)
            .agg(here=pl.col("merit").filter(here).mean(), elsewhere=pl.col("merit").filter(~here).mean())
            .drop_nulls()
        )
        values = (sides["here"] - sides["elsewhere"]).to_numpy()
        detail = f"place {place}"
        if form == PAIRS:  # half of it is how much likelier the response wins than in the mean of both orders
            values, detail = values / 2, "shown first"
        one = Changes("place", form, "same", values, sides["id"], detail)
        tests += bool(len(values))
        if len(values) and (best is None or abs(values.mean()) > abs(best.values.mean())):
            best = one
        if form == PAIRS:
            break
    if best is not None:
        yield replace(best, tests=tests)


def _style(form: str, once: pl.DataFrame) -> Iterator[Changes]:
    """Give the slope of scores on log words and on formatting, per standard deviation, at equal human score."""
    rows = once.filter(pl.col("text").is_not_null())
    if rows.height < FEWEST:
        return
    human = rows["human"].to_numpy()[:, None] if not rows["human"].null_count() else None
    others = human if human is not None and np.ptp(human) > 0 else None
    merit = rows["merit"].to_numpy()
    columns = {
        "length": np.log1p(rows["text"].str.count_matches(r"\S+").to_numpy().astype(np.float64)),
        "formatting": np.log1p(formatting(rows["text"])),
    }
    for name, values in columns.items():
        if (values != np.median(values)).sum() >= FEWEST // 2:
            parts = slope_parts(merit, values, others)
            if len(parts):
                detail = "at equal quality" if others is not None else "without quality labels"
                yield Changes(name, form, "same", parts, rows["id"], detail)


def _family(judge: str, form: str, once: pl.DataFrame) -> Iterator[Changes]:
    """Give how much higher a judge scores responses of its own family than others of the same prompt do."""
    family = model_family(judge)
    rows = once.filter(pl.col("author").is_not_null())
    own = pl.Series([model_family(name) == family for name in rows["author"]], dtype=pl.Boolean)
    if not own.any() or own.all():
        return
    human = rows["human"]
    graded = not human.null_count() and human.n_unique() > 1
    parts = slope_parts(
        rows["merit"].to_numpy(),
        own.cast(pl.Float64).to_numpy(),
        human.to_numpy()[:, None] if graded else None,
    )
    if len(parts):
        # From one standard deviation to the difference between the two groups.
        spread = float(own.cast(pl.Float64).to_numpy().std())
        detail = f"family {family!r}" + (", beyond people" if graded else "")
        yield Changes("own family", form, "same", parts / spread, rows["id"], detail)


def _people(form: str, once: pl.DataFrame) -> Iterator[Changes]:
    """Give agreement with people: wins of the response that they prefer, or Spearman's ρ with their scores."""
    rows = once.filter(pl.col("human").is_not_null())
    if rows.height < FEWEST:
        return
    prompts = rows.group_by("id", maintain_order=True).agg(
        best=pl.col("merit").filter(pl.col("human") == pl.col("human").max()).mean(),
        rest=pl.col("merit").filter(pl.col("human") < pl.col("human").max()).mean(),
    )
    paired = prompts.drop_nulls()
    if paired.height >= FEWEST:
        wins = np.sign((paired["best"] - paired["rest"]).to_numpy()) / 2
        yield Changes(
            "people", form, "higher", wins, paired["id"], "wins of the preferred response beyond one half"
        )
        return
    if rows["human"].n_unique() < 2 or rows["merit"].n_unique() < 2:
        return
    ranks = [rankdata(rows[column].to_numpy()) for column in ("merit", "human")]
    scaled = [(values - values.mean()) / values.std() for values in ranks]
    yield Changes("people", form, "higher", np.clip(scaled[0] * scaled[1], -3, 3), rows["id"], "Spearman's ρ")


def _wordings(plain: pl.DataFrame) -> Iterator[Changes]:
    """Give how much higher the same responses score with one wording of the question than with another."""
    means = plain.group_by("id", "response", "form", maintain_order=True).agg(pl.col("merit").mean())
    forms = means["form"].unique(maintain_order=True).to_list()
    for first, second in combinations(forms, 2):
        sides = means.filter(form=first).join(means.filter(form=second), on=["id", "response"], suffix="_b")
        if sides.height < FEWEST:
            continue
        values = (sides["merit_b"] - sides["merit"]).to_numpy()
        detail = ""
        if sides["merit"].n_unique() > 1 and sides["merit_b"].n_unique() > 1:
            rho = np.corrcoef(rankdata(sides["merit"].to_numpy()), rankdata(sides["merit_b"].to_numpy()))[
                0, 1
            ]
            detail = f"rank correlation {rho:z.2f}"
        yield Changes("wording", f"{first}, {second}", "same", values, sides["id"], detail)


_COLUMNS = {
    **dict.fromkeys(("judge", "form", "test", "name", "expected", "result"), pl.String),
    **dict.fromkeys(("effect", "low", "high", "p_value", "p_adjusted"), pl.Float64),
    "n": pl.Int64,
    "detail": pl.String,
}


def _measures(summary: Row) -> list[Measure]:
    measures = []
    for row in summary["rows"]:
        slots = {
            "model": row["judge"],
            "test": f"{row['form']}.{row['test']}".replace(", ", "-").replace(" ", "_"),
        }
        measures.append(EFFECT.of(NAME, **interval(row, "effect"), chance=0.0, n=row["n"], **slots))
    for model, part in summary["judges"].items():
        measures.append(MISSING.of(NAME, part["missing"], n=part["total"], model=model))
        tested = sum(len(part[result]) for result in ("fair", "biased", "undecided"))
        if tested:
            measures.append(BIASED.of(NAME, float(len(part["biased"])), n=tested, model=model))
    return measures


def _findings(summary: Row) -> list[Finding]:
    findings = []
    # The order of pairs has a finding in the section of comparisons.
    ordered = (PAIRS, "place")
    biased = [
        row for row in summary["rows"] if row["result"] == "biased" and (row["form"], row["test"]) != ordered
    ]
    for judge, test in dict.fromkeys((row["judge"], row["test"]) for row in biased):
        findings.append(_bias([row for row in biased if (row["judge"], row["test"]) == (judge, test)]))
    for model, part in summary["judges"].items():
        if part["biased"]:
            continue
        tested = len(part["fair"]) + len(part["undecided"])
        title = f"No bias of {model} found in its scores" if tested else f"Biases of {model} were not tested"
        text = (
            f"{model} passes {plural(len(part['fair']), 'test')} of {tested:,}; undecided: {len(part['undecided']):,}"
            + (f" ({listed(part['undecided'])})." if part["undecided"] else ".")
            if tested
            else f"No test has the responses to {summary['fewest']} prompts that it needs."
        )
        findings.append(Finding(NAME, "info", title, text, key=f"{model}/fair", role="flaw"))
    return findings


def _bias(rows: Sequence[Row]) -> Finding:
    """Return the finding about a test that a judge does not pass in one or several ways of asking."""
    row = max(rows, key=lambda one: min(abs(one["low"]), abs(one["high"])))
    model, what = row["judge"], change_name(row["test"])
    ends = f"95 % CI {points(row['low'])} to {points(row['high'])}, p = {probability(row['p_adjusted'])}"
    about = f"on {plural(row['n'], 'response')}, asked as “{row['form']}”"
    careful = 0.0
    if row["expected"] == "same":
        careful = min(abs(row["low"]), abs(row["high"]))
        title = f"{model} is moved by {what}"
        text = (
            f"Scores of {model} change by {points(row['effect'])} points of 100 by {what} ({ends}) {about}."
        )
    elif row["expected"] == "lower":
        title = f"{model} overlooks {what}"
        text = (
            f"With {what}, scores of {model} should fall, and change by {points(row['effect'])} points of 100 ({ends}) "
            f"{about}."
        )
        careful = 0.1
    else:
        title = f"{model} does not agree with people"
        text = f"{model} agrees with people by {points(row['effect'])} points of 100 beyond chance ({ends}) {about}."
        careful = 0.15
    if row["detail"]:
        text = f"{text[:-1]} ({row['detail']})."
    if others := [f"“{one['form']}”" for one in rows if one is not row]:
        text += f" The same is found with {listed(others)}."
    severity: Severity = "high" if careful >= 0.15 else "medium" if careful >= 0.05 else "low"
    numbers = interval(row, "effect") | {"chance": 0.0, "n": row["n"]}
    key = f"{model}/{row['test']}"
    return Finding(NAME, severity, title, text, **numbers, unit="points", key=key, role="flaw")
