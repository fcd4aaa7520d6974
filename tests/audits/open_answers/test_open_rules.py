"""Blind rules of open answers: what each predicts, whom it learns from, and what stands on the card."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.open_sets import problems

import cuecard as cc
from cuecard.audits import AUDITS
from cuecard.audits.open_answers.facts import copied_from_question, poisson_binomial_log_p
from cuecard.audits.open_answers.predictors import Judge, Plan, judged
from cuecard.audits.open_answers.questions import Questions, template_codes, templates


def asked(
    questions: list[str], answers: list[str], test: tuple[list[str], list[str]] | None = None
) -> cc.Instances:
    held = None if test is None else pl.DataFrame({"question": test[0], "answer": test[1]})
    return cc.load(pl.DataFrame({"question": questions, "answer": answers}), test=held, task="open")


def words(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 9)) + "?" for _ in range(n)]


def test_the_prior_of_a_test_split_is_the_commonest_training_answer():
    rng = np.random.default_rng(0)
    train = ["7"] * 30 + [str(i + 100) for i in range(70)]
    test = ["7"] * 12 + ["100"] * 48
    data = asked(words(rng, 100), train, (words(rng, 60), test))
    card = cc.audit(data, only="open_answers")
    prior = card.measure("open_answers.prior.accuracy")
    assert (prior.value, prior.n) == (0.2, 60)
    assert prior.low < 0.2 < prior.high
    assert card.measure("open_answers.answers.shared").value == 1.0


def test_folds_keep_copies_templates_and_contexts_together():
    rng = np.random.default_rng(1)
    base = words(rng, 40)
    table = pl.DataFrame(
        {
            "context": [f"about {i} {words(rng, 1)[0]}" for i in range(40) for _ in range(2)],
            "question": [one for text in base for one in (text, f"{text} x")],
            "answer": [str(i) for i in range(80)],
        }
    )
    plan = Plan.of(Questions.of(cc.load(table, task="open")), 0)
    fold = np.empty(80, dtype=int)
    for number, (learned, scored) in enumerate(plan.parts):
        assert not set(learned) & set(scored)
        fold[scored] = number
    assert len(plan.parts) == 5
    assert (fold[::2] == fold[1::2]).all()


def test_a_constant_context_does_not_tie_all_questions_together():
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {"context": ["Answer in one word."] * 60, "question": words(rng, 60), "answer": words(rng, 60)}
    )
    plan = Plan.of(Questions.of(cc.load(table, task="open")), 0)
    assert plan.cross_fitted
    card = cc.audit(cc.load(table, task="open"), only="open_answers")
    assert "open_answers/context-constant" in [finding.id for finding in card.findings]


def test_rules_predict_what_they_say():
    rng = np.random.default_rng(3)
    train_q = [f"Who {one}" for one in words(rng, 40)] + [f"When {one}" for one in words(rng, 40)]
    train_a = ["ann"] * 30 + [f"p{i}" for i in range(10)] + ["1999"] * 25 + [f"y{i}" for i in range(15)]
    test_q = [train_q[0], "When was it?", "Who was it?"]
    data = Questions.of(asked(train_q, train_a, (test_q, ["ann", "1999", "bob"])))
    plan = Plan.of(data, 0)
    kinds = data.types.rank("dense").cast(pl.Int64).to_numpy() - 1

    def said(codes):
        return data.forms.gather(codes[plan.scored]).to_list()

    assert said(plan.prior()) == ["ann"] * 3
    assert said(plan.nearest(0))[0] == train_a[0]
    assert data.types.gather(plan.scored).to_list() == ["who", "when", "who"]
    assert said(plan.by_kind(kinds.astype(np.int64))) == ["ann", "1999", "ann"]


def test_templates_mask_numbers_names_and_persons_only():
    first, second, third, other = templates(
        pl.Series(
            [
                "Natalia sold 48 clips to Ken. How many did she sell?",
                "Robert sold twelve clips to Mary Ann. How many did he sell?",
                "Robert sold 3.5 clips to Ken. How many did he sell?",
                "Robert lost 48 clips to Ken. How many did he sell?",
            ]
        )
    )
    assert first == second == third != other


def test_questions_without_masked_words_have_a_template_each():
    data = Questions.of(asked(["What is the capital?"] * 3 + ["Who is 3 and 4?"], ["a", "b", "c", "d"]))
    assert len(set(template_codes(data)[0].tolist())) == 4


def test_a_template_is_predicted_by_its_other_wordings():
    rng = np.random.default_rng(4)
    questions = [f"Robert has {i} apples and buys {i + 3} more. How many?" for i in range(30)] + words(
        rng, 40
    )
    data = Questions.of(asked(questions, ["9"] * 30 + [f"w{i}" for i in range(40)]))
    plan = Plan.of(data, 0)
    codes, partners = plan.same_template(template_codes(data)[0])
    assert partners.tolist() == [29] * 30 + [0] * 40
    assert data.correct(codes)[:30].all()
    same = asked([questions[0]] * 30 + words(rng, 40), ["9"] * 30 + [f"w{i}" for i in range(40)])
    assert not Plan.of(Questions.of(same), 0).same_template(template_codes(Questions.of(same))[0])[1].any()


def test_copied_answers_are_counted_against_those_of_other_questions():
    questions = ["Is it red or blue?", "Is it 5 or 6?", "Who came?", "Is the blue one 5?"]
    data = Questions.of(asked(questions, ["blue", "5", "ann", "red"]))
    copied, hits = copied_from_question(data, np.arange(4))
    assert hits.tolist() == [True, True, False, False]
    # Of the three other answers, the first question has one (red), the second none, the last two (blue and 5).
    assert copied.chance == pytest.approx((1 / 3 + 0 + 0 + 2 / 3) / 4)


def test_the_exact_test_is_the_convolution_of_the_chances():
    rng = np.random.default_rng(5)
    chances = np.round(rng.random(12) * 0.6, 2)
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1 - chance, chance])
    hits = np.arange(12) < 6
    assert np.exp(poisson_binomial_log_p(hits, chances)) == pytest.approx(distribution[6:].sum(), rel=1e-6)


def test_a_rule_that_is_the_prior_is_never_above_it():
    rng = np.random.default_rng(6)
    data = Questions.of(asked(words(rng, 100), [str(one) for one in rng.integers(0, 4, 100)]))
    plan = Plan.of(data, 0)
    judge = Judge(plan, plan.prior())
    [line] = judged([judge.line("x", "question", "says", plan.prior())], 0.05)
    assert (line.difference, line.p_value, line.clear) == (0.0, 1.0, False)
    assert line.accuracy == line.chance


def test_cards_have_the_battery_of_their_kind_of_data():
    rng = np.random.default_rng(7)
    made = problems(rng, 120)
    of_words = cc.audit(asked(made["question"], made["answer"]))
    assert list(of_words.sections) == ["overview", "open_answers", "answer_place"]
    assert of_words["answer_place"].status == "skipped"
    labelled = cc.audit(words(rng, 60), ["a", "b"] * 30, skip=["clusters", "pair_graph"])
    assert not {"open_answers", "answer_place"} & {*labelled.sections}
    assert {"open_answers", "answer_place"} < {*AUDITS.names()}
    with pytest.raises(cc.CueCardError, match="only applies to open answers"):
        cc.audit(words(rng, 60), ["a", "b"] * 30, only=["open_answers"])


def test_too_few_questions_are_a_reason():
    rng = np.random.default_rng(8)
    card = cc.audit(asked(words(rng, 20), words(rng, 20)))
    assert card["open_answers"].reason == "needs at least 50 questions, found 20"


def test_examples_say_which_rules_answer_them():
    rng = np.random.default_rng(9)
    data = asked([f"Who {one}" for one in words(rng, 80)], ["42"] * 40 + [f"n{i}" for i in range(40)])
    card = cc.audit(data, only="open_answers")
    examples = card.tables["examples"]
    assert Counter(examples["solved_prior"].to_list()) == {True: 40, False: 40}
    assert card.measure("open_answers.prior.accuracy").value == 0.5
    assert set(examples["answer_format"].to_list()) == {"number", "one word"}
    assert "open_answers/prior" in [finding.id for finding in card.findings]
