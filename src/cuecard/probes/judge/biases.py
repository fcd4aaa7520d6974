"""What verdicts depend on besides quality: position, length and formatting, the judge's own family, and luck."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import polars as pl

from cuecard.analysis import Row
from cuecard.features.style import formatting
from cuecard.stats import accuracy_log_p, clopper_pearson
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.preferences.conditional_logit import conditional_logit
from cuecard.stats.preferences.win_rates import cohen_kappa, lowess
from cuecard.stats.scores.cross_fit_intervals import effective_units, mean_interval

#: Fewer comparisons than this are not tested.
FEWEST = 20
#: A judge whose κ may be as high as this is not said to agree with people by chance alone.
SOME_AGREEMENT = 0.2
#: Responses whose numbers of words differ by less than this factor are matched in length.
MATCHED = 1.25
#: Verdicts of one judge about one comparison.
_SAME = ("item", "judge")


def position(table: pl.DataFrame) -> Row | None:
    """Return how often the verdict stays when the order is swapped, and which way flips go, with an exact test.

    Comparisons of one prompt are one observation as far as they agree.
    """
    ordered = table.filter(pl.col("first").is_in([0.0, 1.0]))
    by_order = ordered.group_by(*_SAME, "first", maintain_order=True).agg(
        pl.col("^(preferred|prompt)$").first()
    )
    both = by_order.filter(first=1.0).join(
        by_order.filter(first=0.0), on=_SAME, suffix="_b", nulls_equal=True, maintain_order="left"
    )
    if both.height < FEWEST:
        return None
    shown_a, shown_b = both["preferred"].to_numpy(), both["preferred_b"].to_numpy()
    n, same = len(both), int((shown_a == shown_b).sum())
    to_first = int(((shown_a == 1) & (shown_b == 0)).sum())
    to_second = int(((shown_a == 0) & (shown_b == 1)).sum())
    flips = to_first + to_second
    clusters = _clusters(both)
    flipped = (shown_a != shown_b) & (shown_a != 0.5) & (shown_b != 0.5)
    low, high, _ = _exact_share(shown_a == shown_b, clusters)
    first_low, first_high, p = (
        _exact_share((shown_a == 1)[flipped], clusters[flipped]) if flips else (0.0, 1.0, 1.0)
    )
    return {
        "n": n,
        "consistency": same / n,
        "low": low,
        "high": high,
        "to_first": to_first,
        "to_second": to_second,
        "first_share": to_first / flips if flips else None,
        "first_low": first_low,
        "first_high": first_high,
        "p_value": min(p, 1.0),
    }


def style_reliance(table: pl.DataFrame) -> Row | None:
    """Return the log odds ratio of length and formatting for the verdict, quality labels held equal where known."""
    rows = table.filter(
        pl.col("preferred").is_in([0.0, 1.0])
        & pl.col("text_a").is_not_null()
        & pl.col("text_b").is_not_null()
    )
    if rows.height < FEWEST:
        return None
    columns = {
        "length": np.log1p(_words(rows["text_a"])) - np.log1p(_words(rows["text_b"])),
        "formatting": np.log1p(formatting(rows["text_a"])) - np.log1p(formatting(rows["text_b"])),
    }
    labelled = rows["human"].null_count() == 0
    if labelled:
        columns["quality"] = 2 * rows["human"].to_numpy() - 1
    if rows["first"].null_count() == 0 and rows["first"].n_unique() > 1:
        columns["first"] = 2 * rows["first"].to_numpy() - 1
    names = [name for name, values in columns.items() if (values != 0).sum() >= FEWEST // 2]
    if not names:
        return None
    scales = [float(np.sqrt(np.mean(columns[name] ** 2))) for name in names]
    answers = np.zeros((2 * len(rows), len(names)))
    answers[::2] = np.stack([columns[n] / s for n, s in zip(names, scales, strict=True)], axis=1)
    starts = 2 * np.arange(len(rows))
    chosen = starts + (rows["preferred"].to_numpy() < 0.5)
    fit = conditional_logit(answers, starts, chosen, clusters=_clusters(rows))
    low, high = fit.interval()
    p = fit.p_values()
    return {
        "n": len(rows),
        "given_quality": labelled,
        "covariates": [
            dict(
                zip(
                    ("feature", "coefficient", "low", "high", "p_value"),
                    (name, *map(float, row)),
                    strict=True,
                )
            )
            for name, *row in zip(names, fit.coefficients, low, high, p, strict=True)
        ],
    }


def agreement(table: pl.DataFrame) -> Row | None:
    """Return accuracy against human verdicts, κ, and accuracy with the longer response winning half the time."""
    rows = table.filter(pl.col("human").is_not_null())
    if rows.height < FEWEST:
        return None
    clusters = _clusters(rows)
    judge, human = rows["preferred"].to_numpy(), rows["human"].to_numpy()
    # Which response is called a says nothing, so every verdict counts both ways round; where a is always the better
    # response, chance could not be told from the labels otherwise.
    kappa = cohen_kappa(
        np.append(judge, 1 - judge), np.append(human, 1 - human), clusters=np.append(clusters, clusters)
    )
    strict = human != 0.5
    scores = np.where(judge == 0.5, 0.5, (judge == human).astype(np.float64))
    result: dict[str, Any] = {
        "n": len(rows),
        "kappa": {"value": kappa.value, "low": kappa.low, "high": kappa.high},
        "accuracy": _mean(scores[strict], clusters[strict]),
    }
    if rows["text_a"].null_count() or rows["text_b"].null_count():
        return result
    longer = np.sign(_words(rows["text_a"]) - _words(rows["text_b"]))
    for name, side in (("longer", 1), ("shorter", -1)):
        inside = strict & (longer * np.sign(human - 0.5) == side)
        result[name] = _mean(scores[inside], clusters[inside]) if inside.sum() >= FEWEST // 2 else None
    if result["longer"] and result["shorter"]:
        ends = [((part["high"] - part["low"]) / 2) for part in (result["longer"], result["shorter"])]
        gap = result["longer"]["value"] - result["shorter"]["value"]
        reach = math.hypot(*ends)
        middle = (result["longer"]["value"] + result["shorter"]["value"]) / 2
        result["gap"] = {"value": gap, "low": gap - reach, "high": gap + reach}
        result["balanced"] = {"value": middle, "low": middle - reach / 2, "high": middle + reach / 2}
    return result


def self_preference(table: pl.DataFrame, judge: str) -> Row | None:
    """Return how often a judge prefers a response of its own family to one of another, of about the same length.

    Where people judged, too, the difference from how often they do is what counts.
    """
    family = model_family(judge)
    rows = table.filter(
        pl.all_horizontal(pl.col(c).is_not_null() for c in ("model_a", "model_b", "text_a", "text_b"))
    )
    if not rows.height or not family:
        return None
    own_a, own_b = (
        np.array([model_family(name) == family for name in rows[f"model_{side}"]], dtype=np.bool_)
        for side in "ab"
    )
    ratio = np.abs(np.log1p(_words(rows["text_a"])) - np.log1p(_words(rows["text_b"])))
    inside = (own_a != own_b) & (ratio <= math.log(MATCHED))
    if inside.sum() < FEWEST:
        return None
    part = rows.filter(pl.Series(inside))
    own = np.where(own_a[inside], part["preferred"].to_numpy(), 1 - part["preferred"].to_numpy())
    reference: Floats = np.full(len(own), 0.5)
    people = part["human"].null_count() == 0
    if people:
        reference = np.where(own_a[inside], part["human"].to_numpy(), 1 - part["human"].to_numpy())
    clusters = _clusters(part)
    excess = _mean(own - reference, clusters)
    return {
        "n": len(own),
        "family": family,
        "own": float(own.mean()),
        "reference": float(reference.mean()),
        "people": people,
        **excess,
        "p_value": _mean_p(own - reference, clusters),
    }


def stability(table: pl.DataFrame) -> Row | None:
    """Return how often two verdicts about the same comparison in the same order agree."""
    groups = (
        table.group_by(*_SAME, "first", maintain_order=True)
        .agg(pl.len().alias("m"), pl.col("preferred").value_counts().alias("counts"))
        .filter(pl.col("m") > 1)
    )
    if groups.height < FEWEST:
        return None
    agreeing = (
        groups["counts"]
        .list.eval(pl.element().struct.field("count") * (pl.element().struct.field("count") - 1))
        .list.sum()
        .to_numpy()
    )
    m = groups["m"].to_numpy().astype(np.float64)
    return {"n": groups.height, **_mean(agreeing / (m * (m - 1)), np.arange(groups.height))}


def calibrated_rewards(table: pl.DataFrame) -> pl.DataFrame | None:
    """Return the score of every response, and the score minus its smooth part by length (lowess of log words).

    `response` is what the user's file calls it, `side` what the table of verdicts does.
    """
    rows = table.filter(
        pl.all_horizontal(pl.col(c).is_not_null() for c in ("score_a", "score_b", "text_a", "text_b"))
    ).unique("item", keep="first", maintain_order=True)
    if rows.height < FEWEST:
        return None
    parts = [
        rows.select(
            "item",
            pl.col(f"name_{side}").alias("response"),
            pl.col(f"score_{side}").alias("score"),
            pl.Series("words", _words(rows[f"text_{side}"])),
            pl.lit(side).alias("side"),
            pl.int_range(pl.len()).alias("_row"),
        )
        for side in "ab"
    ]
    long = pl.concat(parts).sort("_row", "response").drop("_row")
    smooth = lowess(np.log1p(long["words"].to_numpy()), long["score"].to_numpy())
    return long.with_columns(calibrated=pl.col("score") - pl.Series(smooth) + float(np.mean(smooth)))


def calibrated_accuracy(table: pl.DataFrame, rewards: pl.DataFrame) -> dict[str, float] | None:
    """Return the agreement of scores with people before and after calibration by length."""
    wide = rewards.pivot("side", index="item", values=["score", "calibrated"])
    rows = wide.join(
        table.unique("item", keep="first", maintain_order=True).select("item", "human"), on="item"
    )
    rows = rows.filter(pl.col("human").is_in([0.0, 1.0]))
    if rows.height < FEWEST:
        return None
    human = rows["human"].to_numpy()
    result = {}
    for name in ("score", "calibrated"):
        margin = (rows[f"{name}_a"] - rows[f"{name}_b"]).to_numpy()
        result[name] = float(np.where(margin == 0, 0.5, (margin > 0) == (human > 0.5)).mean())
    return result


def model_family(name: str | None) -> str:
    """Return the family of a model by the first word of its name, without its maker.

    >>> model_family("openai/gpt-4o-mini"), model_family("GPT-4"), model_family("claude-3-opus")
    ('gpt', 'gpt', 'claude')
    """
    words = re.findall(r"[a-z]+", (name or "").rsplit("/", 1)[-1].lower())
    return words[0] if words else ""


def _words(texts: pl.Series) -> Floats:
    return texts.str.count_matches(r"\S+").to_numpy().astype(np.float64)


def _clusters(rows: pl.DataFrame) -> Ints:
    """Return a code for every prompt; for every comparison where there are none."""
    known = "prompt" in rows.columns and rows["prompt"].null_count() == 0
    names = rows["prompt" if known else "item"]
    return names.rank("dense").to_numpy().astype(np.int64)


def _exact_share(hits: Bools, clusters: Ints) -> tuple[float, float, float]:
    """Return a share's exact interval and the two-sided p-value of one half, of as many examples as clusters leave."""
    n = len(hits)
    worth = max(1, round(effective_units(hits.astype(np.float64), clusters)))
    count = round(int(hits.sum()) * worth / n)
    low, high = clopper_pearson(count, worth, 0.95)
    p = math.exp(float(accuracy_log_p(count, worth, 0.5, "two-sided")))
    return float(low), float(high), p


def _mean(values: Floats, clusters: Ints) -> dict[str, float]:
    value, low, high = mean_interval(values, units=clusters)
    return {"value": value, "low": low, "high": high}


def _mean_p(values: Floats, clusters: Ints) -> float:
    """Return the two-sided p-value of a mean of 0, over clusters."""
    from scipy.stats import t as t_distribution

    value, low, high = mean_interval(values, units=clusters)
    groups = len(np.unique(clusters))
    quantile = float(t_distribution.ppf(0.975, max(groups - 1, 1)))
    error = (high - low) / 2 / quantile
    return (
        float(2 * t_distribution.sf(abs(value) / error, max(groups - 1, 1)))
        if error > 0
        else float(value == 0)
    )
