from __future__ import annotations

import numpy as np
import pytest

import cuecard as cc
from cuecard.analysis import Finding, Result
from cuecard.run.finishing import judged_over_card
from small_sets import pair_instances


def finding(section: str, severity: str, q: float | None) -> Finding:
    return Finding(section, severity, "Something", "It is so.", 0.6, 0.55, 0.65, 0.5, q_value=q)  # type: ignore[arg-type]


def test_what_is_significant_in_its_section_only_is_graded_low_and_says_so():
    results = {
        "a": Result({}, findings=[finding("a", "high", 0.03)], smallest_q=0.03),
        **{name: Result({}, smallest_q=0.9) for name in "bcd"},
    }
    [judged] = judged_over_card(results)
    assert judged.card_q == pytest.approx(0.12)
    assert judged.severity == "low"
    assert judged.text == "It is so. Allowing for all sections of this card it is not significant (q = 0.12)."


def test_what_is_significant_over_the_card_keeps_its_grade():
    results = {
        "a": Result(
            {}, findings=[finding("a", "high", 0.004), finding("a", "medium", None)], smallest_q=0.004
        ),
        "b": Result({}, findings=[finding("b", "info", 0.9)], smallest_q=0.9),
        "no tests": Result({}, findings=[finding("no tests", "high", None)]),
    }
    judged = judged_over_card(results)
    assert [one.severity for one in judged] == ["high", "medium", "info", "high"]
    assert [one.card_q for one in judged] == [pytest.approx(0.008), None, 1.0, None]


def test_every_section_that_tests_declares_its_smallest_q():
    rng = np.random.default_rng(0)
    rows = []
    for i in range(300):
        label = str(rng.choice(["no", "yes"]))
        cue = "never" if label == "no" and rng.random() < 0.7 else "so"
        rows.append(("train", f"p{i % 100}", f"h{rng.integers(40)} {cue} g{rng.integers(40)}", label))
    quick = {
        "clusters": {"map": "none", "sweep": False, "permutations": 99, "restarts": 1, "k": 5},
        "pair_graph": {"advanced": False, "unlexicalized": False},
        "partial_input": {"learning_curve": False},
    }
    card = cc.audit(pair_instances(rows), settings=quick)
    tested = {one.section for one in card.findings if one.card_q is not None}
    assert tested == {"cues", "partial_input", "pair_graph", "clusters"}
    for one in card.findings:
        if one.card_q is not None:
            assert one.q_value is not None
            assert one.card_q >= one.q_value
            assert one.card_q <= 0.05 or one.severity in ("low", "info")
