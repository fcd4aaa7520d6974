"""For tests of your own: assert that a dataset meets a policy.

>>> from cuecard.testing import assert_policy
>>> assert_policy("train.parquet", "cuecard.toml")  # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuecard.card import Card
    from cuecard.card.judging import Check
    from cuecard.card.policy import Policy
    from cuecard.data import Instances


def assert_policy(
    data: Card | Instances | str | Path,
    policy: Policy | str | Path,
    *,
    baseline: Card | str | Path | None = None,
    strict: bool = False,
    **options: Any,
) -> Check:
    """Raise an AssertionError that names every violated rule, unless a dataset or its card meets a policy.

    Args:
        data: a card or its folder, what `cuecard.load` returned, or a path to the data.
        policy: a policy, or the TOML file of one.
        baseline: the card of an earlier version: only what is new or significantly worse fails.
        strict: also raise where a rule is undecided.
        options: parameters of the audits.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    from cuecard.report.checks import headline, sentence
    from cuecard.run import check

    result = check(data, policy, baseline=baseline, **options)
    result = result.strictly() if strict else result
    if not result.passes():
        wrong = [ruling for ruling in result.rulings if ruling.fails]
        raise AssertionError(
            "\n".join([headline(result), *(f"- {r.measure.name}: {sentence(r)}" for r in wrong)])
        )
    return result


__all__ = ["assert_policy"]
