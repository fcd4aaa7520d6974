"""The sentences about lexical weights."""

from __future__ import annotations

from typing import Any

from cuecard.analysis import Finding
from cuecard.text import suggested_tokeniser
from cuecard.wording import percent, plural

#: Label shares that are off by less on average, half a point, pass for balanced, and a change by less for none.
BALANCED = 0.005
_REASONS = {
    "conflict": "proven impossible to balance with any weights",
    "boundary": "balanced only if some weights are zero, so balance is not feasible",
    "max_weight": "impossible to balance with the limit --max-weight",
    "ridge": "balanced approximately, because of --ridge or --min-ess",
    "softened": "balanced approximately, because exact balance would leave a very small effective sample size",
    "not reached": "not balanced when the solver stopped",
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
            f"The mean distance of the label shares of {plural(summary['constrained'], 'feature')} from the target is "
            f"{gap(balanced['before'])} with equal weights and {gap(balanced['after'])} with these weights. The "
            f"effective sample size is {percent(summary['ess'])} of {plural(summary['examples'], 'example')}; the "
            f"largest weight is {summary['max_weight']:.1f} times the mean.",
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
                "with some label; weights cannot change that.",
                key="absent-labels",
            )
        )
    if summary["off_target"]:
        why = [f"{plural(n, 'feature')}: {_REASONS[reason]}" for reason, n in summary["off_target"].items()]
        advice = (
            " Balance fewer features with a higher --min-count."
            if "softened" in summary["off_target"]
            else ""
        )
        findings.append(
            Finding(
                "lexical_weights",
                "low" if advice else "info",
                "Some features are not exactly balanced",
                f"{'; '.join(why)}. The table of features that stay unbalanced shows the distance of each.{advice}",
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
                "The cue audit after reweighting",
                f"None of {plural(before['features'], 'feature')} is significantly associated with a label, neither "
                f"with equal weights nor with these weights."
                if not before["significant"] + after["significant"]
                else f"{before['significant']:,} of {plural(before['features'], 'feature')} are significantly "
                f"associated with a label with equal weights, and {after['significant']:,} with these weights. For "
                f"{before['strong']:,} and {after['strong']:,} of them, the label share differs from chance by 10 "
                f"points or more (95 % CI).{cues.get('counted', '')}",
                value=float(after["significant"]),
                unit="count",
                key="cues",
            )
        )
    return findings


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
            f"The mean distance of {plural(part['features'], 'random ' + name[:-1])} (not balanced) from the target is "
            f"{gap(part['before'])} with equal weights and {gap(part['after'])} with these weights; "
            f"{gap(part['chance_after'])} is expected from sampling. Longer features still predict the label. "
            f"Balance them with a higher --ngrams, or use --ridge.",
            value=part["after"],
            chance=part["chance_after"],
            unit="points",
            key=name,
        )
        for name, part in worse
    ]
