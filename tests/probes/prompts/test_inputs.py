"""Parts of the input and orders of the options: what is sent, what is withheld, and how answers come back."""

from __future__ import annotations

import json

import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import UsageError
from cuecard.models.endpoint import Endpoint
from cuecard.probes import check_test, find_prompt, prompted_answers
from cuecard.probes.predictions import as_split
from cuecard.probes.prompts.inputs import INPUTS, check_inputs, similar_others
from cuecard.probes.prompts.orders import orders_of, references
from pace import PATIENCE
from scripted_server import Script, serving

pytest.importorskip("httpx", reason="the extra llm is not installed")

N = 8
CHOICES = [
    {
        "id": f"q{i}",
        "context": f"passage{i} stands here",
        "question": f"What asks{i}?",
        "choices": [f"wrongA{i}", f"rightB{i}", f"wrongC{i}"],
        "answer": 1,
    }
    for i in range(N)
]
PAIRS = [
    {
        "id": f"p{i}",
        "premise": f"premise{i} is long",
        "hypothesis": f"hypothesis{i} is short",
        "label": ("entailment", "neutral", "contradiction")[i % 3],
    }
    for i in range(N)
]


@pytest.fixture
def load(tmp_path):
    def loaded(rows):
        file = tmp_path / "test.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return as_split(cc.load(file), "test")

    return loaded


def asked(data, *, answer="A", inputs=("full",), prompts=("short", "alternative"), **options):
    """Return the answers to the test examples, and what was sent."""
    with serving(Script(answer=lambda prompt: answer)) as script:
        endpoint = Endpoint(script.url, "tiny", timeout=PATIENCE)
        templates = [find_prompt(name) for name in prompts]
        table = prompted_answers(data, endpoint, templates, inputs=check_inputs(inputs, data.task), **options)
        return table, [json.dumps(body) for body in script.bodies]


#: What no request may hold, by task and input; swapped questions are those of other examples.
WITHHELD = {
    ("choice", "choices"): ("passage", "asks"),
    ("choice", "question"): ("wrongA", "rightB", "wrongC"),
    ("choice", "no-context"): ("passage",),
    ("choice", "open"): ("wrongA", "rightB", "wrongC"),
    ("choice", "blank"): ("passage", "asks", "wrongA", "rightB", "wrongC"),
    ("pair", "hypothesis"): ("premise0", "premise1"),
    ("pair", "premise"): ("hypothesis0", "hypothesis1"),
    ("pair", "blank"): ("premise0", "hypothesis0", "premise1", "hypothesis1"),
}


@pytest.mark.parametrize(("task", "name"), WITHHELD)
@pytest.mark.parametrize("structured", [False, True])
def test_what_is_withheld_is_in_no_request(load, task, name, structured):
    data = load({"choice": CHOICES, "pair": PAIRS}[task])
    _, bodies = asked(data, inputs=[name], permute="cyclic", structured=structured)
    assert bodies
    for text in WITHHELD[task, name]:
        assert not any(text in body for body in bodies)


@pytest.mark.parametrize("rows", [CHOICES, PAIRS])
def test_no_request_says_which_answer_is_right(load, rows):
    """Requests about examples that differ in nothing but the key are the same."""
    flipped = [
        row | ({"answer": 2} if "answer" in row else {"label": PAIRS[(i + 1) % 3]["label"]})
        for i, row in enumerate(rows)
    ]
    _, bodies = asked(
        load(rows), inputs=list(INPUTS["pair" if rows is PAIRS else "choice"])[:3], permute="all"
    )
    _, others = asked(
        load(flipped), inputs=list(INPUTS["pair" if rows is PAIRS else "choice"])[:3], permute="all"
    )
    assert sorted(bodies) == sorted(others)


def test_everything_is_shown_in_full_and_nothing_else_with_a_swapped_question(load):
    data = load(CHOICES)
    _, bodies = asked(data, inputs=["full"], prompts=["short"])
    assert all(
        any(f"passage{i} " in b and f"asks{i}?" in b and f"rightB{i}" in b for b in bodies) for i in range(N)
    )
    _, bodies = asked(data, inputs=["swapped"], prompts=["short"])
    for i in range(N):
        own = next(body for body in bodies if f"rightB{i}" in body)
        assert f"asks{i}?" not in own
        assert sum(f"asks{j}?" in own for j in range(N)) == 1


def test_a_swapped_question_is_that_of_the_most_similar_other_example(load):
    questions = [
        "red birds fly south",
        "red birds fly south",
        "red birds fly north",
        "stones sink fast",
        "stones sink",
    ]
    rows = [
        {"question": text, "choices": [f"x{i}", f"y{i}"], "answer": 0} for i, text in enumerate(questions)
    ]
    assert similar_others(check_test(load(rows))).tolist() == [2, 2, 0, 4, 3]


def test_answers_come_back_by_content_in_every_order(load):
    data = load(CHOICES)
    table, _ = asked(data, answer="B", prompts=["short"], permute="cyclic")
    assert table.height == 3 * N
    for row in table.iter_rows(named=True):
        assert row["prediction"] == row["shown"].split()[1]
    assert table.filter(pl.col("order") == 0)["shown"].unique().to_list() == ["0 1 2"]
    assert (
        table.group_by("example_id").agg(pl.col("prediction").n_unique())["prediction"].to_list() == [3] * N
    )


def test_labels_of_pairs_are_listed_in_every_order(load):
    data = load(PAIRS)
    table, bodies = asked(data, answer="neutral", prompts=["short"], permute="all")
    assert table.height == 6 * N
    assert set(table["prediction"]) == {"neutral"}
    assert len({body[body.index("Possible answers") :][:60] for body in bodies}) == 6


def test_preferred_responses_do_not_always_come_first(load):
    rows = [{"prompt": f"p{i}", "chosen": f"good{i}", "rejected": f"bad{i}"} for i in range(30)]
    table, _ = asked(load(rows), prompts=["short"])
    assert set(table["shown"]) == {"0 1", "1 0"}
    assert 0 < (table["prediction"] == "chosen").sum() < 30


def test_options_that_refer_to_others_keep_their_place_and_their_example_fewer_orders(load):
    rows = [*CHOICES, CHOICES[0] | {"id": "last", "choices": ["ape", "bee", "All of the above"]}]
    table, _ = asked(load(rows), prompts=["short"], permute="all")
    last = table.filter(pl.col("example_id") == "last")
    assert last["shown"].drop_nulls().to_list() == ["0 1 2", "1 0 2"]
    assert last["read_from"].to_list()[2:] == ["not asked"] * 4


@pytest.mark.parametrize(
    ("choices", "fixed"),
    [
        (["a cat", "a dog", "an ape"], []),
        (["a cat", "a dog", "None of these."], [2]),
        (["a cat", "a dog", "neither of the above options"], [2]),
        (["red", "blue", "green", "Both A and C"], [0, 2, 3]),
        (["red", "blue", "green", "B or C"], [1, 2, 3]),
        (["red", "blue", "the same as option A"], [0, 2]),
        (["All of the vegetation has died", "It stands above ground", "vitamins A and D"], []),
    ],
)
def test_references_between_options_are_recognised(choices, fixed):
    assert sorted(references(choices).fixed) == fixed


def test_a_number_of_orders_is_random_and_repeatable_and_all_are_limited():
    letters = list("abcde")
    five = orders_of(letters, "5", seed="x")
    assert len(set(five)) == 5
    assert five[0] == (0, 1, 2, 3, 4)
    assert five == orders_of(letters, "5", seed="x") != orders_of(letters, "5", seed="y")
    assert len(orders_of(letters, "all", seed="")) == 120
    assert len(orders_of(["a", "b"], "9", seed="")) == 2
    with pytest.raises(UsageError, match="720 orders"):
        orders_of(list("abcdef"), "all", seed="")


def test_a_free_answer_is_matched_to_the_options_and_questions_about_options_are_not_asked(load):
    rows = [*CHOICES, CHOICES[0] | {"id": "last", "question": "Which of the following is a tree?"}]
    table, bodies = asked(load(rows), answer="The rightB3.", inputs=["open"], prompts=["short"])
    answers = dict(table.select("example_id", "prediction").iter_rows())
    assert answers == {f"q{i}": "1" if i == 3 else None for i in range(N)} | {"last": None}
    assert table["read_from"].to_list() == [None, None, None, "text", None, None, None, None, "not asked"]
    assert len(bodies) == N


@pytest.mark.parametrize(
    ("rows", "name", "message"),
    [
        (PAIRS, "choices", "does not apply to pair data: choose among full, hypothesis"),
        (CHOICES, "hypothesis", "does not apply to choice data"),
        (CHOICES, "everything", "Unknown input 'everything'"),
    ],
)
def test_an_input_that_the_task_lacks_is_refused(load, rows, name, message):
    with pytest.raises(UsageError, match=message):
        check_inputs([name], load(rows).task)


def test_no_context_needs_a_column_of_its_own(load):
    rows = [{k: v for k, v in row.items() if k != "context"} for row in CHOICES]
    with pytest.raises(UsageError, match="no-context needs a file"):
        asked(load(rows), inputs=["no-context"])


def test_a_dry_run_prints_requests_tokens_and_cost_and_sends_nothing(load, tmp_path, cuecard):
    load(CHOICES)
    with serving(Script()) as script:
        command = (
            *("ask", tmp_path / "test.jsonl", "--endpoint", script.url, "--prompt", "short", "--dry-run"),
            *("--input", "full,choices", "--permute", "cyclic", "--out", tmp_path / "asked.jsonl"),
            *("--keep-answers", tmp_path / "answers.jsonl"),
        )
        known = cuecard(*command, "--model", "gpt-4o")
        unknown = cuecard(*command, "--model", "tiny")
        limited = cuecard(*command, "--model", "tiny", "--max-cost", "1")
        assert not script.bodies
    assert known.code == unknown.code == 0
    assert f"Requests to send: {2 * 3 * N} (0 more are cached)" in known.out
    assert "at most about 0." in known.out
    assert "Cost: unknown" in unknown.out
    assert limited.code == 2
    assert "--max-cost needs the price" in limited.err
    assert not (tmp_path / "asked.jsonl").exists()
