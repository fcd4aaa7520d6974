"""Every shape in which preferences are published becomes a prompt and its responses, the preferred one first."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cuecard.data import load
from cuecard.errors import CueCardError

USER = {"role": "user", "content": "Which is larger, 9.11 or 9.9?"}
GOOD = {"role": "assistant", "content": "9.9 is larger."}
BAD = {"role": "assistant", "content": "9.11, because 11 > 9."}
POOR = {"role": "assistant", "content": "Both are equal."}
PROMPT = "user: Which is larger, 9.11 or 9.9?"
QUESTION, RIGHT, WRONG, WORSE = (m["content"] for m in (USER, GOOD, BAD, POOR))


def read(folder: Path, *rows: dict):
    path = folder / "preferences.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return load(path)


def example(data) -> tuple[str, list[str], list[str]]:
    assert data.task == "preference"
    first = data.table.filter(data.table["example_id"] == data.table["example_id"][0])
    return first["premise"][0], first["hypothesis"].to_list(), first["label"].cast(str).to_list()


def ultrafeedback(model: str, response: str, rating: int) -> dict:
    """Return a completion with all fields that UltraFeedback has."""
    aspects = ("helpfulness", "honesty", "instruction_following", "truthfulness")
    return {
        "annotations": {aspect: {"Rating": str(rating), "Rationale": "…"} for aspect in aspects},
        "critique": "…",
        "custom_system_prompt": "Answer honestly.",
        "fine-grained_score": float(rating),
        "model": model,
        "overall_score": 1.5 * rating,
        "principle": "honesty",
        "response": response,
    }


def annotations(helpfulness: str, honesty: str, truthfulness: str) -> dict:
    """Return the ratings of a completion as UltraFeedback writes them: in text, with a reason each."""
    ratings = {"helpfulness": helpfulness, "honesty": honesty, "truthfulness": truthfulness}
    return {aspect: {"Rating": rating, "Rationale": "…", "Type": ["1"]} for aspect, rating in ratings.items()}


SHAPES = {
    "texts": ({"prompt": QUESTION, "chosen": RIGHT, "rejected": WRONG}, QUESTION),
    "message lists with the prompt": ({"chosen": [USER, GOOD], "rejected": [USER, BAD]}, PROMPT),
    "messages of the answer alone": ({"prompt": QUESTION, "chosen": [GOOD], "rejected": [BAD]}, QUESTION),
    "dialogues with a shared start": (
        {
            "chosen": f"\n\nHuman: {QUESTION}\n\nAssistant:{RIGHT}",
            "rejected": f"\n\nHuman: {QUESTION}\n\nAssistant:{WRONG}",
        },
        f"\n\nHuman: {QUESTION}\n\nAssistant:",
    ),
    "conversations and a winner": (
        {"messages_a": [USER, BAD], "messages_b": [USER, GOOD], "winner": "model_b"},
        PROMPT,
    ),
    "an arena battle": (
        {
            "model_a": "alpha",
            "model_b": "beta",
            "winner": "model_b",
            "conversation_a": [USER, BAD],
            "conversation_b": [USER, GOOD],
        },
        PROMPT,
    ),
    "a rating of each answer": (
        {"prompt": QUESTION, "response_a": WRONG, "response_b": RIGHT, "rating_a": 2, "rating_b": 4.5},
        QUESTION,
    ),
    "n best with scores": (
        {"prompt": QUESTION, "responses": [WRONG, RIGHT], "scores": [-0.5, 1.25]},
        QUESTION,
    ),
    "n best with ranks": ({"prompt": QUESTION, "responses": [WRONG, RIGHT], "ranks": [2, 1]}, QUESTION),
    "completions with ratings": (
        {
            "instruction": QUESTION,
            "completions": [
                {"model": "alpha", "response": WRONG, "overall_score": 3.0},
                {"model": "beta", "response": RIGHT, "overall_score": 8.0},
            ],
        },
        QUESTION,
    ),
    "answers with ranks": (
        {
            "prompt": QUESTION,
            "answers": [
                {"answer": WRONG, "model": "alpha", "rank": 2.0},
                {"answer": RIGHT, "model": "beta", "rank": 1.0},
            ],
            "turns": 1,
            "num_responses": 2,
            "source": ["web"],
        },
        QUESTION,
    ),
    "UltraFeedback": (
        {
            "source": "web",
            "instruction": QUESTION,
            "models": ["alpha", "beta"],
            "completions": [ultrafeedback("alpha", WRONG, 2), ultrafeedback("beta", RIGHT, 5)],
            "correct_answers": ["None"],
            "incorrect_answers": ["None"],
        },
        QUESTION,
    ),
    "UltraFeedback with mean ratings only": (
        {
            "instruction": QUESTION,
            "completions": [
                {"model": "alpha", "response": WRONG, "fine-grained_score": 2.25},
                {"model": "beta", "response": RIGHT, "fine-grained_score": 4.75},
            ],
        },
        QUESTION,
    ),
    "UltraFeedback with annotations only": (
        {
            "instruction": QUESTION,
            "completions": [
                {"model": "alpha", "response": WRONG, "annotations": annotations("3", "N/A", "2")},
                {"model": "beta", "response": RIGHT, "annotations": annotations("5", "2", "4")},
            ],
        },
        QUESTION,
    ),
    "annotations in lists of one": (
        {
            "instruction": QUESTION,
            "completions": [
                {
                    "response": WRONG,
                    "annotations": {"honesty": [{"Rating": "1"}], "truthfulness": [{"Rating": "2"}]},
                },
                {
                    "response": RIGHT,
                    "annotations": {"honesty": [{"Rating": "1"}], "truthfulness": [{"Rating": "5"}]},
                },
            ],
        },
        QUESTION,
    ),
    "scores of a reward model": (
        {
            "prompt_id": "9.11",
            "prompt": QUESTION,
            "all_generated_responses": [WRONG, RIGHT],
            "all_rm_scores": [0.11, 0.17],
        },
        QUESTION,
    ),
    "scores of a reward model beside a pair": (
        {
            "prompt_id": "9.11",
            "prompt": QUESTION,
            "all_generated_responses": [WRONG, WORSE, RIGHT],
            "all_rm_scores": [0.11, 0.12, 0.17],
            "chosen": [USER, GOOD],
            "rejected": [USER, BAD],
        },
        QUESTION,
    ),
    "WebGPT": (
        {
            "question": {"dataset": "eli5", "id": "abc", "full_text": QUESTION},
            "quotes_0": {"title": ["A"], "extract": ["a"]},
            "answer_0": WRONG,
            "tokens_0": {"prefix": [1], "completion": [2]},
            "score_0": -0.5,
            "quotes_1": {"title": ["B"], "extract": ["b"]},
            "answer_1": RIGHT,
            "tokens_1": {"prefix": [1], "completion": [3]},
            "score_1": 0.5,
        },
        QUESTION,
    ),
    "WebGPT in flat columns": (
        {
            "question.full_text": QUESTION,
            "question.dataset": "eli5",
            "answer_0": WRONG,
            "score_0": -1.0,
            "answer_1": RIGHT,
            "score_1": 1.0,
        },
        QUESTION,
    ),
    "UltraFeedback in pairs": (
        {
            "prompt": QUESTION,
            "prompt_id": "9.11",
            "chosen": [USER, GOOD],
            "rejected": [USER, BAD],
            "messages": [USER, GOOD],
            "score_chosen": 8.0,
            "score_rejected": 3.0,
        },
        QUESTION,
    ),
    "HelpSteer2 preferences": (
        {
            "split": "train",
            "prompt": QUESTION,
            "response_1": WRONG,
            "response_2": RIGHT,
            "preference_strength": 2,
            "preference_statement": "The second is right.",
        },
        QUESTION,
    ),
    "HelpSteer3": (
        {
            "domain": "general",
            "language": "english",
            "context": [USER],
            "response1": WRONG,
            "response2": RIGHT,
            "overall_preference": 3,
        },
        PROMPT,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_read_with_its_prompt_and_the_preferred_answer_first(tmp_path, shape):
    row, prompt = SHAPES[shape]
    others = [
        json.loads(json.dumps(row).replace("9.11", f"{i}.11").replace("9.9", f"{i}.9")) for i in range(10, 14)
    ]
    data = read(tmp_path, row, *others)
    assert example(data) == (prompt, [RIGHT, WRONG], ["chosen", "rejected"])
    assert data.n_examples == 5


def test_one_chosen_and_several_rejected_answers_are_one_example(tmp_path):
    plain = read(tmp_path, {"prompt": QUESTION, "chosen": RIGHT, "rejected": [WRONG, WORSE]})
    assert example(plain) == (QUESTION, [RIGHT, WRONG, WORSE], ["chosen", "rejected", "rejected"])
    chat = read(tmp_path, {"chosen": [USER, GOOD], "rejected": [[USER, BAD], [USER, POOR]]})
    assert example(chat) == (PROMPT, [RIGHT, WRONG, WORSE], ["chosen", "rejected", "rejected"])


def test_a_list_of_one_chosen_answer_beside_lists_of_rejected_ones_is_that_answer(tmp_path):
    plain = read(tmp_path, {"prompt": QUESTION, "chosen": [RIGHT], "rejected": [WRONG, WORSE]})
    assert example(plain) == (QUESTION, [RIGHT, WRONG, WORSE], ["chosen", "rejected", "rejected"])
    chat = read(tmp_path, {"chosen": [[USER, GOOD]], "rejected": [[USER, BAD], [USER, POOR]]})
    assert example(chat) == (PROMPT, [RIGHT, WRONG, WORSE], ["chosen", "rejected", "rejected"])


def test_a_row_without_any_rejected_answer_is_named(tmp_path):
    with pytest.raises(Exception, match=r"Row 2 of .* has no response in column 'rejected'"):
        read(
            tmp_path,
            {"prompt": "p", "chosen": "a", "rejected": ["b"]},
            {"prompt": "q", "chosen": "a", "rejected": []},
        )


def test_rows_with_one_rated_answer_each_are_joined_by_their_prompt(tmp_path):
    rows = [
        {"prompt": QUESTION, "response": WRONG, "helpfulness": 1, "verbosity": 3, "source": "web"},
        {"prompt": QUESTION, "response": RIGHT, "helpfulness": 4, "verbosity": 1, "source": "web"},
        {"prompt": "tied", "response": "x", "helpfulness": 2, "verbosity": 1, "source": "web"},
        {"prompt": "tied", "response": "y", "helpfulness": 2, "verbosity": 1, "source": "web"},
        {"prompt": "alone", "response": "z", "helpfulness": 2, "verbosity": 1, "source": "book"},
    ]
    data = read(tmp_path, *rows)
    assert example(data) == (QUESTION, [RIGHT, WRONG], ["chosen", "rejected"])
    assert data.n_examples == 1
    assert data.table["verbosity"].to_list() == [1, 3]
    assert data.table["source"].to_list() == ["web", "web"]
    assert data.report.dropped == {"tie": 1, "only one response": 1}
    assert any("highest 'helpfulness'" in note for note in data.report.notes)


def test_rows_of_helpsteer_are_joined_by_their_prompt_and_compared_by_helpfulness(tmp_path):
    aspects = {"correctness": 3, "coherence": 4, "complexity": 1}
    rows = [
        {"prompt": QUESTION, "response": WRONG, "helpfulness": 1, **aspects, "verbosity": 2},
        {"prompt": QUESTION, "response": RIGHT, "helpfulness": 4, **aspects, "verbosity": 0},
        {"prompt": "Say hello.", "response": "Hello", "helpfulness": 3, **aspects, "verbosity": 0},
        {"prompt": "Say hello.", "response": "No.", "helpfulness": 0, **aspects, "verbosity": 0},
    ]
    data = read(tmp_path, *rows)
    assert example(data) == (QUESTION, [RIGHT, WRONG], ["chosen", "rejected"])
    assert data.n_examples == 2
    assert data.table["score"].to_list() == [4, 1, 3, 0]


def test_the_lowest_rank_of_several_answers_is_chosen_and_shared_ranks_are_a_tie():
    answers = [[("b", 2), ("a", 1), ("c", 3)], [("x", 1), ("y", 1), ("z", 2)]]
    rows = [[{"answer": text, "rank": rank} for text, rank in row] for row in answers]
    data = load(pl.DataFrame({"prompt": ["p", "q"], "answers": rows}))
    assert data.table.select("hypothesis", "rank").rows() == [("a", 1), ("b", 2), ("c", 3)]
    assert data.report.dropped == {"tie": 1}


def test_a_shared_highest_score_is_a_tie_and_not_a_choice(tmp_path):
    data = read(
        tmp_path,
        {"prompt": "p", "responses": ["a", "b", "c"], "scores": [1, 3, 3]},
        {"prompt": "q", "responses": ["a", "b", "c"], "scores": [1, 4, 3]},
    )
    assert example(data) == ("q", ["b", "a", "c"], ["chosen", "rejected", "rejected"])
    assert data.report.dropped == {"tie": 1}


def test_the_model_and_the_place_of_each_answer_stay_beside_it(tmp_path):
    battle, _ = SHAPES["an arena battle"]
    data = read(tmp_path, battle, {**battle, "winner": "tie"}, {**battle, "winner": "model_a"})
    assert data.table["model"].to_list() == ["beta", "alpha", "alpha", "beta"]
    assert data.table["file_position"].to_list() == [1, 0, 0, 1]
    assert data.report.dropped == {"tie": 1}
    rated, _ = SHAPES["completions with ratings"]
    table = read(tmp_path, rated).table
    assert table["model"].to_list() == ["beta", "alpha"]
    assert table["score"].to_list() == [8.0, 3.0]


def test_ratings_in_several_aspects_count_by_their_mean_and_none_are_no_rating(tmp_path):
    completions = [
        {"response": WRONG, "annotations": annotations("4", "N/A", "2")},
        {"response": WORSE, "annotations": annotations("N/A", "N/A", "N/A")},
        {"response": RIGHT, "annotations": annotations("4", "5", "3")},
    ]
    data = read(tmp_path, *({"instruction": f"{QUESTION} {i}", "completions": completions} for i in range(3)))
    assert data.table["hypothesis"].to_list()[:2] == [RIGHT, WRONG]
    assert data.table["score"].to_list()[:2] == [4.0, 3.0]
    assert any("highest 'mean rating'" in note for note in data.report.notes)


def test_ratings_of_several_annotators_count_by_their_mean(tmp_path):
    def honesty(*ratings: str) -> dict:
        return {"honesty": [{"Rating": rating} for rating in ratings]}

    completions = [
        {"response": WRONG, "annotations": honesty("5", "1", "1", "N/A")},
        {"response": RIGHT, "annotations": honesty("4", "4", "4")},
    ]
    data = read(tmp_path, *({"instruction": f"{QUESTION} {i}", "completions": completions} for i in range(3)))
    assert data.table["hypothesis"].to_list()[:2] == [RIGHT, WRONG]
    assert data.table["score"].to_list()[:2] == pytest.approx([4.0, 7 / 3])


def test_a_rating_that_is_nan_names_no_winner():
    nan = float("nan")
    frame = pl.DataFrame(
        {
            "prompt": ["p", "q", "r"],
            "response_a": ["a1", "a2", "a3"],
            "response_b": ["b1", "b2", "b3"],
            "score_a": [nan, 1.0, 1.0],
            "score_b": [1.0, nan, 2.0],
        }
    )
    assert load(frame).table["hypothesis"].to_list() == ["b3", "a3"]


def test_a_response_without_a_score_or_a_text_is_left_out():
    scored = pl.DataFrame(
        {"prompt": ["p"], "completions": [["x", "y", "z"]], "scores": [[float("nan"), 1.0, 2.0]]}
    )
    assert load(scored).table["hypothesis"].to_list() == ["z", "y"]
    padded = pl.DataFrame({"prompt": ["p", "q"], "chosen": ["x", "y"], "rejected": [["k", None], ["l", "m"]]})
    assert load(padded).table["hypothesis"].to_list() == ["x", "k", "y", "l", "m"]


def test_lists_of_different_lengths_are_an_error_with_their_row():
    frame = pl.DataFrame(
        {"prompt": ["a", "b"], "responses": [["x", "y"], ["x", "y", "z"]], "scores": [[1, 2], [3, 1]]}
    )
    with pytest.raises(CueCardError, match=r"Row 2 .* has not as many values in column 'scores'"):
        load(frame)


def test_ranks_keep_their_sign_and_the_lowest_is_chosen():
    data = load(pl.DataFrame({"prompt": ["p"], "responses": [["b", "a", "c"]], "ranks": [[2, 1, 3]]}))
    assert data.table.select("hypothesis", "rank").rows() == [("a", 1), ("b", 2), ("c", 3)]
    assert "the response with the lowest 'ranks' is chosen" in data.report.notes[0]
