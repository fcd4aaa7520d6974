"""A card exported: validated by the tools of each place, in honest words, and written again without a trace."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import cuecard as cc
from cuecard.card.card import Card
from cuecard.data.demo import demo_nli, write_demo
from cuecard.errors import InputError, UsageError
from cuecard.report.exports import badge_svg, croissant_json, hf_card, issue_markdown, open_questions
from policy_cards import card_with, excess, finding


@pytest.fixture(scope="module")
def card(tmp_path_factory) -> Card:
    files = write_demo(demo_nli(2_000, seed=5), tmp_path_factory.mktemp("data"))
    return cc.audit(
        cc.load(files["train"], test=files["test"]),
        only=["overview", "partial_input"],
        command="cuecard audit x",
    )


def test_croissant_is_valid_and_holds_the_findings(card, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    file = tmp_path / "croissant.json"
    file.write_text(croissant_json(card, url="https://example.org", license="CC-BY-4.0"))
    dataset = mlcroissant.Dataset(jsonld=file)
    assert not dataset.metadata.ctx.issues.errors
    assert any("hypothesis" in text.lower() for text in dataset.metadata.data_biases)
    assert any("at least" in text and "chance" in text for text in dataset.metadata.data_biases)
    assert "lower bounds" in dataset.metadata.data_limitations[0]


def test_croissant_that_exists_keeps_everything_but_the_two_properties(card):
    mine = json.loads(croissant_json(card)) | {
        "name": "mine",
        "rai:dataBiases": ["old"],
        "conformsTo": "other",
    }
    filled = json.loads(croissant_json(card, existing=json.dumps(mine)))
    assert filled["name"] == "mine"
    assert filled["rai:dataBiases"] != ["old"]
    assert filled["conformsTo"][0] == "other"
    assert croissant_json(card, existing=json.dumps(filled)) == croissant_json(
        card, existing=croissant_json(card, existing=json.dumps(mine))
    )
    with pytest.raises(InputError, match="not Croissant metadata"):
        croissant_json(card, existing="# README")


def test_fields_that_no_audit_knows_are_asked_for_until_they_are_filled_and_stay_valid(card, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    asked = open_questions(croissant_json(card))
    assert "license: Under which licence may the dataset be used?" in asked
    assert not any(question.startswith(("rai:dataBiases", "rai:dataLimitations")) for question in asked)
    names = [question.partition(": ")[0] for question in asked]
    filled = json.loads(croissant_json(card)) | {
        name: "An answer." for name in names if name.startswith("rai:")
    }
    filled |= {
        "license": "CC-BY-4.0",
        "url": "https://example.org",
        "datePublished": "2026-01-31",
        "creator": {"@type": "sc:Person", "name": "A. Author"},
    }
    again = croissant_json(card, existing=json.dumps(filled))
    assert [line[:5] for line in open_questions(again)] == ["prov:", "prov:"]
    (tmp_path / "croissant.json").write_text(again)
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert dataset.metadata.data_social_impact == "An answer."


def test_croissant_needs_the_files_of_the_card(card):
    moved = card.model_copy(update={"dataset": card.dataset.model_copy(update={"files": ["gone.csv"]})})
    with pytest.raises(InputError, match=r"gone\.csv, which the card was made from"):
        croissant_json(moved)


README = "---\nlicense: mit\ntags:\n- nli\n---\n# My dataset\n\nText.\n"


def test_the_section_of_a_readme_replaces_itself_and_nothing_else(card):
    once = hf_card(card, README)
    assert hf_card(card, once) == once
    assert once.count("## Known cues") == 1
    assert "| at least " in once
    front, body = once.split("---\n")[1:3]
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(front)["license"] == "mit"
    assert yaml.safe_load(front)["cuecard"]["shortcuts"][0]["chance"] > 0
    assert body.startswith("# My dataset\n\nText.\n")
    edited = once.replace("Text.\n", "Other text.\n") + "\nMore.\n"
    again = hf_card(card, edited)
    assert "Other text." in again
    assert again.endswith("More.\n")
    assert again.count("cuecard:start") == 2


def test_a_readme_has_tags_of_task_and_size_unless_the_authors_wrote_them(card):
    assert "task_categories:\n- text-classification\nsize_categories:\n- 1K<n<10K\n" in hf_card(card)
    own = hf_card(card, README.replace("tags:", "task_categories: [other]\ntags:"))
    assert own.count("task_categories") == 1
    assert own.count("size_categories") == 1
    assert hf_card(card, own) == own


def test_a_readme_that_does_not_exist_is_made(card):
    made = hf_card(card)
    assert made.startswith("---\n# cuecard:start\n")
    assert hf_card(card, made) == made


@pytest.mark.parametrize(
    ("findings", "words"),
    [((), "no cue found"), ((finding("a", 0.6, 0.65, 0.7, "high"),) * 2, "2 high findings")],
)
def test_a_badge_says_how_many_findings_and_never_that_data_is_clean(findings, words):
    root = ElementTree.fromstring(badge_svg(card_with(excess(0, 0.1), findings=findings)))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["CueCard", words]
    assert float(root.get("width")) > 20


def test_a_badge_says_where_cues_were_not_tested():
    card = card_with(excess(0, 0.1))
    del card.sections["cues"]
    assert "no finding, cues not tested" in badge_svg(card)
    assert "no cue found" not in badge_svg(card)


@pytest.mark.parametrize(
    "readme",
    [
        "# Mine\n<!-- cuecard:start -->\nold\n",
        "# Mine\n<!-- cuecard:end -->\n",
        "<!-- cuecard:end -->\n<!-- cuecard:start -->\n",
        "---\n# cuecard:start\n---\n",
    ],
)
def test_a_mark_without_the_other_one_is_an_error(card, readme):
    with pytest.raises(
        InputError, match=r"needs one line .*cuecard:start.* and after it one line .*cuecard:end"
    ):
        hf_card(card, readme)


def test_marks_followed_by_blanks_are_marks(card):
    made = hf_card(card, "# Mine\n")
    assert hf_card(card, made.replace("<!-- cuecard:end -->\n", "<!-- cuecard:end -->  \n")) == made


def test_an_issue_has_control_chance_interval_tie_rule_fingerprint_and_command(card):
    text = issue_markdown(card, "partial_input/hypothesis_only")
    for part in (
        "95 % CI",
        "Chance",
        "full accuracy",
        "Ties count",
        "lower bounds",
        card.dataset.fingerprint,
        "cuecard audit x",
        "`partial_input/hypothesis_only`",
    ):
        assert part in text
    with pytest.raises(UsageError, match="Unknown finding 'nothing'"):
        issue_markdown(card, "nothing")
    with pytest.raises(UsageError, match="no finding to report, only remarks"):
        issue_markdown(card.model_copy(update={"findings": []}))
