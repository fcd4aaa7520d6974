from __future__ import annotations

import polars as pl
import pytest

from cuecard.text.annotate import get_annotator


def types_of(text: str) -> set[str]:
    entities = get_annotator("en").annotate(pl.Series([text])).entities
    return {name for name, found in entities.items() if found[0]} - {"any"}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("Jane Langmuir says that water is a mechanism.", {"PERSON"}),
        ("The person was after Mrs. Inglethorp's fortune.", {"PERSON"}),
        ("We met Tommy in Paris.", {"PERSON", "LOC"}),
        ("She moved to New York.", {"LOC"}),
        ("It is the place of the US to be strong.", {"LOC"}),
        ("He lives in the U.S. and likes it.", {"LOC"}),
        ("He studies at the University of the state.", {"ORG"}),
        ("Nobody complains about FEMA handing out money.", {"ORG"}),
        ("The New York Times wrote about it.", {"ORG"}),
        ("Most Americans are tall.", {"NORP"}),
        ("They left on Monday.", {"TIME"}),
        ("It was built in 1987.", {"TIME"}),
        ("It took two hours.", {"TIME"}),
        ("Two dogs run.", {"CARDINAL"}),
        ("They have 300 issues.", {"CARDINAL"}),
        ("It was the first game.", {"CARDINAL"}),
        ("It costs $1999 to go there.", {"CARDINAL"}),
        ("They arrived in May and left.", {"TIME"}),
    ],
)
def test_names_times_and_numbers_are_typed(text: str, types: set[str]) -> None:
    assert types_of(text) == types


@pytest.mark.parametrize(
    "text",
    [
        "The man is outside.",
        "I think I'm late.",
        "Traffic waits for people.",
        "Dogs run fast.",
        "You may go now.",
        "We march together.",
        "No one is there.",
        "They asked the president.",
        "THE KIDS PLAYED IN MUD",
        "",
    ],
)
def test_plain_texts_name_nothing(text: str) -> None:
    entities = get_annotator("en").annotate(pl.Series([text])).entities
    assert not any(found[0] for found in entities.values())


def test_a_name_may_open_a_sentence_where_only_a_name_fits() -> None:
    assert types_of("Kentridge did not enter a film.") == {"PERSON"}
    assert types_of("Growing plants is fun.") == set()


def test_any_is_true_for_events_too() -> None:
    entities = get_annotator("en").annotate(pl.Series(["They watched the Olympics."])).entities
    assert entities["any"][0]


def test_any_covers_every_type() -> None:
    texts = pl.Series(["Tommy went home.", "Two dogs.", "A dog.", "In Paris.", "On Monday."])
    entities = get_annotator("en").annotate(texts).entities
    for found in entities.values():
        assert not (found & ~entities["any"]).any()
