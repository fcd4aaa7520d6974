from __future__ import annotations

import pytest
from pydantic import BaseModel

from cuecard.documents import checked, parse_json
from cuecard.errors import CueCardError, InputError, printable


class Sample(BaseModel):
    id: str | int
    epoch: int = 1
    choices: list[str] | None = None


class Log(BaseModel):
    samples: list[Sample]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (
            '{"samples": [{"id": "a"}, {"id": [1]}]}',
            "samples[1].id should be a valid string, not a list of 1",
        ),
        ('{"samples": [{"id": 1, "epoch": "x"}]}', "samples[0].epoch should be a valid integer, not 'x'"),
        (
            '{"samples": [{"id": 1, "choices": [{}]}]}',
            "samples[0].choices[0] should be a valid string, not an object",
        ),
        ('{"samples": [{}]}', "samples[0].id is missing"),
        ('{"samples": null}', "samples should be a valid list, not null"),
        ("[1]", "the document should be a valid dictionary, not a list of 1"),
    ],
)
def test_the_first_wrong_field_is_named_with_what_was_expected(document, says):
    with pytest.raises(InputError) as refused:
        checked(Log, parse_json(document, "log.json", "write it again"), "log.json", "write it again")
    assert str(refused.value) == f"log.json: {says}: write it again."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 300, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "more than 4,300 digits"),
        (r'{"a": "\ud800"}', "half of a character"),
        (b"\xff", "not valid JSON"),
        ("", "not valid JSON"),
        ("{\n1", "line 2 column 1"),
    ],
)
def test_text_that_is_no_json_says_why(text, says):
    with pytest.raises(InputError, match=r"^log is not valid JSON .*: write it again\.$") as refused:
        parse_json(text, "log", "write it again")
    assert says in str(refused.value)


def test_a_message_is_one_printable_line_of_bounded_length_that_keeps_its_end():
    hostile = "\x1b]0;owned\x07 \x9b31m \u202egnp \ud800 tab\tline\nNUL\0"
    message = str(CueCardError(f"The column {hostile} {'x' * 26_000} is wrong: type --columns."))
    assert message.isprintable()
    assert len(message) < 2_500
    assert message.startswith(r"The column \x1b]0;owned\x07 \x9b31m \u202egnp \ud800 tab line NUL\x00")
    assert message.endswith("is wrong: type --columns.")


def test_characters_of_other_scripts_and_narrow_spaces_stay():
    kept = "5\u00a0% نمی‌خواهم हिन्दी 日本語 e\u0301 😀"
    assert printable(kept) == kept
