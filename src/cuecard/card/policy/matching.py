"""Which rule is about which measure, and what in a policy does not fit a card."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from itertools import pairwise

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.policy.rules import Limit, Policy, Rule
from cuecard.errors import InputError
from cuecard.stats.limits.limits import judge
from cuecard.wording import only_applies_to


def check_policy(policy: Policy, card: Card, today: date) -> None:
    """Raise if the policy is for another task or an allowance has expired."""
    if policy.task is not None and policy.task != card.dataset.task:
        raise InputError(
            f"{policy.source}, line {policy.task_line}: the policy "
            f"{only_applies_to([policy.task], card.dataset.task)}."
        )
    for allowance in policy.allow:
        if allowance.expires < today:
            raise InputError(
                f"{policy.source}, line {allowance.line}: the allowance for {allowance.finding} expired on "
                f"{allowance.expires}: mend the finding, or decide again and set a later day."
            )


def matched(policy: Policy, card: Card, counts: Sequence[Measure]) -> list[tuple[Rule, list[Measure]]]:
    """Return every rule with the measures it judges; none where its section did not run.

    A rule that names a measure goes before rules with wildcards. A name that the card cannot have is an error.
    """
    measures = [*card.all_measures(), *counts]
    named = {rule.pattern for rule in policy.rules if rule.exact}
    pairs = []
    for rule in policy.rules:
        judged = [m for m in measures if rule.matches(m.name) and (rule.exact or m.name not in named)]
        if not judged and not any(rule.matches(m.name) for m in measures):
            _check_known(policy, rule, card, measures)
        pairs.append((rule, judged))
    _check_together(policy, pairs)
    return [(rule, judged) for rule, judged in pairs if judged or not _overruled(rule, measures)]


def _overruled(rule: Rule, measures: Sequence[Measure]) -> bool:
    """Return whether rules that name measures leave a rule with wildcards nothing to judge."""
    return any(rule.matches(m.name) for m in measures)


def _check_known(policy: Policy, rule: Rule, card: Card, measures: Sequence[Measure]) -> None:
    """Raise unless the rule is about a section that exists and did not run here."""
    section = rule.pattern.partition(".")[0]
    status = card.sections[section].status if section in card.sections else None
    if status != "done" and section in _sections(card):
        return
    names = [m.name for m in measures]
    near = get_close_matches(rule.pattern, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise InputError(
        f"{policy.source}, line {rule.line}: the card of {card.dataset.name} ({card.dataset.task}) has no measure "
        f"{rule.pattern}.{hint} `cuecard check CARD --init` lists its measures."
    )


def _sections(card: Card) -> set[str]:
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    return {*card.sections, *AUDITS.names(), *(kind.name for kind in (*PROBES, *REMEDIES))}


def check_limits(policy: Policy, rule: Rule, measure: Measure) -> None:
    """Raise if a limit is not in the unit of its measure: shares and points are fractions."""
    for limit in rule.limits:
        if measure.unit in ("share", "points") and abs(limit.bound) > 1:
            raise InputError(
                f"{policy.source}, line {rule.line}: {measure.name} is a fraction and cannot be {limit.bound:g}; "
                f"for {limit.bound:g} percent or points write {limit.operator} {limit.bound / 100:g}."
            )


def _check_together(policy: Policy, pairs: Sequence[tuple[Rule, list[Measure]]]) -> None:
    """Raise if no value of a measure could satisfy all its rules."""
    rules: dict[str, list[Rule]] = {}
    for rule, measures in pairs:
        for measure in measures:
            rules.setdefault(measure.name, []).append(rule)
    for rule, _ in pairs:
        if not _satisfiable(rule.limits):
            raise _contradiction(policy, rule, rule, rule.pattern)
    for name, several in rules.items():
        limits: tuple[Limit, ...] = ()
        for rule in several:
            limits += rule.limits
            if not _satisfiable(limits):
                raise _contradiction(policy, several[0], rule, name)


def _contradiction(policy: Policy, first: Rule, second: Rule, name: str) -> InputError:
    lines = f"line {second.line}" if first is second else f"lines {first.line} and {second.line}"
    return InputError(
        f"{policy.source}, {lines}: no value of {name} satisfies all its limits: change one of them."
    )


def _satisfiable(limits: Sequence[Limit]) -> bool:
    """Return whether some value satisfies all limits: one of the bounds, or a value between or beyond two of them."""
    bounds = sorted({limit.bound for limit in limits})
    between = [(a + b) / 2 for a, b in pairwise(bounds)]
    candidates = [*bounds, *between, bounds[0] - 1, bounds[-1] + 1]
    return any(all(judge(x, x, lim.operator, lim.bound) == "pass" for lim in limits) for x in candidates)
