"""The sentences about lexical weights."""

from __future__ import annotations

from typing import Any

from cuecard.analysis import Finding
from cuecard.wording import percent, plural

#: Label shares that are off by less on average, half a point, pass for balanced, and a change by less for none.
BALANCED = 0.005
_REASONS = {
    "conflict": "cannot be balanced by any weights, alone or together, which is proved",
    "boundary": "reach balance only as the weights of some examples go to zero, so that balance is not feasible",
    "max_weight": "cannot be balanced with weights as small as --max-weight asks",
    "ridge": "kept softer, as --ridge or --min-ess asks",
    "softened": "kept soft, because no weights balance them all and leave more than a fraction of the sample",
    "not reached": "not there yet when the solver stopped",
}


def lexical_findings(summary: dict[str, Any]) -> list[Finding]:
    """Return what the weights do and what they cost, as plain sentences."""
    errors = summary["err"]
    balanced = errors["constrained"]
    findings = [
        Finding(
            "lexical_weights",
            "info",
            f"Weights {'balance' if balanced['after'] < BALANCED else 'partly balance'} "
            f"{plural(summary['constrained'], 'feature')}",
            f"The label shares of instances with one of {plural(summary['constrained'], 'feature')} are on average "
            f"{gap(balanced['before'])} off target with equal weights and {gap(balanced['after'])} with these "
            f"weights. They keep {percent(summary['ess'])} of {plural(summary['examples'], 'example')} as effective "
            f"sample size; the heaviest example weighs {summary['max_weight']:.1f} times the mean.",
            value=summary["ess"],
            n=summary["examples"],
            key="balance",
        )
    ]
    left = summary["features"] - summary["constrained"]
    if left:
        findings.append(
            Finding(
                "lexical_weights",
                "info",
                "Some features cannot be balanced by weights",
                f"{plural(left, 'feature')} of {summary['features']:,} never {'occurs' if left == 1 else 'occur'} "
                "with some label; no weights can change that.",
                key="absent-labels",
            )
        )
    if summary["off_target"]:
        why = [f"{plural(n, 'feature')} {_REASONS[reason]}" for reason, n in summary["off_target"].items()]
        advice = " Balance fewer, with a higher --min-count." if "softened" in summary["off_target"] else ""
        findings.append(
            Finding(
                "lexical_weights",
                "low" if advice else "info",
                "Some features stay off target",
                f"{'; '.join(why)}. The table of features that stay unbalanced says how far off each is.{advice}",
                key="off-target",
            )
        )
    findings += _held_out(errors)
    cues = summary["cues"]
    if cues is not None:
        before, after = cues["before"], cues["after"]
        findings.append(
            Finding(
                "lexical_weights",
                "info",
                "The cue audit under the weights",
                f"None of {plural(before['features'], 'feature')} is associated with a label beyond chance, with equal "
                "weights or with these."
                if not before["significant"] + after["significant"]
                else f"{before['significant']:,} of {plural(before['features'], 'feature')} are associated with a "
                f"label beyond chance with equal weights, {after['significant']:,} with these weights; "
                f"{before['strong']:,} and {after['strong']:,} of them raise a label's share by 10 points or more.",
                value=float(after["significant"]),
                unit="count",
                key="cues",
            )
        )
    return findings


def gap(share: float | None) -> str:
    """Return a difference of shares in percentage points."""
    if share is None:
        return "an unknown number of points"
    value = 100 * share
    return f"{value:.1f} points" if value >= 0.05 else "less than 0.05 points"


def _held_out(errors: dict[str, dict[str, Any]]) -> list[Finding]:
    """Return a sentence for each kind of n-gram that is farther off than before and than sampling explains."""
    worse = [
        (name.removeprefix("random_"), part)
        for name, part in errors.items()
        if name.startswith("random_")
        and part["chance_after"] is not None
        and part["after"] > max(part["before"], part["chance_after"]) + BALANCED
    ]
    return [
        Finding(
            "lexical_weights",
            "low",
            f"Balance of {name} gets worse",
            f"{plural(part['features'], 'random ' + name[:-1])} that the weights were not made for are "
            f"{gap(part['before'])} off target with equal weights and {gap(part['after'])} with these, where "
            f"sampling alone would leave {gap(part['chance_after'])}: longer features still carry the label. "
            "Balance them too with a higher --ngrams, or soften with --ridge.",
            value=part["after"],
            chance=part["chance_after"],
            unit="points",
            key=name,
        )
        for name, part in worse
    ]
