"""A check in the formats of other tools, read by those tools' models and schemas."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cuecard.card.judging import Check, judge_card
from cuecard.card.policy_files import parse_policy
from cuecard.report.checks import check_markdown, github_annotations, junit_xml, render_check, sarif_log
from policy_cards import card_with, excess, finding

POLICY = """[rules]
"partial_input.hypothesis_only.excess" = { limit = "<= 0.05", reason = "100 % ours, see: the wiki" }
"partial_input.length.excess" = { limit = "<= 0.05", severity = "warning" }
"partial_input.position.excess" = "<= 0.05"
"partial_input.overlap.excess" = "<= 0.05"
"cues.high" = "== 0"
"slices.longest.excess" = "<= 0.05"
"""


@pytest.fixture
def check() -> Check:
    card = card_with(
        excess(0.2, 0.02),
        excess(0.2, 0.02, name="length"),
        excess(0.06, 0.02, name="position"),
        excess(0.01, 0.02, name="overlap"),
        findings=(finding("a\x1b<b>&", 0.6, 0.65, 0.7, "high"), finding("c", 0.6, 0.65, 0.7, "high")),
        skipped=("slices",),
    )
    return judge_card(card, parse_policy(POLICY, "conf/cue card.toml"))


def test_junit_validates_and_counts_rules_as_cases(check):
    xmlschema = pytest.importorskip("xmlschema")
    text = junit_xml(check)
    schema = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd").read_text())
    schema.validate(text)
    [suite] = schema.to_dict(text)["testsuite"]
    assert (suite["@tests"], suite["@failures"], suite["@skipped"]) == (6, 2, 2)
    cases = {case["@name"].split()[0]: case for case in suite["testcase"]}
    assert "failure" in cases["cues.high"]
    assert "skipped" in cases["partial_input.position.excess"]
    assert "failure" not in cases["partial_input.length.excess"]  # only a warning


def test_sarif_is_read_by_a_model_of_the_format(check):
    model = pytest.importorskip("sarif_pydantic")
    log = model.Sarif.model_validate_json(sarif_log(check))
    [run] = log.runs
    assert log.version == "2.1.0"
    rules = [rule.id for rule in run.tool.driver.rules]
    for result in run.results:
        assert rules[result.rule_index] == result.rule_id


def test_sarif_obeys_what_the_specification_demands(check):
    [run] = json.loads(sarif_log(check))["runs"]
    results = run["results"]
    # 3.27.9 and 3.27.10: a result that is not a failure has the level none.
    assert all(result["level"] == "none" for result in results if result["kind"] != "fail")
    assert {result["kind"] for result in results} == {"fail", "open"}
    assert {r["level"] for r in results if r["kind"] == "fail"} == {"error", "warning"}
    # 3.49.3: ids of rules are unique; 3.4.4: locations are valid URIs; 3.30.5: lines count from 1.
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids)) == 6
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert {place["artifactLocation"]["uri"] for place in places} == {"conf/cue%20card.toml"}
    assert min(place["region"]["startLine"] for place in places) >= 1
    assert all(result["message"]["text"] for result in results)


def test_fingerprints_tell_results_apart_and_do_not_depend_on_numbers_or_lines(check):
    def prints(of: Check) -> list[str]:
        return [
            next(iter(r["partialFingerprints"].values()))
            for r in json.loads(sarif_log(of))["runs"][0]["results"]
        ]

    moved = judge_card(
        card_with(
            excess(0.3, 0.02),
            excess(0.3, 0.02, name="length"),
            excess(0.061, 0.02, name="position"),
            excess(0.01, 0.02, name="overlap"),
            findings=(finding("a\x1b<b>&", 0.7, 0.75, 0.8, "high"), finding("c", 0.6, 0.65, 0.7, "high")),
            skipped=("slices",),
        ),
        parse_policy("# one line more\n" + POLICY, "conf/cue card.toml"),
    )
    assert len(set(prints(check))) == len(prints(check)) == 6
    assert prints(check) == prints(moved)


def test_annotations_are_one_line_each_and_escape_what_would_end_them(check):
    first, *lines = github_annotations(check).splitlines()
    assert first.startswith("FAIL")
    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::notice", "::error", "::notice"]
    assert all(re.match(r"^::\w+ file=[^:,]+,line=\d+,title=[^:,]+::\S", line) for line in lines)
    assert "100 %25 ours" in lines[0]


def test_markdown_has_a_row_per_rule_and_the_failures_first(check):
    rows = [line for line in check_markdown(check).splitlines() if line.startswith("| ")][1:]
    assert [row.split()[2] for row in rows] == ["fail"] * 3 + ["undecided"] * 2 + ["pass"]
    assert "<b>" not in check_markdown(check)


def test_the_terminal_says_the_verdict_first_and_what_would_settle_it(check):
    console = Console(file=StringIO(), width=100)
    render_check(check, console)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("FAIL: tiny violates conf/cue card.toml: 2 of 6 measures fail, 2 undecided.")
    said = " ".join(" ".join(lines).split())
    assert "About 4,100 examples (500 now) would settle it." in said
    assert "\x1b" not in said


def test_a_strict_check_fails_in_every_format(check):
    log = json.loads(sarif_log(check.strictly()))
    kinds = {(r["ruleId"], r["kind"], r["level"]) for r in log["runs"][0]["results"]}
    assert ("partial_input.position.excess", "fail", "error") in kinds
    assert "open" not in {kind for _, kind, _ in kinds}
    text = junit_xml(check.strictly())
    assert 'failures="4"' in text
    assert 'skipped="0"' in text
    assert text.count('type="undecided"') == 2
    assert "::notice" not in github_annotations(check.strictly())
    assert "::error file=conf/cue card.toml,line=4" in github_annotations(check.strictly())


def test_undecided_rules_alone_fail_a_strict_check_in_words():
    policy = parse_policy('[rules]\n"partial_input.hypothesis_only.excess" = "<= 0.21"\n', "p.toml")
    undecided = judge_card(card_with(excess(0.2, 0.02)), policy)
    assert undecided.passes()
    assert not undecided.passes(strict=True)
    assert check_markdown(undecided).count("UNDECIDED: tiny violates no limit")
    assert check_markdown(undecided.strictly()).count("FAIL (strict): tiny violates no limit")
