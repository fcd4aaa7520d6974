"""What the sentences about partial input say where accuracy and the test disagree, and which rule leads."""

from __future__ import annotations

import pytest

from cuecard.audits.partial_input.findings import partial_findings, severity_of_baseline
from cuecard.audits.partial_input.judging import Baseline

SUMMARY = {"primary": "hypothesis_only", "inflation": {}, "alpha": 0.05}


def line(name: str, accuracy: float, kind: str = "content-blind", **more: object) -> Baseline:
    values = {
        "low": accuracy - 0.015, "high": accuracy + 0.015, "chance": 0.567, "luck": 0.35, "p_value": 1e-4,
        "log10_p": -4.0, "n": 5_000, "direction": "above", "q_value": 1e-3,
    }  # fmt: skip
    return Baseline(name, kind, accuracy, **(values | more))


def finding(*lines: Baseline, task: str = "pair"):
    [only] = partial_findings(SUMMARY, lines, None, task)
    return only.title, only.text


def test_a_rule_above_luck_but_below_the_majority_is_not_said_to_beat_chance():
    title, text = finding(line("premise_most", 0.397))
    assert title.endswith("is associated with the label")
    assert "the majority baseline is 56.7 %, and chance for these predictions is 35.0 %" in text


def test_the_rule_that_gives_most_away_leads_not_the_one_farthest_from_the_majority():
    ranked = line("length", 0.567, auc=0.56, auc_low=0.55, auc_high=0.57)
    _, text = finding(line("premise_most", 0.397), ranked)
    assert "56.7 % on 5,000 pairs" in text.split(". ")[0]
    assert "39.7 %" not in text  # below the majority baseline: no shortcut to take


def test_negative_information_is_not_called_bits_about_the_answer():
    weak = line("length", 0.21, chance=0.2, auc=0.53, auc_low=0.51, auc_high=0.55, information=-0.06)
    _, text = finding(weak, task="choice")
    assert "bits" not in text
    assert (
        "does not show this leak: the probability of a choice is associated with the correct answer" in text
    )


def test_where_only_the_ranking_leaks_the_number_of_the_finding_is_the_auc():
    ranked = line("length", 0.567, auc=0.56, auc_low=0.55, auc_high=0.57)
    [only] = partial_findings(SUMMARY, (ranked,), None, "pair")
    assert only.title == "Length-only AUC is above chance"
    assert (only.value, only.low, only.high, only.chance, only.unit) == (0.56, 0.55, 0.57, 0.5, "score")
    [shown] = partial_findings(
        SUMMARY, (line("length", 0.6, auc=0.56, auc_low=0.55, auc_high=0.57),), None, "pair"
    )
    assert (shown.value, shown.chance, shown.unit) == (0.6, 0.567, "share")


def test_an_auc_whose_interval_holds_chance_is_not_said_to_be_above_it():
    weak = line(
        "length", 0.538, chance=0.5, low=0.493, high=0.582, auc=0.538, auc_low=0.496, auc_high=0.579,
        test="score",
    )  # fmt: skip
    [only] = partial_findings(SUMMARY, (weak,), None, "choice")
    assert (only.severity, only.title) == ("info", "Length-only AUC may be above chance")
    assert "Both intervals include chance; the test of the probabilities is significant (p = " in only.text


def test_an_association_of_figures_is_stated_beside_a_model_that_gains_too_little():
    weak = line(
        "overlap", 0.51, "relation", chance=0.5, low=0.46, high=0.56, auc=0.53, auc_low=0.48, auc_high=0.58,
        test="figures",
    )  # fmt: skip
    [only] = partial_findings(SUMMARY, (weak,), None, "pair")
    assert (only.severity, only.title) == ("low", "The number of shared words is associated with the label")
    assert (only.value, only.low, only.chance) == (None, None, None)
    assert "this model gains too little to be sure; the test of the numbers is significant" in only.text


@pytest.mark.parametrize(("chance", "high", "severity"), [(0.2, 0.12, "low"), (0.5, 0.42, "medium")])
def test_avoiding_one_of_many_answers_gives_little_away(chance, high, severity):
    # Avoiding an answer that is right in at most 12 % reaches 22 % of five, and 58 % of two for 42 %.
    below = line("rarest_choice", high - 0.01, chance=chance, luck=chance, high=high, direction="below")
    assert severity_of_baseline(below) == severity


def test_a_significant_test_is_not_called_insignificant():
    at = line(
        "hypothesis_only",
        0.5,
        "partial",
        direction="at",
        q_value=0.042,
        p_value=0.02,
        log10_p=-1.7,
        test="score",
    )
    title, text = finding(at)
    assert title == "Hypothesis-only accuracy is not surely below chance"
    assert "not significant" not in text
    assert (
        "The test of the probabilities is significant below chance, but no interval excludes chance" in text
    )
    title, text = finding(line("hypothesis_only", 0.5, "partial", direction="at", q_value=0.2))
    assert title == "Hypothesis-only accuracy does not differ from chance"
    assert "not significant" in text


@pytest.mark.parametrize(
    ("share", "said"), [(0.93, "for 93.0 % of the examples, but the"), (0.4, None), (None, None)]
)
def test_how_often_the_most_frequent_label_is_predicted_is_looked_at(share, said):
    ranked = line("length", 0.567, auc=0.56, auc_low=0.55, auc_high=0.57, majority_predicted=share)
    _, text = finding(ranked)
    assert "Accuracy alone does not show this leak" in text
    assert ("most frequent label" in text) is (said is not None)
    assert (said or "") in text


def test_a_ranking_of_many_labels_that_hardly_names_the_right_one_is_low():
    many = {
        "chance": 0.013,
        "luck": 0.013,
        "low": 0.03,
        "high": 0.036,
        "auc": 0.63,
        "auc_low": 0.61,
        "auc_high": 0.65,
    }
    assert severity_of_baseline(line("hypothesis_only", 0.033, "partial", **many)) == "low"
    named = many | {"low": 0.2, "high": 0.24}
    assert severity_of_baseline(line("hypothesis_only", 0.22, "partial", **named)) == "high"
