"""Can this benchmark tell these models apart, and which of its items should be checked?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Skip, interval
from cuecard.data import Instances, Task
from cuecard.data.instances import TASKS
from cuecard.probes.examples import effect_on_mean, share_interval
from cuecard.probes.predictions import Probe
from cuecard.probes.runs.table import Runs
from cuecard.probes.runs.view import runs_view
from cuecard.stats import q_values, wilson
from cuecard.stats.arrays import Bools
from cuecard.stats.many_models import (
    PairedDifferences,
    failed_by_better,
    kr20,
    listed_within,
    paired_differences,
    smallest_difference,
    split_half,
    tied_with_best,
    wrong_keys,
)
from cuecard.stats.models.paired import widened
from cuecard.wording import listed, percent, plural, points

NAME = "runs"
ACCURACY = MeasureKind("{model}.accuracy", "accuracy of {model}", "share")
RESOLVES = MeasureKind(
    "smallest_difference", "smallest difference in accuracy that the items resolve", "points", "higher"
)
TIED = MeasureKind("tied_with_best", "models not told apart from the best", "count", "higher")
KR20 = MeasureKind("kr20", "reliability of the ranking (KR-20)", "score", "lower")
SPLIT = MeasureKind("split_half", "reliability over split halves", "score", "lower")
HEADROOM = MeasureKind("headroom", "share of the items that the best model fails", "share", "lower")
BY_ALL = MeasureKind("solved_by_all", "items that every model solves", "share", "higher")
BY_NONE = MeasureKind("solved_by_none", "items that no model solves", "share")
WRONG = MeasureKind("wrong_keys", "items whose key may be wrong", "count", "higher")
FAILED = MeasureKind("failed_by_better", "items that better models fail", "count", "higher")
KINDS = (ACCURACY, RESOLVES, TIED, KR20, SPLIT, HEADROOM, BY_ALL, BY_NONE, WRONG, FAILED)

#: Items and models that anything is said of.
FEWEST_ITEMS, FEWEST_MODELS = 20, 2
#: Models that say how reliable a ranking is, and which keys may be wrong.
FEWEST_RANKED, FEWEST_FOR_KEYS = 5, 10
#: A benchmark is saturated if its best model surely fails less than this share of the items.
SATURATED = 0.05
#: Scores below this do not rank models reliably.
RELIABLE = 0.8
POWER = 0.8


@dataclass(frozen=True)
class BenchmarkRuns(Probe):
    """Differences between many models on one benchmark, its reliability, and items that may have a wrong key.

    Every pair of models is compared by McNemar's exact test with the design effect of shared texts, adjusted over all
    pairs (Holm). A key may be wrong if models' answers are likelier with another option as the key; the list is made
    so that at most a share `rate` of it is expected to have right keys. Items that better models fail are found by an
    exact rank test (Benjamini and Hochberg at the same rate).

    Args:
        alpha: level of the differences between models, over all pairs.
        rate: false discovery rate of the two lists of items.
        seed: of the split halves.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Runs of many models"
    view = staticmethod(runs_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"runs"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS

    alpha: float = 0.05
    rate: float = 0.1
    seed: int = 0

    def run(self, data: Instances, runs: Runs) -> Result:
        """Return one row per model, per pair of models, and per item that should be checked."""
        del data
        n = len(runs)
        if n < FEWEST_ITEMS:
            raise Skip(f"needs at least {FEWEST_ITEMS} items that all models answered, found {n}")
        pairs = paired_differences(runs.correct, runs.kinds)
        items, counts = self._items(runs)
        table = _models(runs, pairs, self.alpha)
        summary: Row = {
            "n": n,
            "models": table.to_dicts(),
            "pairs": len(pairs.first),
            "different": int((pairs.p_adjusted <= self.alpha).sum()),
            "alpha": self.alpha,
            "rate": self.rate,
            "resolves": _resolves(pairs, n, self.alpha),
            "reliability": _reliability(runs, self.seed),
            "headroom": _headroom(runs),
            "by_all": _share(np.asarray(runs.correct.all(axis=1)), runs),
            "by_none": _share(np.asarray(~runs.correct.any(axis=1)), runs),
            "keys": counts,
            "notes": list(runs.notes),
        }
        tables = {NAME: table, "model_differences": _differences(runs, pairs, self.alpha)}
        if items.height:
            tables["items_to_check"] = items
        return Result(summary, tables, _findings(summary), measures=_measures(summary))

    def _items(self, runs: Runs) -> tuple[pl.DataFrame, Row]:
        """Return the items whose key may be wrong or that better models fail, and how many there are; or why not."""
        n, models = runs.correct.shape
        counts: dict[str, object] = {"wrong": None, "failed": None, "why": ""}
        if models < FEWEST_FOR_KEYS:
            counts["why"] = f"needs at least {FEWEST_FOR_KEYS} models, found {models}"
            return pl.DataFrame(), counts
        q = q_values(np.log(failed_by_better(runs.correct)))
        failed = q <= self.rate
        counts["failed"] = int(failed.sum())
        probability, other, agreed, key = np.zeros(n), [""] * n, np.full(n, np.nan), [""] * n
        wrong = np.zeros(n, dtype=np.bool_)
        if runs.answers is None or runs.gold is None:
            counts["why"] = "needs the answers of every model and the key of every item"
        else:
            fitted = wrong_keys(runs.answers, runs.gold, runs.sizes)
            probability, agreed = fitted.probability, fitted.agreed
            wrong[listed_within(probability, self.rate)] = True
            counts |= {"wrong": int(wrong.sum()), "share": fitted.share}
            key = [names[k] for names, k in zip(runs.options, runs.gold.tolist(), strict=True)]
            other = [names[k] for names, k in zip(runs.options, fitted.other.tolist(), strict=True)]
        table = pl.DataFrame(
            {
                "item": runs.items,
                "why": np.where(wrong, "key may be wrong", "better models fail it"),
                "key": key,
                "answer": pl.Series(other),
                "agreed": agreed,
                "accuracy": runs.correct.mean(axis=1),
                "probability": probability,
                "q_value": q,
            }
        )
        chosen = table.filter(pl.Series(wrong | failed)).sort("probability", descending=True)
        missing = pl.when(pl.col("why") == "key may be wrong")
        return chosen.with_columns(
            [missing.then(pl.col(c)).alias(c) for c in ("answer", "agreed", "probability")]
        ), counts


def _models(runs: Runs, pairs: PairedDifferences, alpha: float) -> pl.DataFrame:
    """Return the models by accuracy, with the range of ranks that the adjusted tests leave open."""
    accuracy = runs.correct.mean(axis=0)
    tied = tied_with_best(pairs, accuracy, alpha)
    differs = pairs.p_adjusted <= alpha
    better, worse = np.zeros(len(accuracy), dtype=np.int64), np.zeros(len(accuracy), dtype=np.int64)
    above = pairs.difference > 0
    np.add.at(better, np.where(above, pairs.second, pairs.first)[differs], 1)
    np.add.at(worse, np.where(above, pairs.first, pairs.second)[differs], 1)
    rows = []
    for m, model in enumerate(runs.models):
        value, low, high = share_interval(runs.correct[:, m], runs.kinds)
        rows.append(
            {
                "model": model,
                "accuracy": value,
                "low": low,
                "high": high,
                "best_rank": int(better[m]) + 1,
                "worst_rank": len(accuracy) - int(worse[m]),
                "tied_with_best": bool(tied[m]),
                "unanswered": None if runs.answers is None else int((runs.answers[:, m] < 0).sum()),
            }
        )
    return pl.DataFrame(rows).sort("accuracy", descending=True, maintain_order=True)


def _differences(runs: Runs, pairs: PairedDifferences, alpha: float) -> pl.DataFrame:
    names = pl.Series(runs.models, dtype=pl.String)
    table = pl.DataFrame(
        {
            "better": names.gather(np.where(pairs.difference >= 0, pairs.first, pairs.second)),
            "worse": names.gather(np.where(pairs.difference >= 0, pairs.second, pairs.first)),
            "difference": np.abs(pairs.difference),
            "low": np.where(pairs.difference >= 0, pairs.low, -pairs.high),
            "high": np.where(pairs.difference >= 0, pairs.high, -pairs.low),
            "p_adjusted": pairs.p_adjusted,
            "log10_p": pairs.log10_p,
            "design_effect": pairs.effect,
            "different": pairs.p_adjusted <= alpha,
        }
    )
    return table.sort("difference", descending=True, maintain_order=True)


def _resolves(pairs: PairedDifferences, n: int, alpha: float) -> Row:
    """Return the smallest difference between two models that the items resolve, for the typical pair.

    The typical pair has the median share of items on which exactly one of two is right; the interval is that of the
    share.
    """
    discordant = pairs.only_first + pairs.only_second
    middle = int(np.argsort(discordant, kind="stable")[len(discordant) // 2])
    effect = float(np.median(pairs.effect))
    share = discordant[middle] / n
    ends = (float(widened(share, end, effect)) for end in wilson(int(discordant[middle]), n))
    low, high = (min(max(end, 0.0), 1.0) for end in ends)
    worth = n / effect
    value, least, most = (smallest_difference(d, worth, alpha=alpha, power=POWER) for d in (share, low, high))
    return {
        "value": value,
        "low": least,
        "high": most,
        "discordance": share,
        "all_pairs": smallest_difference(share, worth, alpha=alpha / len(pairs.first), power=POWER),
    }


def _reliability(runs: Runs, seed: int) -> Row | None:
    if runs.correct.shape[1] < FEWEST_RANKED:
        return None
    units = runs.kinds[0] if runs.kinds else None
    names = ("value", "low", "high")
    return {
        "kr20": _numbers(names, kr20(runs.correct, units)),
        "split_half": _numbers(names, split_half(runs.correct, units, seed=seed)),
    }


def _numbers(names: Sequence[str], values: Sequence[float]) -> Row | None:
    return dict(zip(names, map(float, values), strict=True)) if np.isfinite(values).all() else None


def _headroom(runs: Runs) -> Row:
    """Return the share that the best model fails; the interval holds for the largest of all accuracies (Bonferroni)."""
    accuracy = runs.correct.mean(axis=0)
    best = int(np.argmax(accuracy))
    right = runs.correct[:, best]
    ends = wilson(int(right.sum()), len(right), 1 - 0.05 / len(accuracy))
    effect = effect_on_mean(right, runs.kinds)
    low, high = (float(np.clip(widened(accuracy[best], end, effect), 0.0, 1.0)) for end in ends)
    return {"model": runs.models[best], "value": 1 - float(accuracy[best]), "low": 1 - high, "high": 1 - low}


def _share(hits: Bools, runs: Runs) -> Row:
    value, low, high = share_interval(hits, runs.kinds)
    return {"value": value, "low": low, "high": high, "count": int(hits.sum())}


def _measures(summary: Row) -> list[Measure]:
    n = summary["n"]
    measures = [
        ACCURACY.of(NAME, **interval(row, "accuracy"), n=n, model=row["model"]) for row in summary["models"]
    ]
    for kind, key in (
        (RESOLVES, "resolves"),
        (HEADROOM, "headroom"),
        (BY_ALL, "by_all"),
        (BY_NONE, "by_none"),
    ):
        measures.append(kind.of(NAME, **interval(summary[key]), n=n))
    tied = sum(row["tied_with_best"] for row in summary["models"])
    measures.append(TIED.of(NAME, float(tied), n=len(summary["models"])))
    for kind, key in ((KR20, "kr20"), (SPLIT, "split_half")):
        if summary["reliability"] and (value := summary["reliability"][key]):
            measures.append(kind.of(NAME, **interval(value), n=n))
    for kind, key in ((WRONG, "wrong"), (FAILED, "failed")):
        if summary["keys"][key] is not None:
            measures.append(kind.of(NAME, float(summary["keys"][key]), n=n))
    return measures


def _findings(summary: Row) -> list[Finding]:
    return [
        *_difference_findings(summary),
        *_saturation(summary),
        *_unreliable(summary),
        *_keys(summary),
    ]


def _difference_findings(summary: Row) -> list[Finding]:
    models, resolves, n = summary["models"], summary["resolves"], summary["n"]
    tied = [row["model"] for row in models if row["tied_with_best"]]
    size, least, most, of_all = (
        points(resolves[key]).lstrip("+") for key in ("value", "low", "high", "all_pairs")
    )
    text = (
        f"Of {plural(summary['pairs'], 'pair')} of {len(models)} models, {summary['different']:,} differ in accuracy "
        f"on {plural(n, 'item')} (McNemar, adjusted over all pairs). Not told apart from the best, "
        f"{models[0]['model']} with {percent(models[0]['accuracy'])}: "
        + (
            listed(tied[1:6]) + (f" and {len(tied) - 6} more" if len(tied) > 6 else "")
            if len(tied) > 1
            else "none"
        )
        + f". With a power of {percent(POWER, 0)}, these items resolve a difference of {size} points between two "
        f"models (95 % CI {least} to {most}), and of {of_all} between any two of all."
    )
    title = f"These items resolve differences of {size} points"
    numbers = interval(resolves) | {"n": n}
    return [Finding(NAME, "info", title, text, **numbers, unit="points", key="differences", role="flaw")]


def _saturation(summary: Row) -> list[Finding]:
    room, every = summary["headroom"], summary["by_all"]
    if not room["high"] < SATURATED:
        return []
    text = (
        f"The best model, {room['model']}, fails {percent(room['value'])} of {plural(summary['n'], 'item')} (95 % CI "
        f"{percent(room['low'])} to {percent(room['high'])}, for the best of all models), and every model solves "
        f"{percent(every['value'])} (95 % CI {percent(every['low'])} to {percent(every['high'])}): what is left may be "
        "wrong keys and luck."
    )
    numbers = interval(room) | {"n": summary["n"]}
    return [
        Finding(NAME, "medium", "The benchmark is saturated", text, **numbers, key="saturated", role="flaw")
    ]


def _unreliable(summary: Row) -> list[Finding]:
    reliability = (summary["reliability"] or {}).get("kr20")
    if not reliability or not reliability["high"] < RELIABLE:
        return []
    text = (
        f"KR-20 is {reliability['value']:z.2f} (95 % CI {reliability['low']:z.2f} to {reliability['high']:z.2f}) over "
        f"{len(summary['models'])} models: with other items of the same kind, their ranking would be another."
    )
    numbers = interval(reliability) | {"n": summary["n"]}
    title = "The items do not rank these models reliably"
    return [Finding(NAME, "low", title, text, **numbers, unit="score", key="unreliable", role="flaw")]


def _keys(summary: Row) -> list[Finding]:
    keys, n = summary["keys"], summary["n"]
    findings = []
    if keys["wrong"]:
        text = (
            f"The answers of {len(summary['models'])} models to {plural(keys['wrong'], 'item')} of {n:,} are likelier "
            f"if another option is the key. At most {percent(summary['rate'], 0)} of this list are expected to have "
            "right keys: look at them in tables/items_to_check.parquet. Models that share training data share errors, "
            "which can look like a wrong key."
        )
        title = f"{plural(keys['wrong'], 'key')} may be wrong"
        numbers = {"value": float(keys["wrong"]), "n": n, "unit": "count"}
        findings.append(Finding(NAME, "low", title, text, **numbers, key="wrong_keys", role="flaw"))
    if keys["failed"]:
        text = (
            f"On {plural(keys['failed'], 'item')} of {n:,}, models that are right are worse on the other items than "
            f"models that are wrong (exact rank test, q ≤ {summary['rate']:g}): the key may be wrong, or the item "
            "rewards an error. They are in tables/items_to_check.parquet."
        )
        title = f"Better models fail {plural(keys['failed'], 'item')}"
        numbers = {"value": float(keys["failed"]), "n": n, "unit": "count"}
        findings.append(Finding(NAME, "low", title, text, **numbers, key="failed_by_better", role="flaw"))
    return findings
