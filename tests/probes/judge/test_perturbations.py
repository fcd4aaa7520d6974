"""Responses changed by rules: what must stay stays, and what must be wrong is."""

from __future__ import annotations

import pytest

from cuecard.errors import CueCardError
from cuecard.probes.judge.perturbations import PERTURBATIONS, check_perturbations

PROMPT = "How long is the river?"
TEXT = "The river is 310 km long. It can flood in spring."


def changed(name: str, text: str = TEXT) -> str | None:
    return PERTURBATIONS[name].apply(text, PROMPT, "seed")


@pytest.mark.parametrize("name", ["padding", "restating", "flattery"])
def test_what_is_added_leaves_the_response_as_it_is(name):
    assert TEXT in changed(name)
    assert len(changed(name)) > len(TEXT) + 20


def test_markdown_and_a_source_keep_every_word():
    assert changed("markdown").split("\n")[2:] == [
        "- **The river is 310 km long.**",
        "- **It can flood in spring.**",
    ]
    assert changed("markdown", "# Title\n- a list") is None
    cited = changed("citation")
    assert cited.startswith("The river is 310 km long (")
    assert cited.endswith("). It can flood in spring.")


def test_the_last_number_is_another_one():
    assert "310" not in changed("number")
    assert changed("number", "It costs 4.50 euros.") != "It costs 4.50 euros."
    assert changed("number", "In version v2.1 of A-10 nothing changed.") is None
    assert changed("number", "No number.") is None
    assert changed("number", "1. It is good. 2. It is bad.") is None  # these count the items
    assert changed("number", "1. It has 12 rooms.\n2) It is old.").startswith("1. It has ")
    assert changed("number", "It is 5.") != "It is 5."


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        (TEXT, "The river is not 310 km long. It can flood in spring."),
        ("It does not rain.", "It does rain."),
        ("You cannot swim there.", "You can swim there."),
        ("That isn't true.", "That is true."),
        ("They won't come.", "They will come."),
        ("Rivers flow.", None),
        ("How would you go there? The road is long.", "How would you go there? The road is not long."),
        ("Is it far?", None),
    ],
)
def test_a_statement_is_denied_or_affirmed(text, negated):
    assert changed("negation", text) == negated


def test_changes_are_the_same_each_time_and_names_are_checked():
    assert changed("flattery") == changed("flattery")
    assert check_perturbations(["all"]) == tuple(PERTURBATIONS)
    assert check_perturbations(["none"]) == ()
    assert check_perturbations(["number", "number"]) == ("number",)
    with pytest.raises(CueCardError, match="padding"):
        check_perturbations(["pading"])
    with pytest.raises(CueCardError, match="alone"):
        check_perturbations(["all", "number"])
