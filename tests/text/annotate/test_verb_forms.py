from __future__ import annotations

import pytest

from cuecard.text.annotate.word_roles import gerund, past_form, third_person, verb_forms


@pytest.mark.parametrize(
    ("base", "s", "past", "ing"),
    [
        ("walk", "walks", "walked", "walking"),
        ("watch", "watches", "watched", "watching"),
        ("carry", "carries", "carried", "carrying"),
        ("play", "plays", "played", "playing"),
        ("hope", "hopes", "hoped", "hoping"),
        ("stop", "stops", "stopped", "stopping"),
        ("visit", "visits", "visited", "visiting"),
        ("admit", "admits", "admitted", "admitting"),
        ("show", "shows", "showed", "showing"),
        ("wait", "waits", "waited", "waiting"),
    ],
)
def test_regular_verbs_inflect(base: str, s: str, past: str, ing: str) -> None:
    assert (third_person(base), past_form(base), gerund(base)) == (s, past, ing)


def test_gerund_of_ie_and_ee() -> None:
    assert [gerund("lie"), gerund("see"), gerund("be")] == ["lying", "seeing", "being"]


def test_irregular_verbs_keep_their_own_past() -> None:
    forms = verb_forms()
    assert {"went", "took", "forgave", "put"} <= forms.past
    assert not {"goed", "taked", "forgived", "putted"} & (forms.past | forms.participle)


def test_past_and_participle_are_told_apart_where_they_differ() -> None:
    forms = verb_forms()
    assert "went" not in forms.participle
    assert "gone" not in forms.past
    assert "made" in forms.past & forms.participle


def test_no_word_list_names_a_verb_twice() -> None:
    from cuecard.text.annotate.word_roles import sections

    irregular = sections("irregular_verbs")["irregular"][::3]
    assert len(irregular) == len(set(irregular))
