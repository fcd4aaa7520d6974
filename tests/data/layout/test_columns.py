"""Column names are recognised, said, or refused with the option to type."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.layout.columns import parse_columns, parse_labels, recognise
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, UsageError

TEXT = pl.String()
LISTS = pl.List(pl.String)


def table(columns: dict[str, pl.DataType], where: str) -> RawTable:
    return RawTable(pl.DataFrame(schema=columns), (where,), (0,))


def schema(names: str, **types: pl.DataType) -> dict[str, pl.DataType]:
    return {**dict.fromkeys(names.split(), TEXT), **types}


@pytest.mark.parametrize(
    ("names", "types", "task", "roles"),
    [
        ("premise hypothesis label", {}, "pair", {"premise": "premise", "hypothesis": "hypothesis"}),
        (
            "sentence1 sentence2 gold_label label1",
            {},
            "pair",
            {"premise": "sentence1", "label": "gold_label"},
        ),
        ("id qid1 qid2 question1 question2 is_duplicate", {}, "pair", {"label": "is_duplicate", "id": "id"}),
        (
            "Sentence_A sentence_B entailment_judgment pair_ID",
            {},
            "pair",
            {"premise": "Sentence_A", "id": "pair_ID"},
        ),
        ("claim evidence label", {}, "pair", {"premise": "evidence", "hypothesis": "claim"}),
        ("question sentence label idx", {}, "pair", {"premise": "question", "hypothesis": "sentence"}),
        ("context question answer", {"choices": LISTS}, "choice", {"choices": "choices", "answer": "answer"}),
        (
            "ctx label",
            {"endings": LISTS},
            "choice",
            {"context": "ctx", "choices": "endings", "answer": "label"},
        ),
        ("article question answer", {"options": LISTS}, "choice", {"context": "article"}),
        (
            "context question id_string label",
            {"answers": LISTS},
            "choice",
            {"choices": "answers", "id": "id_string"},
        ),
        (
            "premise choice1 choice2 question label",
            {},
            "choice",
            {"context": "premise", "choices": "choice1 + choice2"},
        ),
        ("Question A B C D Answer", {}, "choice", {"choices": "A + B + C + D", "answer": "Answer"}),
        ("sent1 sent2 ending0 ending1 ending2 ending3 label", {}, "choice", {"context": "sent1 + sent2"}),
        (
            "reason claim warrant0 warrant1 correctLabelW0orW1",
            {},
            "choice",
            {"choices": "warrant0 + warrant1"},
        ),
        ("sentence option1 option2 answer", {}, "choice", {"question": "sentence"}),
        ("prompt chosen rejected", {}, "preference", {"prompt": "prompt", "chosen": "chosen"}),
        ("chosen rejected", {}, "preference", {"rejected": "rejected"}),
        ("text label", {}, "text", {"text": "text", "label": "label"}),
        ("Sentence Label", {}, "text", {"text": "Sentence", "label": "Label"}),
        ("text label", {"label": pl.Int64()}, "text", {"label": "label"}),
    ],
)
def test_common_layouts_are_recognised(names, types, task, roles):
    found = recognise(table(schema(names, **types), "x.csv"))
    assert found.task == task
    assert roles.items() <= found.described().items()


def test_a_premise_hypothesis_pair_wins_over_columns_that_look_like_choices():
    assert recognise(table(schema("premise hypothesis label option1 option2"), "x")).task == "pair"


def test_what_the_user_says_wins_and_the_rest_is_recognised():
    found = recognise(table(schema("premise hypothesis label gold id"), "x"), columns={"label": "gold"})
    assert found.described()["label"] == "gold"
    assert found.described()["premise"] == "premise"
    assert found.explicit == {"label"}


def test_said_columns_decide_the_task():
    columns = {"question": "q", "choices": "w+x+y", "answer": "z:1"}
    found = recognise(table(schema("q w x y z"), "t"), columns=columns)
    assert found.task == "choice"
    assert found.roles["choices"] == ("w", "x", "y")
    assert found.answer_base == 1


def test_a_column_whose_name_has_a_plus_is_taken_whole():
    found = recognise(table(schema("a+b label"), "t"), columns={"text": "a+b"})
    assert found.roles["text"] == ("a+b",)


def test_id_none_refuses_the_id_column():
    assert "id" not in recognise(table(schema("id text label"), "t"), columns={"id": "none"})
    assert "id" in recognise(table(schema("id text label"), "t"))


def test_unknown_columns_are_listed_with_the_option_to_type():
    with pytest.raises(InputError) as caught:
        recognise(table(schema("alpha beta gamma"), "some.csv"))
    message = str(caught.value)
    assert "some.csv" in message
    assert "alpha, beta, gamma" in message
    assert "--columns premise=…,hypothesis=…,label=…" in message


def test_a_task_that_the_columns_cannot_fill_says_what_it_needs():
    with pytest.raises(InputError, match="the task 'choice' needs choices, question"):
        recognise(table(schema("text label"), "t"), task="choice")


def test_a_said_column_that_does_not_exist_gets_the_nearest_one():
    with pytest.raises(
        InputError, match=r"no column 'premis' for the role 'premise' \(did you mean 'premise'\?\)"
    ):
        recognise(table(schema("premise hypothesis label"), "t"), columns={"premise": "premis"})


def test_unknown_roles_and_tasks_get_the_nearest_name():
    with pytest.raises(UsageError, match="Did you mean 'premise'"):
        recognise(table(schema("a b"), "t"), columns={"premises": "a"})
    with pytest.raises(UsageError, match="Unknown task 'pairs'"):
        recognise(table(schema("a b"), "t"), task="pairs")


def test_options_are_parsed():
    assert parse_columns("premise=a, hypothesis=b,label=c") == {
        "premise": "a",
        "hypothesis": "b",
        "label": "c",
    }
    assert parse_labels("0=entailment,1=not neutral,x=") == {"0": "entailment", "1": "not neutral", "x": ""}


@pytest.mark.parametrize("text", ["premise", "", "=a", "a=b,a=c"])
def test_malformed_options_are_refused(text):
    with pytest.raises(UsageError, match="--columns"):
        parse_columns(text)


def test_a_line_is_stated_as_a_question_where_other_columns_could_have_the_roles():
    rows = [
        {
            "a": f"A long text of words {i}",
            "b": f"Another long text of words {i}",
            "c": ("x", "y")[i % 2],
            **more,
        }
        for i, more in enumerate([{}] * 24)
    ]
    with pytest.raises(InputError, match="name them with --columns premise=a,hypothesis=b,label=c"):
        load(rows)
    kinds = [{**row, "d": ("u", "v", "w")[i % 3]} for i, row in enumerate(rows)]
    with pytest.raises(
        InputError, match="which of them are premise, hypothesis and label\\? If the first rows agree"
    ):
        load(kinds)
    third = [{**row, "e": f"A third long text of words {i}"} for i, row in enumerate(rows)]
    with pytest.raises(InputError, match="which of them are"):
        load(third)


def test_a_title_above_a_text_is_no_premise():
    numbers = range(40)
    frame = pl.DataFrame(
        {
            "template": [f"t{i % 5}" for i in numbers],
            "title": [f"new words about number {i}" for i in numbers],
            "description": [f"a longer text about number {i} and what it is like" for i in numbers],
            "category": ["xyz"[i % 3] for i in numbers],
        }
    )
    with pytest.raises(InputError, match=r"--columns text=description,label=category"):
        load(frame)


def test_a_label_is_proposed_by_its_name_before_who_gave_it_and_where_it_is_from():
    rows = [
        {"s1_": f"A long text of words {i}", "s2_": f"Another text of many words {i}", "my_gold": ("x", "y")[i % 2],
         "annotator_kind": ("u", "v")[i % 2], "source_kind": ("web", "book")[i % 2]}
        for i in range(24)
    ]  # fmt: skip
    with pytest.raises(InputError, match="label=my_gold"):
        load(rows)


def test_the_second_option_without_the_first_is_no_text_with_a_label():
    rows = [
        {"sentence": f"A long text of words {i}", "first": f"w{i}", "option2": f"v{i}", "answer": 1 + i % 2}
        for i in range(24)
    ]
    with pytest.raises(InputError, match="not recognised"):
        load(rows)
