"""What lexical weights balance and what they cost: numbers, tables, sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from cuecard.analysis import SEVERITIES, Finding, Measure, MeasureKind, Row, Severity
from cuecard.features.family import spoken_cue
from cuecard.remedies.balance_problem import Balanced, BalanceProblem, chance_err_of_ngrams, random_ngrams
from cuecard.remedies.reaudits import Reaudit
from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing import (
    RIDGES,
    BalancedWeights,
    HeldOut,
    UnbalancedFeature,
    held_out_balance,
)
from cuecard.stats.weighted import effective_sample_share
from cuecard.text import suggested_tokeniser
from cuecard.wording import listed, percent, plural

NAME = "lexical_weights"
SIZE = MeasureKind("effective_sample_size", "effective sample size", "share", "lower")
LARGEST = MeasureKind("largest_weight", "largest weight (mean 1)", "score", "higher")
CONSTRAINED = MeasureKind("constrained", "features balanced", "count")
ERROR = MeasureKind(
    "error.{features}.{when}", "distance of {features} from the target {when}", "points", "higher"
)
SIGNIFICANT = MeasureKind("significant.{when}", "significant features {when}", "count", "higher")
STRONG = MeasureKind("strong.{when}", "strong cues {when}", "count", "higher")
HELD_OUT = MeasureKind("held_out_error", "distance from the target on held-out examples", "points", "higher")
KINDS = (SIZE, LARGEST, CONSTRAINED, ERROR, SIGNIFICANT, STRONG, HELD_OUT)
WHEN = ("before", "after")


def lexical_measures(summary: Row) -> list[Measure]:
    """Return what the weights cost, and what they leave of the features and of the cues."""
    n = summary["examples"]
    measures = [
        SIZE.of(NAME, summary["ess"], n=n),
        LARGEST.of(NAME, summary["max_weight"], n=n),
        CONSTRAINED.of(NAME, summary["constrained"]),
    ]
    measures += [
        ERROR.of(NAME, part[when], chance=part[f"chance_{when}"], features=features, when=when)
        for features, part in summary["err"].items()
        for when in WHEN
    ]
    if held_out := summary.get("held_out"):
        measures.append(HELD_OUT.of(NAME, held_out["err"], chance=held_out["floor"], n=n))
    if cues := summary["cues"]:
        for when in WHEN:
            measures.append(SIGNIFICANT.of(NAME, cues[when]["significant"], when=when))
            measures.append(STRONG.of(NAME, cues[when]["strong"], when=when))
    return measures


#: What to give as ridge to have it chosen by cross-validation.
CROSS_VALIDATED = "cv"
#: What to give as ridge to have every constraint met.
EXACT = "exact"
#: A softer balance gets a sentence if its held-out Err is lower by this much, a fifth of a point.
NOTABLE = 0.002


def held_out(
    problem: BalanceProblem,
    *,
    target: Literal["uniform", "overall"],
    ridge: float | None,
    max_weight: float | None,
    seed: int,
) -> HeldOut:
    """Return Err on held-out halves of the examples for several ridges, that of the weights among them."""
    ridges = RIDGES if ridge is None else sorted({*RIDGES, ridge})
    return held_out_balance(
        problem.matrix_in_memory,
        problem.labels,
        target="uniform" if problem.groups is not None else target,
        ridges=ridges,
        groups=problem.groups,
        max_weight=max_weight,
        seed=seed,
    )


def held_out_table(held_out: HeldOut) -> pl.DataFrame:
    """Return held-out Err and effective sample size by ridge."""
    return pl.DataFrame({"ridge": held_out.ridges, "err": held_out.err, "ess": held_out.ess})


def held_out_summary(held_out: HeldOut, ridge: float) -> Row:
    """Return what weights of this ridge do for held-out examples, beside the best ridge and what sampling leaves."""
    return {
        "err": held_out.at(ridge),
        "unweighted": held_out.unweighted,
        "floor": held_out.floor,
        "best_ridge": held_out.best,
        "best_err": float(held_out.err.min()),
        "best_ess": float(held_out.ess[int(np.argmin(held_out.err))]),
    }


def held_out_finding(summary: Row, *, chosen: bool) -> Finding:
    """Return how far label shares are off on examples that the weights were not made from."""
    text = (
        "Weights fitted on one half of the examples and applied to the other half change the mean distance of its "
        f"label shares from the target from {_points(summary['unweighted'])} to {_points(summary['err'])}; "
        f"{_points(summary['floor'])} is expected from sampling."
    )
    if chosen:
        text += f" The ridge {summary['best_ridge']:g} is chosen by cross-validation on this distance."
    elif summary["best_err"] >= summary["unweighted"]:
        text += (
            " No ridge balances other examples better than equal weights do, so these weights are about the "
            "examples at hand; balance fewer features with a higher --min-count."
        )
    elif summary["err"] - summary["best_err"] >= NOTABLE:
        text += (
            f" A ridge of {summary['best_ridge']:g} reaches {_points(summary['best_err'])} with an effective sample "
            f"size of {percent(summary['best_ess'])}: exact balance overfits the noise in its own examples (--ridge cv "
            "prevents this)."
        )
    title, chance = "Balance on held-out examples", summary["floor"]
    return Finding(NAME, "info", title, text, summary["err"], chance=chance, unit="points", key="held-out")


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


#: A share that is off by more than this is not balanced.
OFF_TARGET = 1e-4
NAMED_OPPONENTS = 3


def balance_table(problem: BalanceProblem, weights: Floats, target: Floats) -> pl.DataFrame:
    """Return one row per feature of a problem: its label shares with equal weights (before) and with these (after).

    `off_before` and `off_after` are the paper's label balance: the mean over labels of |share − target|.
    """
    before = problem.shares(np.ones(len(weights)))
    after = problem.shares(weights)
    columns = {
        "constrained": problem.with_every_label(),
        "off_before": np.abs(before - target).mean(axis=1),
        "off_after": np.abs(after - target).mean(axis=1),
    }
    for part, shares in (("before", before), ("after", after)):
        columns |= {f"{part}_{label}": shares[:, i] for i, label in enumerate(problem.label_names)}
    table = problem.features.with_columns(pl.Series(name, values) for name, values in columns.items())
    return table.sort("off_before", "feature", descending=[True, False], nulls_last=True, maintain_order=True)


def unbalanced_table(balanced: Balanced) -> pl.DataFrame:
    """Return one row per feature that stays off target: how far, why, and the proof in words where there is one."""
    features, names = balanced.problem.features, balanced.problem.label_names
    rows = []
    for entry in _unbalanced(balanced):
        row = features.row(entry.feature, named=True)
        rows.append(
            (
                row["family"],
                row["feature"],
                row["count"],
                entry.reason,
                entry.residual,
                _proof(entry, features, names),
            )
        )
    schema = {
        "family": pl.String,
        "feature": pl.String,
        "count": pl.Int64,
        "reason": pl.String,
        "largest_off": pl.Float64,
        "proof": pl.String,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.sort("largest_off", "feature", descending=[True, False], maintain_order=True)


def _unbalanced(balanced: Balanced) -> tuple[UnbalancedFeature, ...]:
    if isinstance(balanced.solution, BalancedWeights):
        return balanced.solution.unbalanced
    off = np.abs(balanced.problem.shares(balanced.weights) - balanced.target).max(axis=1)
    everywhere = balanced.problem.with_every_label()
    return tuple(
        UnbalancedFeature(
            int(j), ("not reached" if everywhere[j] else "absent label"), float(off[j]), certificate=None
        )
        for j in np.flatnonzero((off > OFF_TARGET) | ~everywhere)
    )


def _proof(entry: UnbalancedFeature, features: pl.DataFrame, labels: tuple[str, ...]) -> str | None:
    certificate = entry.certificate
    if certificate is None:
        return None
    if entry.reason == "absent label":
        never = int(np.argmax(np.abs(certificate.multipliers[0])))
        return f"it never occurs with {labels[never]}"
    # The column after the last feature is the constraint on the labels themselves.
    others = certificate.features[
        (certificate.features != entry.feature) & (certificate.features < features.height)
    ]
    named = [spoken_cue(*features.select("family", "feature").row(int(j))) for j in others[:NAMED_OPPONENTS]]
    limit = f" with no weight above {certificate.max_weight:g}" if certificate.max_weight is not None else ""
    if not named:
        return f"no weights balance it{limit}"
    more = f", {len(others) - len(named)} more" if len(others) > len(named) else ""
    return f"no weights balance it together with {plural(len(others), 'other feature')}{limit}: {listed(named)}{more}"


#: Label shares that are off by less on average, half a point, pass for balanced, and a change by less for none.
BALANCED = 0.005
#: Weights that leave more of the cues than this have not done what they are for.
LEFT = 0.5
#: What distances are measured from, in words.
_FROM = {"target": "the target", "overall": "the label shares of the whole training set"}
_REASONS = {
    "conflict": "proven impossible to balance with any weights",
    "boundary": "balanced only if some weights are zero, so balance is not feasible",
    "max_weight": "impossible to balance with the limit --max-weight",
    "ridge": "balanced approximately, as the ridge or --min-ess allows",
    "softened": "balanced approximately, because exact balance would leave a very small effective sample size",
    "not reached": "not balanced when the solver stopped",
}


def lexical_findings(summary: Row) -> list[Finding]:
    """Return what the weights do and what they cost, as plain sentences."""
    findings = [_balance_finding(summary)]
    if left := summary["features"] - summary["constrained"]:
        text = (
            f"{plural(left, 'feature')} of {summary['features']:,} never {'occurs' if left == 1 else 'occur'} with "
            "some label; weights cannot change that."
        )
        title = "Some features cannot be balanced by weights"
        findings.append(Finding(NAME, "info", title, text, key="absent-labels"))
    if summary["off_target"]:
        why = [f"{plural(n, 'feature')}: {_REASONS[reason]}" for reason, n in summary["off_target"].items()]
        softened = "softened" in summary["off_target"]
        advice = " Balance fewer features with a higher --min-count." if softened else ""
        text = f"{'; '.join(why)}. The table of features that stay unbalanced shows the distance of each.{advice}"
        title = "Some features are not exactly balanced"
        findings.append(Finding(NAME, "low" if softened else "info", title, text, key="off-target"))
    of_sample = _held_out(summary["err"], summary["reference"])
    if summary["cues"] is not None:
        of_sample.append(_cues_finding(summary["cues"]))
    if "sampled" in summary:
        said = f" This is measured on a random sample of {plural(summary['sampled'], 'training example')}."
        of_sample = [replace(finding, text=finding.text + said) for finding in of_sample]
    # What is left unbalanced leads.
    return sorted([*findings, *of_sample], key=lambda finding: SEVERITIES.index(finding.severity))


def _balance_finding(summary: Row) -> Finding:
    balanced, features = summary["err"]["constrained"], plural(summary["constrained"], "feature")
    text = (
        f"The mean distance of the label shares of {features} from {_FROM[summary['reference']]} is "
        f"{gap(balanced['before'])} with equal weights and {gap(balanced['after'])} with these weights. The effective "
        f"sample size is {percent(summary['ess'])} of {plural(summary['examples'], 'example')}; the largest weight is "
        f"{summary['max_weight']:.1f} times the mean."
    )
    title = f"Weights {'balance' if balanced['after'] < BALANCED else 'partly balance'} {features}"
    return Finding(NAME, "info", title, text, summary["ess"], n=summary["examples"], key="balance")


def _cues_finding(cues: Row) -> Finding:
    before, after = cues["before"], cues["after"]
    significant = float(after["significant"])
    if not before["significant"] + after["significant"]:
        text = (
            f"None of {plural(before['features'], 'feature')} is significantly associated with a label, neither with "
            "equal weights nor with these weights."
        )
        title = "The cue audit after reweighting"
        return Finding(NAME, "info", title, text, significant, unit="count", key="cues")
    text = (
        f"{before['significant']:,} of {plural(before['features'], 'feature')} are significantly associated with a "
        f"label with equal weights, and {after['significant']:,} with these weights. For {before['strong']:,} and "
        f"{after['strong']:,} of them, the label share differs from chance by 10 points or more (95 % CI)."
    )
    severity: Severity = "info"
    title = "The cue audit after reweighting"
    if after["significant"] > LEFT * before["significant"]:
        severity = "medium" if after["significant"] >= before["significant"] else "low"
        title = f"{plural(after['significant'], 'cue')} {'is' if after['significant'] == 1 else 'are'} left"
        text += " The table of cues before and after names them; --features significant balances all cues of the audit."
    text += cues.get("counted", "")
    return Finding(NAME, severity, title, text, significant, unit="count", key="cues")


def otherwise_counted(scope: str, tokens: str, language: str) -> str:
    """Return the sentence that says why an audit counts other features, with a space before it; or nothing."""
    texts = {"both": "in premise and hypothesis together", "premise": "in the premise"}.get(scope)
    suited = suggested_tokeniser(language)
    cut = f"in tokens of the kind {tokens!r}" if tokens != suited else None
    if not texts and not cut:
        return ""
    same = " ".join([*([f"--scope {scope}"] if texts else []), *([f"--tokens {tokens}"] if cut else [])])
    return (
        f" These features are counted {' and '.join(part for part in (texts, cut) if part)}; an audit counts the same "
        f"with {same}."
    )


def gap(share: float | None) -> str:
    """Return a difference of shares in percentage points."""
    if share is None:
        return "an unknown number of points"
    value = 100 * share
    return f"{value:.1f} points" if value >= 0.05 else "less than 0.05 points"


def _held_out(errors: Mapping[str, Row], reference: str) -> list[Finding]:
    """Return a sentence for each kind of n-gram that is farther off than before and than sampling explains."""
    worse = [
        (name.removeprefix("random_"), part)
        for name, part in errors.items()
        if name.startswith("random_")
        and part["chance_after"] is not None
        and part["after"] > max(part["before"], part["chance_after"]) + BALANCED
    ]
    findings = []
    for name, part in worse:
        text = (
            f"The mean distance of {plural(part['features'], 'random ' + name[:-1])} (not balanced) from "
            f"{_FROM[reference]} is {gap(part['before'])} with equal weights and {gap(part['after'])} with these "
            f"weights; {gap(part['chance_after'])} is expected from sampling. Longer features still predict the label. "
            f"Balance them with a higher --ngrams."
        )
        title, chance = f"Balance of {name} gets worse", part["chance_after"]
        distance = Finding(NAME, "low", title, text, part["after"], chance=chance, unit="points", key=name)
        findings.append(distance)
    return findings


QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def lexical_summary(
    balanced: Balanced, strongest: BalanceProblem, again: Reaudit | None, reference: Floats, seed: int
) -> dict[str, Any]:
    """Return the numbers about weights; `strongest` words and random n-grams are of the examples that are encoded.

    Distances are those from the label shares in `reference`.
    """
    solution, problem, weights = balanced.solution, balanced.problem, balanced.weights
    encoded, of_encoded = balanced.encoded, balanced.weights_of_encoded
    constrained = problem.with_every_label()
    names = problem.features["feature"]
    judged = {
        "constrained": (problem.only(constrained), weights),
        "strongest_words": (strongest, of_encoded),
        "random_bigrams": (random_ngrams(encoded, 2, names, seed), of_encoded),
        "random_trigrams": (random_ngrams(encoded, 3, names, seed), of_encoded),
    }
    by_family = problem.features.filter(pl.Series(constrained))["family"].value_counts()
    summary: dict[str, Any] = {
        "features": problem.features.height,
        "constrained": int(constrained.sum()),
        "families": dict(by_family.sort("family").iter_rows()),
        "skipped": balanced.skipped,
        "examples": len(weights),
        "ess": effective_sample_share(weights),
        "max_weight": float(weights.max()),
        "quantiles": dict(zip(map(str, QUANTILES), np.quantile(weights, QUANTILES).tolist(), strict=True)),
        "histogram": _histogram(weights),
        "err": {name: _judged(name, part, own, reference, seed) for name, (part, own) in judged.items()},
        "target": dict(zip(problem.label_names, balanced.target.tolist(), strict=True)),
        "iterations": solution.iterations,
        "converged": solution.converged,
        "tokens": encoded.tokeniser,
        "language": encoded.language,
        "scope": encoded.scope,
        "cues": None
        if again is None
        else dict(again.summary)
        | {"counted": otherwise_counted(encoded.scope, encoded.tokeniser, encoded.language)},
    }
    if isinstance(solution, BalancedWeights):
        summary |= {
            "ridge": solution.ridge,
            "largest_residual": solution.largest_residual,
            "duality_gap": solution.duality_gap,
            "divergence": solution.divergence,
        }
    if problem.groups is None:
        shares = np.bincount(problem.labels, weights=weights) / weights.sum()
        summary["label_shares"] = dict(zip(problem.label_names, shares.tolist(), strict=True))
    if balanced.sample is not None:
        summary["sampled"] = len(balanced.sample)
    return summary


def _judged(name: str, part: BalanceProblem, weights: Floats, target: Floats, seed: int) -> Row:
    """Return the distance of some features from the target, and what sampling explains of it."""
    judged: dict[str, object] = {"features": part.features.height}
    by_weights = {"before": np.ones(len(weights)), "after": weights}
    judged |= {when: part.err(own, target) for when, own in by_weights.items()}
    for when, own in by_weights.items():
        judged[f"chance_{when}"] = (
            chance_err_of_ngrams(part, own, target, seed)
            if name.startswith("random_")
            else part.chance_err(own, target)
        )
    return judged


def _histogram(weights: Floats) -> list[dict[str, float]]:
    """Return bins of equal width in log weight, from the lightest to the heaviest."""
    low = max(float(weights.min()), 1e-3)
    edges = np.geomspace(low, max(float(weights.max()), low * 1.001), 41)
    counts, _ = np.histogram(np.clip(weights, edges[0], edges[-1]), bins=edges)
    return [
        {"from": float(a), "to": float(b), "examples": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
