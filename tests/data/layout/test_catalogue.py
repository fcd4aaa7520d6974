"""Layouts of public datasets are read as what they are, or refused with the option that reads them."""

from __future__ import annotations

import pytest
from catalogue import LAYOUTS, Layout

from cuecard.data import Instances, load
from cuecard.errors import CueCardError, InputError


def outcome(data: Instances) -> tuple[str, ...]:
    """Return the premise and the right text of the first example, or its premise, hypothesis and label."""
    first = data.table.filter(data.table["example_id"] == data.table["example_id"][0])
    if data.grouped:
        right = first.filter(first["label"].cast(str) == data.labels[0])
        return first["premise"][0], right["hypothesis"][0]
    return first["premise"][0], first["hypothesis"][0], str(first["label"][0])


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_is_read_as_what_it_is(layout: Layout):
    if layout.options:
        with pytest.raises(InputError) as caught:
            load(layout.table)
        assert layout.typed in str(caught.value)
    data = load(layout.table, **layout.options)
    assert data.task == layout.task
    assert outcome(data) == layout.first
    assert any(layout.says in said for said in ("", *data.report.notes, *data.report.dropped))


def test_every_right_option_of_a_row_is_found():
    for layout in LAYOUTS:
        data = load(layout.table, **layout.options)
        if data.task == "choice":
            marked = data.table.filter(data.table["label"].cast(str) == "right")["hypothesis"].to_list()
            from catalogue import right

            rows = [i for i, row in enumerate(layout.table) if row.get("question_type") != "open"]
            expected = [right(i) for i in rows]
            assert sum(a == b for a, b in zip(marked, expected, strict=True)) >= len(expected) - 1, (
                layout.name
            )


def test_of_several_right_answers_one_stands_beside_the_wrong_ones():
    rows = [
        {"question": f"q{i}", "options": [f"a{i}", f"b{i}", f"c{i}", f"d{i}"], "answer": ["A", "C"]}
        for i in range(60)
    ]
    data = load(rows)
    assert data.table.group_by("example_id").len()["len"].unique().to_list() == [3]
    right = data.table.filter(data.table["label"].cast(str) == "right")["hypothesis"].to_list()
    assert {text[0] for text in right} == {"a", "c"}
    assert 15 < sum(text[0] == "a" for text in right) < 45
    wrong = data.table.filter(data.table["label"].cast(str) == "wrong")["hypothesis"].to_list()
    assert {text[0] for text in wrong} == {"b", "d"}


def test_one_of_several_labels_is_compared_with_the_rest():
    rows = [{"text": f"text {i}", "labels": ["joy", "awe"] if i % 3 else ["fear"]} for i in range(12)]
    assert load(rows).labels == ("awe", "not awe")
    assert load(rows, labels="labels has joy").labels == ("joy", "not joy")
    assert load(rows, labels="labels has *").labels == ("awe + joy", "fear")
    with pytest.raises(CueCardError, match="Did you mean 'joy'"):
        load(rows, labels="labels has joi")


def test_answers_in_words_are_no_classes():
    rows = [{"question": f"What is {i}?", "answer": f"number {i}"} for i in range(40)]
    with pytest.raises(InputError, match="these are answers, not classes"):
        load(rows, columns={"text": "question", "label": "answer"})


def test_a_question_without_a_right_option_is_dropped_and_counted():
    rows = [
        {
            "query": f"What is {i}?",
            "passages": {
                "is_selected": [0, 0] if i % 4 == 0 else [1, 0],
                "passage_text": [f"a {i}", f"b {i}"],
            },
        }
        for i in range(24)
    ]
    data = load(rows)
    assert (data.n_examples, data.report.dropped) == (18, {"missing answer": 6})


def test_letters_before_options_are_stripped_only_where_all_rows_count_up():
    rows = [
        {"question": f"Who is {i}?", "options": ["A. Lincoln", "G. Bush"], "answer": "G. Bush"}
        for i in range(9)
    ]
    assert set(load(rows).table["hypothesis"]) == {"A. Lincoln", "G. Bush"}
    rows = [{**row, "options": ["A. Lincoln", "B. Bush"], "answer": "B. Bush"} for row in rows]
    assert set(load(rows).table["hypothesis"]) == {"Lincoln", "Bush"}


def test_letters_in_a_row_are_several_right_answers_only_where_all_are_options():
    def read(answer: str) -> set[str]:
        rows = [
            {"question": f"q{i}", "options": ["a", "b", "c"], "answer": ("A", answer)[i % 2]}
            for i in range(12)
        ]
        return set(load(rows).table.filter(example_id="2")["hypothesis"])

    assert len(read("BC")) == 2
    for answer in ("AD", "CB"):
        with pytest.raises(InputError, match="none of its 3 choices"):
            read(answer)


def test_scores_are_cut_at_their_median_unless_a_threshold_or_a_column_of_labels_is_typed():
    rows = [{"sentence1": f"A man {i}.", "sentence2": f"A dog {i}.", "score": i / 10} for i in range(40)]
    data = load(rows)
    assert data.labels == ("above 1.95", "at most 1.95")
    assert "--labels 'score>NUMBER'" in data.report.notes[0]
    assert load(rows, labels="score>3").labels == ("above 3", "at most 3")
    with pytest.raises(InputError, match="these are scores"):
        load(rows, columns={"label": "score"})


def test_answers_that_may_be_labels_or_letters_are_told():
    rows = [
        {"passage": f"A man {i}.", "question": f"Who is {i}?", "answer": "abcd"[i % 4] * 3} for i in range(24)
    ]
    assert "--task open" in load(rows).report.notes[0]
    rows = [{"question": f"Who is {i}?", "answer": f"number {i}" if i % 3 else "B"} for i in range(60)]
    assert any("33% of the answers" in note for note in load(rows).report.notes)


def test_of_worked_solutions_and_short_answers_none_is_guessed():
    rows = [
        {"problem": f"What is {i}?", "solution": f"We add one and one, {i} times.", "worth": f"{i} m"}
        for i in range(24)
    ]
    with pytest.raises(InputError, match="in 'worth' or, as worked solutions, in 'solution'"):
        load(rows)
    assert load(rows, columns={"question": "problem", "answer": "worth"}).table["hypothesis"][3] == "3 m"


def test_a_text_that_a_pair_has_no_role_for_is_named():
    rows = [
        {
            "premise": f"A man {i} walks.",
            "hypothesis": f"He moves {i}.",
            "scene": f"In a town {i}.",
            "label": i % 2,
        }
        for i in range(24)
    ]
    [note] = load(rows).report.notes
    assert "'scene' are not used" in note
    option = {"premise": "scene+premise", "hypothesis": "hypothesis", "label": "label"}
    assert load(rows, columns=option).table["premise"][1] == "In a town 1. A man 1 walks."


def test_turns_written_as_json_are_texts():
    rows = [
        {
            "prompt": f'["Why {i}?", "And?"]',
            "response_a": '["So.", null]',
            "response_b": '["No."]',
            "winner": "ab"[i % 2],
        }
        for i in range(12)
    ]
    table = load(rows).table
    assert (table["premise"][0], table["hypothesis"][0]) == ("Why 0?\nAnd?", "So.")
