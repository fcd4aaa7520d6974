"""A policy is read with the line of what is wrong."""

from __future__ import annotations

from datetime import date

import pytest

from cuecard.card.policy import Limit
from cuecard.card.policy_files import parse_policy, read_policy
from cuecard.errors import InputError


def test_rules_have_limits_severity_reason_and_line():
    policy = parse_policy(
        'task = "pair"\n\n[rules]\n"cues.high" = "== 0"\n'
        '"partial_input.*.excess" = { limit = ["<= 0.1", ">= -0.1"], severity = "warning", reason = "ours" }\n'
        '[[allow]]\nfinding = "cues/not/*"\nreason = "known"\nexpires = 2030-01-31\n'
    )
    first, second = policy.rules
    assert (first.pattern, first.limits, first.severity, first.line) == (
        "cues.high",
        (Limit("==", 0),),
        "error",
        4,
    )
    assert (second.severity, second.reason, second.line, len(second.limits)) == ("warning", "ours", 5, 2)
    assert not second.exact
    assert second.matches("partial_input.length.excess")
    [allowance] = policy.allow
    assert (allowance.line, allowance.expires) == (6, date(2030, 1, 31))
    assert allowance.covers("cues/not/yes")
    assert policy.task == "pair"


def test_names_without_quotes_are_the_same_rules():
    assert parse_policy('[rules]\ncues.high = "== 0"\n').rules[0].pattern == "cues.high"


def test_a_policy_that_an_editor_saved_with_a_mark_of_its_encoding_is_read(tmp_path):
    (tmp_path / "cuecard.toml").write_text('[rules]\n"cues.cues" = "== 0"\n', encoding="utf-8-sig")
    assert [rule.pattern for rule in read_policy(tmp_path / "cuecard.toml").rules] == ["cues.cues"]


def test_the_sections_that_a_policy_needs():
    assert parse_policy('[rules]\n"cues.high" = "== 0"\n"slices.a.excess" = "<= 0"').sections == [
        "cues",
        "slices",
    ]
    assert parse_policy('[rules]\n"findings.high" = "== 0"').sections is None
    assert parse_policy('[rules]\n"*.high" = "== 0"').sections is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[rules\n"a" = 1',
            r"line 1: this is not TOML \(Expected '\]' at the end of a table declaration\)\.$",
        ),
        ('[rules]\n"a.b" = ', r"line 2: this is not TOML"),
        ('[rules]\n"a.b" = "<= 1"\n"a.b" = "<= 2"', 'line 3: "a.b" is written twice: keep one'),
        ('[rules]\n"a.b" = "<= 1"\n[rules]\n"a.c" = "<= 2"', r"line 3: \[rules\] is written twice: keep one"),
        ('"cues.high" = "== 0"', "line 1: 'cues.high' is not part of a policy"),
        ('task = "pair"\n', "line 1: there are no rules"),
        ('\ntask = "poem"\n[rules]\n"a.b" = "<= 1"', "line 2: task = 'poem': write pair, choice"),
        ('[rules]\n\n"a.b" = "smaller"', "line 3: 'a.b' has the limit 'smaller'"),
        ('[rules]\n"a.b" = 0.05', "line 2: 'a.b' has the limit 0.05"),
        ('[rules]\n"a.b" = ["<= 1", "x"]', "line 2"),
        ('[rules]\n"a.b" = { limit = "<= 1", severity = "loud" }', "line 2: severity = 'loud'"),
        ('[rules]\n"a.b" = { limit = "<= 1", why = "x" }', "line 2: 'why' is not part of a rule"),
        (
            '[rules]\n"a.b" = "<= 1"\n[[allow]]\nreason = "x"\nexpires = 2030-01-01',
            "line 3: the allowance has no finding",
        ),
        (
            '[rules]\n"a.b" = "<= 1"\n[[allow]]\nfinding = "x"\nexpires = 2030-01-01',
            "line 3: the allowance has no reason",
        ),
        (
            '[rules]\n"a.b" = "<= 1"\n[[allow]]\nfinding = "x"\nreason = "y"',
            "line 3: the allowance has no day",
        ),
        ('[rules]\n"a.b" = "<= 1"\n[allow]\nfinding = "x"', "line 3: allowances are written below"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message):
    with pytest.raises(InputError, match=message) as error:
        parse_policy(text, "cuecard.toml")
    assert str(error.value).startswith("cuecard.toml")


def test_a_missing_policy_is_answered_with_the_command_that_writes_one(tmp_path):
    with pytest.raises(InputError, match="--init"):
        read_policy(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "text", ["[rules]\n" + "a = " + "[" * 3000 + "]" * 3000, "[rules]\n" + "a." * 3000 + 'b = "== 0"']
)
def test_a_policy_that_is_nested_too_deeply_is_one_sentence(text):
    with pytest.raises(InputError, match=r"line 1: the policy is nested too deeply\."):
        parse_policy(text)


def test_a_number_of_thousands_of_digits_is_one_sentence():
    with pytest.raises(InputError, match=r"more than 4,300 digits\."):
        parse_policy(f"[rules]\na = {'9' * 5000}")
