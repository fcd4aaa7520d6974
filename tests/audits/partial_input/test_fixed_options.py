"""Where all questions offer the same options, these are labels: one finding, one test, about their prior."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits import PartialInput
from cuecard.data import Instances, load
from cuecard.report.verdict import verdict

OPTIONS = ["True", "False", "Unknown"]


def questions(prior: list[float], seed: int, n: int = 400, options: list[str] = OPTIONS) -> Instances:
    rng = np.random.default_rng(seed)
    words = [" ".join(f"w{word}" for word in rng.integers(0, 4_000, 9)) for _ in range(n)]
    answers = rng.choice(len(options), n, p=prior)
    return load(
        pl.DataFrame(
            [
                {"question": q, "choices": options, "answer": int(a)}
                for q, a in zip(words, answers, strict=True)
            ]
        )
    )


def test_the_prior_of_the_answer_is_one_finding_that_names_the_option() -> None:
    card = cc.audit(questions([0.588, 0.25, 0.162], 0), only=["overview", "cues", "partial_input"])
    first, *others = [finding for finding in card.findings if finding.severity in ("high", "medium")]
    assert not others
    assert (first.section, first.title) == ("partial_input", "The most frequent option predicts the answer")
    assert "“True” is right in" in first.text
    assert "(True, False and Unknown)" in first.text
    lines = {line["name"]: line for line in card["partial_input"].summary["baselines"]}
    assert lines["choices_only"]["p_value"] < 1e-10
    assert lines["choices_only"]["units"] == 400
    assert not [f for f in card.findings if f.title.startswith(("Always choosing", "A model that sees only"))]


@pytest.mark.parametrize("ordered", [True, False])
def test_places_of_options_that_change_are_a_finding_of_their_own(ordered: bool) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for i in range(300):
        options = OPTIONS if ordered else [str(option) for option in rng.permutation(OPTIONS)]
        answer = 0 if rng.random() < 0.5 else int(rng.integers(3))
        rows.append({"question": f"q{i} w{i}", "choices": options, "answer": answer})
    data = load(pl.DataFrame(rows))
    assert data.fixed_order == ordered
    titles = {f.title for f in cc.audit(data, only=["overview", "cues", "partial_input"]).findings if f.value}
    assert ("A model that sees only the position of each choice beats chance" in titles) == (not ordered)
    assert ("The most frequent option predicts the answer" in titles) == ordered
    assert not {title for title in titles if title.startswith(("Cue", "A repeated"))}


def test_even_priors_are_no_finding() -> None:
    found = [
        PartialInput(learning_curve=False).run(questions([1 / 3] * 3, seed)).findings[0].severity != "info"
        for seed in range(20)
    ]
    assert sum(found) <= 4


@pytest.mark.parametrize("fixed", [0.85, 0.95])
def test_options_are_fixed_if_nearly_all_questions_offer_them(fixed: float) -> None:
    rows = [
        {
            "question": f"q{i} w",
            "choices": OPTIONS if i < 200 * fixed else [f"a{i}", f"b{i}", f"c{i}"],
            "answer": i % 3,
        }
        for i in range(200)
    ]
    data = load(pl.DataFrame(rows))
    assert data.fixed_options == (tuple(OPTIONS) if fixed > 0.9 else ())
    assert (
        load(pl.DataFrame([{"text": f"t{i}", "label": "ab"[i % 2]} for i in range(20)])).fixed_options == ()
    )


def test_the_headline_names_the_guess_that_the_finding_is_about() -> None:
    rows = [
        {
            "question": f"what is p{i} q{3 * i}",
            "choices": ["yes", "no", "maybe"],
            "answer": 0 if i % 3 else 1 + i % 2,
        }
        for i in range(240)
    ]
    card = cc.audit(pl.DataFrame(rows), only=["partial_input"])
    assert "choices-only accuracy 66.7" in verdict(card).headline
