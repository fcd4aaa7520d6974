"""Verdicts come from the interval; policies that do not fit a card are refused."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Measure
from cuecard.card.judging import judge_card
from cuecard.card.policy import Reference, finding_measure, reference_of
from cuecard.card.policy_files import parse_policy, starter_policy
from cuecard.errors import InputError
from policy_cards import card_with, excess, finding

RULE = '[rules]\n"partial_input.hypothesis_only.excess" = "<= 0.05"\n'


def verdicts(card, text, **more):
    return {r.measure.name: r.verdict for r in judge_card(card, parse_policy(text), **more).rulings}


@pytest.mark.parametrize(
    ("value", "half", "verdict"),
    [(0.02, 0.02, "pass"), (0.04, 0.02, "undecided"), (0.06, 0.02, "undecided"), (0.09, 0.02, "fail")],
)
def test_the_whole_interval_decides(value, half, verdict):
    [ruling] = judge_card(card_with(excess(value, half)), parse_policy(RULE)).rulings
    assert ruling.verdict == verdict
    assert (ruling.needed is not None) == (verdict == "undecided")


def test_a_value_without_interval_is_decided_by_itself():
    copies = Measure("overview.repeated", 0.0, unit="share", worse="higher")
    assert verdicts(card_with(copies), '[rules]\n"overview.repeated" = "<= 0"') == {
        "overview.repeated": "pass"
    }


def test_findings_count_surely_and_possibly():
    sure, maybe = finding("a", 0.6, 0.65, 0.7, "high"), finding("b", 0.53, 0.56, 0.59, "medium")
    card = card_with(findings=(sure, maybe))
    policy = '[rules]\n"cues.high" = "== 0"\n"findings.high" = "<= 1"\n"cues.medium" = "== 2"'
    check = judge_card(card, parse_policy(policy))
    assert [r.verdict for r in check.rulings] == ["fail", "undecided", "pass"]
    assert [r.findings for r in check.rulings] == [("cues/a",), ("cues/a", "cues/b"), ("cues/a", "cues/b")]
    assert check.rulings[1].needed > 500


def test_a_severity_that_does_not_follow_from_the_gain_cannot_rise():
    capped = finding("a", 0.7, 0.75, 0.8, "medium")  # gives away enough to be high, and was graded medium
    assert verdicts(card_with(findings=(capped,)), '[rules]\n"cues.high" = "== 0"') == {"cues.high": "pass"}


def test_an_exact_name_goes_before_a_wildcard():
    card = card_with(excess(0.08, 0.01), excess(0.08, 0.01, name="length"))
    text = '[rules]\n"partial_input.*.excess" = "<= 0.05"\n"partial_input.length.excess" = "<= 0.1"\n'
    assert verdicts(card, text) == {
        "partial_input.hypothesis_only.excess": "fail",
        "partial_input.length.excess": "pass",
    }


def test_a_warning_does_not_fail_the_check_and_undecided_only_when_strict():
    text = RULE.replace('"<= 0.05"', '{ limit = "<= 0.05", severity = "warning" }')
    check = judge_card(card_with(excess(0.2, 0.01)), parse_policy(text))
    assert check.rulings[0].verdict == "fail"
    assert check.passes(strict=True)
    undecided = judge_card(card_with(excess(0.05, 0.01)), parse_policy(RULE))
    assert undecided.passes()
    assert not undecided.passes(strict=True)


def test_accepted_findings_are_not_counted_until_they_expire():
    card = card_with(findings=(finding("not", 0.6, 0.65, 0.7, "high"),))
    text = (
        '[rules]\n"cues.high" = "== 0"\n[[allow]]\nfinding = "cues/n*"\nreason = "x"\nexpires = 2030-01-31\n'
    )
    check = judge_card(card, parse_policy(text), today=date(2030, 1, 31))
    assert check.verdict == "pass"
    assert "cues/not" in check.notes[0]
    with pytest.raises(InputError, match=r"line 3: the allowance for cues/n. expired on 2030-01-31"):
        judge_card(card, parse_policy(text), today=date(2030, 2, 1))


def test_an_allowance_for_nothing_is_named():
    text = (
        '[rules]\n"cues.high" = "== 0"\n[[allow]]\nfinding = "cues/x"\nreason = "x"\nexpires = 2090-01-31\n'
    )
    assert "remove it" in judge_card(card_with(), parse_policy(text)).notes[0]


def test_a_section_that_did_not_run_leaves_its_rules_undecided():
    card = card_with(skipped=("slices",))
    [ruling] = judge_card(card, parse_policy('[rules]\n"slices.longest.excess" = "<= 0.1"')).rulings
    assert ruling.verdict == "undecided"
    assert "needs more" in ruling.note
    [absent] = judge_card(card, parse_policy('[rules]\n"pair_graph.leakage.excess" = "<= 0.1"')).rulings
    assert "did not run" in absent.note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'task = "choice"\n' + RULE,
            "line 1: the policy only applies to multiple choice; this dataset holds pairs",
        ),
        (
            '[rules]\n"partial_input.choices_only.excess" = "<= 0.05"',
            "line 2.*Did you mean partial_input.hypo",
        ),
        (
            '[rules]\n"nothing.at.all" = "<= 0.05"',
            "line 2: the card of tiny .* has no measure nothing.at.all",
        ),
        (RULE.replace("0.05", "5"), "line 2: .* is a fraction and cannot be 5; .* write <= 0.05"),
        ('[rules]\n"cues.high" = [">= 3", "<= 2"]', "line 2: no value of cues.high satisfies"),
        (
            '[rules]\n"partial_input.*" = "<= 0.05"\n"*.excess" = "> 0.05"',
            "lines 2 and 3: no value of partial_input.hypothesis_only.excess",
        ),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_with_its_line(text, message):
    with pytest.raises(InputError, match=message):
        judge_card(card_with(excess(0.1, 0.01)), parse_policy(text))


def test_with_a_baseline_only_what_is_new_or_significantly_worse_fails():
    before = card_with(excess(0.10, 0.03), findings=(finding("old", 0.6, 0.65, 0.7, "high"),))
    same = card_with(excess(0.12, 0.03), findings=before.findings)
    worse = card_with(excess(0.18, 0.03), findings=(*before.findings, finding("new", 0.6, 0.65, 0.7, "high")))
    text = RULE + '"cues.high" = "== 0"'
    for card, expected in ((same, ["pass", "pass"]), (worse, ["fail", "fail"])):
        check = judge_card(card, parse_policy(text), references=[reference_of(before, card)])
        assert [r.verdict for r in check.rulings] == expected
    assert check.rulings[1].findings == ("cues/new",)
    assert not judge_card(same, parse_policy(text)).passes()


def test_with_a_baseline_a_number_of_cues_fails_only_if_it_grew_beyond_noise():
    def cues(number):
        return card_with(Measure("cues.cues", number, unit="count", worse="higher"))

    policy = parse_policy('[rules]\n"cues.cues" = "<= 10"')
    for number, verdict in ((75.0, "pass"), (120.0, "fail")):
        check = judge_card(cues(number), policy, references=[reference_of(cues(70.0), cues(number))])
        assert check.verdict == verdict


def test_a_finding_that_grew_beyond_its_interval_is_not_excused_by_the_baseline():
    before = card_with(findings=(finding("old", 0.6, 0.63, 0.66, "high"),))
    after = card_with(findings=(finding("old", 0.8, 0.83, 0.86, "high"),))
    reference = reference_of(before, after)
    assert (
        judge_card(after, parse_policy('[rules]\n"cues.high" = "== 0"'), references=[reference]).verdict
        == "fail"
    )


def test_a_baseline_of_other_data_is_refused():
    with pytest.raises(InputError, match="its task is choice, here pair"):
        reference_of(card_with(task="choice"), card_with())
    one, other = (
        card_with(examples=pl.DataFrame({"content": numbers})) for numbers in ([1, 2, 3], [4, 5, 6])
    )
    with pytest.raises(InputError, match="shares no example with tiny"):
        reference_of(one, other)


def test_shared_examples_make_a_change_visible_that_two_intervals_hide():
    rng = np.random.default_rng(0)
    solved = (rng.random(400) < 0.6).astype(float)
    later = solved.copy()
    later[np.flatnonzero(solved == 0)[:20]] = 1.0  # five points more, on the same examples
    cards = [
        card_with(
            excess(values.mean() - 0.5, 0.048),
            examples=pl.DataFrame(
                {
                    "split": ["test"] * 400,
                    "content": np.arange(400, dtype=np.uint64),
                    "solved_hypothesis_only": values,
                }
            ),
        )
        for values in (solved, later)
    ]
    policy = parse_policy(RULE)
    paired = judge_card(cards[1], policy, references=[reference_of(*cards)])
    assert paired.verdict == "fail"
    assert paired.rulings[0].change.shared == 400
    for card in cards:
        card.attach({})
    assert judge_card(cards[1], policy, references=[reference_of(*cards)]).verdict == "pass"


def test_a_first_policy_is_satisfied_by_the_card_it_was_written_for():
    card = card_with(
        excess(0.213, 0.04),
        Measure("cues.cues", 12.0, unit="count", worse="higher"),
        Measure("overview.repeated", 0.0004, unit="share", worse="higher"),
        findings=(finding("a", 0.6, 0.65, 0.7, "high"), finding("b", 0.53, 0.56, 0.59, "medium")),
        skipped=("slices",),
    )
    text = starter_policy(card)
    check = judge_card(card, parse_policy(text))
    assert {r.verdict for r in check.rulings} == {"pass"}
    assert '"partial_input.hypothesis_only.excess" = "<= 0.26"  # today +21.3 points' in text
    assert "slices: skipped (needs more)" in text
    assert '"cues.cues" = "<= 21"  # today 12' in text  # the upper end of Poisson's interval


def test_a_check_is_printed_with_its_verdicts():
    check = judge_card(card_with(excess(0.12, 0.03)), parse_policy(RULE))
    assert repr(check) == "Check('tiny', 'fail': 0 pass, 1 fail, 0 undecided)"


def test_findings_of_the_baseline_violate_a_limit_only_if_there_are_more_of_them():
    card = card_with(findings=(finding("old", 0.6, 0.65, 0.7, "high"),))
    for limit, violated in (("<= 0", True), ("<= 1", False)):
        policy = parse_policy(f'[rules]\n"cues.high" = "{limit}"')
        [ruling] = judge_card(card, policy, references=[reference_of(card, card, "the baseline v1")]).rulings
        assert (ruling.verdict, ruling.violated) == ("pass", violated)
        assert ruling.note == "1 finding of the baseline v1, not significantly worse"


def test_findings_of_the_baseline_that_only_possibly_are_so_severe_violated_nothing():
    card = card_with(findings=(finding("a", 0.52, 0.6, 0.7, "medium"),))
    policy = parse_policy('[rules]\n"cues.high" = "== 0"\n')
    [alone] = judge_card(card, policy).rulings
    assert alone.verdict == "undecided"
    known = Reference({}, {f.id: finding_measure(f) for f in card.findings})
    [ruling] = judge_card(card, policy, references=[known]).rulings
    assert ruling.verdict == "pass"
    assert not ruling.violated
