"""Logs with every field that Inspect 0.3.285 and lm-evaluation-harness 0.4.13 wrote for their mock models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuecard as cc
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.probes import UNANSWERED, check_test, read_predictions
from cuecard.probes.formats.answer_parsing import in_order_of_choices
from cuecard.probes.variants import told_apart
from tool_logs import harness_line, harness_log, inspect_log, inspect_sample

LABELS = ["contradiction", "entailment", "neutral"]
SAID = [
    "contradiction",
    "The answer is entailment",
    "Neutral.",
    "no idea",
    "entailment",
    "entailment or neutral",
]


@pytest.fixture
def six(tmp_path: Path) -> Instances:
    """Six test pairs without ids, so that examples go by the number of their row, as Inspect's do."""
    rows = [{"premise": f"p{i}", "hypothesis": f"h{i}", "label": LABELS[i % 3]} for i in range(15)]
    return cc.load(rows[:9], test=rows[9:])


@pytest.fixture
def asked() -> Instances:
    """Six test questions with three choices."""
    rows = [
        {
            "id": f"q{i}",
            "question": f"what {i}?",
            "choices": [f"red {i}", f"green {i}", f"blue {i}"],
            "answer": i % 3,
        }
        for i in range(15)
    ]
    return cc.load(rows[:9], test=rows[9:])


def test_a_compressed_log_is_read_by_the_package_that_wrote_it(six, tmp_path):
    log_module = pytest.importorskip("inspect_ai.log", reason="the extra inspect is not installed")
    score = [{"value": "C", "answer": said, "explanation": said} for said in SAID]
    samples = [inspect_sample(i + 1, LABELS[i % 3], score[i], "match") for i in range(6)]
    log = log_module.read_eval_log(str(inspect_log(tmp_path / "log.json", samples, "match")))
    log_module.write_eval_log(log, str(tmp_path / "log.eval"))
    (read,) = read_predictions(tmp_path / "log.eval", six)
    assert read.model == "mockllm/model"
    assert read.answers.tolist() == [0, 1, 2, UNANSWERED, 1, UNANSWERED]


@pytest.mark.parametrize("scorer", ["match", "includes"])
def test_a_text_scorer_keeps_whole_sentences_which_are_read_where_they_name_one_answer(six, tmp_path, scorer):
    samples = [
        inspect_sample(
            i + 1,
            LABELS[i % 3],
            {"value": "C", "answer": said if scorer == "match" else said.lower(), "explanation": said},
            scorer,
        )
        for i, said in enumerate(SAID)
    ]
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, scorer), six)
    assert read.model == "mockllm/model"
    assert read.answers.tolist() == [0, 1, 2, UNANSWERED, 1, UNANSWERED]
    assert any("2 answers of 6 could not be parsed" in note for note in read.notes)


def test_a_pattern_scorer_without_a_match_has_no_answer_at_all(six, tmp_path):
    samples = []
    for i, said in enumerate(SAID):
        label = LABELS[i % 3]
        found: dict[str, Any] = {"value": "C", "answer": label, "explanation": said}
        if said == "no idea":
            found = {
                "value": "I",
                "explanation": "Scoring pattern not matched",
                "reason": "invalid_response_format",
            }
        samples.append(inspect_sample(i + 1, label, found, "pattern"))
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "pattern"), six)
    assert read.answers.tolist() == [0, 1, 2, UNANSWERED, 1, 2]


def test_letters_stand_for_the_choices_of_the_sample_in_the_first_epoch(asked, tmp_path):
    samples = [
        inspect_sample(
            f"q{i + 9}",
            "ABC"[i % 3],
            {"value": "C", "answer": letter, "explanation": f"ANSWER: {letter}"},
            "choice",
            [f"red {i + 9}", f"green {i + 9}", f"blue {i + 9}"],
            epoch,
        )
        for epoch in (1, 2)
        for i, letter in enumerate("ABCBBA" if epoch == 1 else "CCCCCC")
    ]
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    assert read.answers.tolist() == [0, 1, 2, 1, 1, 0]


def test_a_log_that_names_no_answer_of_the_data_at_all_is_an_error(six, tmp_path):
    score = {"value": "I", "answer": "I like trains", "explanation": "I like trains"}
    samples = [inspect_sample(i + 1, LABELS[i % 3], score, "match") for i in range(6)]
    with pytest.raises(InputError, match="'I like trains' are no label of the data"):
        read_predictions(inspect_log(tmp_path / "log.json", samples, "match"), six)


def test_a_log_that_was_cut_short_says_how_to_complete_it(six, tmp_path):
    score = {"value": "C", "answer": LABELS[0], "explanation": LABELS[0]}
    path = inspect_log(tmp_path / "log.json", [inspect_sample(1, LABELS[0], score, "match")], "match")
    path.write_text(path.read_text().replace('"status": "success"', '"status": "error"', 1))
    with pytest.raises(
        InputError, match=r"no prediction for 5 of 6 .*'error'.*inspect eval-retry.*Give every"
    ):
        read_predictions(path, six)


def test_log_likelihoods_written_as_text_pick_the_likeliest_choice(asked, tmp_path):
    picks = [0, 1, 2, 1, 1, 0]
    lines = [
        harness_line(
            i,
            {"id": f"q{i + 9}", "question": f"what {i + 9}?", "answer": i % 3},
            str(i % 3),
            [[str(-0.24 if k == pick else -0.61 - k), "False"] for k in range(3)],
            acc=float(pick == i % 3),
        )
        for i, pick in enumerate(picks)
    ]
    (read,) = read_predictions(harness_log(tmp_path, lines), asked)
    assert read.model == "org/small-model"
    assert read.answers.tolist() == picks
    expected = np.exp([-0.24, -1.61, -2.61])
    assert read.probabilities is not None
    np.testing.assert_allclose(read.probabilities[0], expected / expected.sum())


def test_generated_text_is_read_by_the_answer_it_names(six, tmp_path):
    lines = [
        harness_line(i, {"premise": f"p{i + 9}"}, LABELS[i % 3], [said], exact_match=0.0)
        for i, said in enumerate(SAID)
    ]
    (read,) = read_predictions(harness_log(tmp_path, lines), six)
    assert read.answers.tolist() == [0, 1, 2, UNANSWERED, 1, UNANSWERED]


def test_without_a_folder_of_its_own_a_log_is_called_by_its_task(six, tmp_path):
    lines = [harness_line(i, {"premise": f"p{i + 9}"}, LABELS[i % 3], [LABELS[i % 3]]) for i in range(6)]
    (tmp_path / "samples_my_task_2026-01-01T00-07-41.296781.jsonl").write_text("".join(lines))
    (read,) = read_predictions(tmp_path / "samples_my_task_2026-01-01T00-07-41.296781.jsonl", six)
    assert read.model == "my_task"


#: Probabilities of red, green and blue, and of a token that is no letter.
SHARES = [
    (0.7, 0.2, 0.05),
    (0.1, 0.6, 0.2),
    (0.2, 0.2, 0.5),
    (0.3, 0.5, 0.1),
    (0.05, 0.9, 0.01),
    (0.5, 0.1, 0.3),
]


def samples_with_logprobs(order: tuple[int, int, int] = (0, 1, 2), listed: int = 4) -> list[dict[str, Any]]:
    """Return six samples whose choices are in some order; of the likeliest tokens `listed` are in the log."""
    samples = []
    for i, shares in enumerate(SHARES):
        colours = [f"red {i + 9}", f"green {i + 9}", f"blue {i + 9}"]
        likely = {f" {'ABC'[k]}": np.log(shares[c]) for k, c in enumerate(order)} | {" the": np.log(0.04)}
        likely = dict(sorted(likely.items(), key=lambda one: -one[1])[:listed])
        letter = next(iter(likely)).strip()
        samples.append(
            inspect_sample(
                f"q{i + 9}",
                "ABC"[order.index(i % 3)],
                {"value": "C", "answer": letter, "explanation": f"ANSWER: {letter}"},
                "choice",
                [colours[c] for c in order],
                logprobs=[{"ANSWER": -0.01, "A": -4.0}, {":": -0.001}, likely],
            )
        )
    return samples


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_log_probabilities_of_letters_are_probabilities_of_the_choices_they_stand_for(asked, tmp_path, order):
    samples = samples_with_logprobs(order)
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    expected = np.array(SHARES) / np.sum(SHARES, axis=1, keepdims=True)
    assert read.answers.tolist() == expected.argmax(axis=1).tolist()
    np.testing.assert_allclose(read.probabilities, expected, atol=1e-12)


def test_a_letter_that_is_not_listed_has_at_most_what_the_listed_ones_leave(asked, tmp_path):
    samples = samples_with_logprobs(listed=2)
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    # Of the first sample, 0.7 and 0.2 are listed; 0.1 is left for the third letter.
    np.testing.assert_allclose(read.probabilities[0], [0.7, 0.2, 0.1], atol=1e-12)
    # Of the fifth, 0.9 and 0.05 are listed: the third letter has no more than the least of them.
    np.testing.assert_allclose(read.probabilities[4], np.array([0.05, 0.9, 0.05]), atol=1e-12)


def test_shuffled_letters_and_samples_without_log_probabilities_give_no_probabilities(asked, tmp_path):
    samples = samples_with_logprobs()
    samples[2]["scores"]["choice"]["answer"] = (
        "A"  # the model wrote C, which the scorer takes for the first choice
    )
    (read,) = read_predictions(inspect_log(tmp_path / "shuffled.json", samples, "choice"), asked)
    assert read.probabilities is None
    assert any("missing for 1 sample of 6" in note for note in read.notes)
    samples = samples_with_logprobs()
    samples[0]["choices"].append("another choice")
    (read,) = read_predictions(inspect_log(tmp_path / "other.json", samples, "choice"), asked)
    assert read.probabilities is None
    assert any("choices are not those of the data" in note for note in read.notes)


def replaced_places(samples: list[dict[str, Any]], places: list[dict[str, float | None]]) -> None:
    """Give the first sample other tokens, by the probabilities of each place, the written one first."""
    logged = [{token: None if p is None else np.log(p) for token, p in place.items()} for place in places]
    other = inspect_sample(0, "A", {"explanation": ""}, "choice", logprobs=logged)
    samples[0]["output"] = other["output"]


AFTERWARDS = [{".": 0.9}, {" It": 0.9}, {" is": 0.9}, {" a": 0.99, " the": 0.01}, {" cat": 0.9}, {" C": 0.9}]


@pytest.mark.parametrize(
    "places",
    [
        [{"A": 0.5, "B": 0.49, "C": 0.01}, *AFTERWARDS],
        [
            {"B": 0.9},
            {" or": 0.9},
            {"\n": 1.0},
            {"ANSWER": 1.0},
            {":": 1.0},
            {" A": 0.5, " B": 0.49, " C": 0.01},
            *AFTERWARDS,
        ],
        [{"Ġanswer": 1.0}, {"Ġ:": 1.0}, {"ĠA": 0.5, "ĠB": 0.49, "ĠC": 0.01}],
        [{"▁A": 0.5, "▁B": 0.49, "▁C": 0.01}],
        [{"A": 0.4, "B": 0.392, "C": 0.008, "a": 0.2}],
    ],
    ids=["first", "announced", "Ġ", "▁", "article beside"],
)
def test_the_answer_is_the_first_capital_letter_and_no_word_of_the_text_after_it(asked, tmp_path, places):
    samples = samples_with_logprobs()
    replaced_places(samples, places)
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    assert read.probabilities is not None
    np.testing.assert_allclose(read.probabilities[0], [0.5, 0.49, 0.01], atol=1e-12)


def test_the_last_announced_answer_counts(asked, tmp_path):
    samples = samples_with_logprobs()
    announced: list[dict[str, float | None]] = [{"ANSWER": 1.0}, {":": 1.0}]
    second: dict[str, float | None] = {" A": 0.6, " B": 0.3, " C": 0.1}
    replaced_places(samples, [*announced, {" B": 0.9}, {" Wait": 0.9}, {"\n": 1.0}, *announced, second])
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    assert read.probabilities is not None
    np.testing.assert_allclose(read.probabilities[0], [0.6, 0.3, 0.1], atol=1e-12)


def test_a_listed_token_without_log_probability_is_left_out(asked, tmp_path):
    samples = samples_with_logprobs()
    replaced_places(samples, [{"A": 0.6, "B": 0.3, "C": 0.1, "the": None}])
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), asked)
    assert read.probabilities is not None
    np.testing.assert_allclose(read.probabilities[0], [0.6, 0.3, 0.1], atol=1e-12)
    replaced_places(samples, [{"A": None, "B": 0.6, "C": 0.3}])
    (read,) = read_predictions(inspect_log(tmp_path / "without.json", samples, "choice"), asked)
    assert read.answers[0] == 0
    assert read.probabilities is None
    assert any("missing for 1 sample of 6" in note for note in read.notes)


def test_more_choices_than_letters_give_no_probabilities(tmp_path):
    choices = [f"choice {k}" for k in range(27)]
    rows = [{"id": f"q{i}", "question": f"what {i}?", "choices": choices, "answer": i % 3} for i in range(9)]
    data = cc.load(rows[:6], test=rows[6:])
    score = {"value": "C", "answer": "A", "explanation": "A"}
    samples = [
        inspect_sample(row["id"], "A", score, "choice", choices, logprobs=[{"A": np.log(0.9)}])
        for row in rows[6:]
    ]
    for sample, row in zip(samples, rows[6:], strict=True):
        sample["target"] = "ABC"[row["answer"]]
    (read,) = read_predictions(inspect_log(tmp_path / "log.json", samples, "choice"), data)
    assert read.answers.tolist() == [0, 0, 0]
    assert read.probabilities is None
    assert any("missing for 3 samples of 3" in note for note in read.notes)
    assert in_order_of_choices([("q6", choices, [1 / 26] * 26)], data) is None


def test_information_beyond_choices_only_uses_the_log_probabilities_of_two_logs(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"q{i}",
            "question": f"what {i}?",
            "choices": [f"red {i}", f"blue {i}"],
            "answer": int(rng.integers(2)),
        }
        for i in range(120)
    ]
    data = cc.load(rows[:60], test=rows[60:])
    right = {"model": rng.uniform(0.5, 0.95, 60), "model-choices": rng.uniform(0.3, 0.7, 60)}
    files = []
    for name, chance in right.items():
        samples = []
        for row, p in zip(rows[60:], chance, strict=True):
            shares = {"AB"[row["answer"]]: np.log(p), "AB"[1 - row["answer"]]: np.log(1 - p)}
            letter = max(shares, key=lambda one: shares[one])
            likely = dict(sorted(shares.items(), key=lambda one: -one[1]))
            score = {"value": "C", "answer": letter, "explanation": letter}
            target = "AB"[row["answer"]]
            samples.append(
                inspect_sample(row["id"], target, score, "choice", row["choices"], logprobs=[likely])
            )
        files.append((name, inspect_log(tmp_path / f"{name}.json", samples, "choice")))
    predictions = [replace(read_predictions(file, data)[0], model=name) for name, file in files]
    result = cc.NetScores().run(data, predictions)
    beyond = result.summary["beyond"]["model"]
    expected = float(np.mean(np.log2(right["model"]) - np.log2(right["model-choices"])))
    assert beyond["beyond"] == "model-choices"
    assert beyond["value"] == pytest.approx(expected, abs=1e-9)
    assert beyond["low"] < expected < beyond["high"]


def permuted_log(tmp_path, name: str, order: tuple[int, ...]):
    """Return a log of a model that always picks the first place, for documents with their choices in an order."""
    lines = []
    for i in range(6):
        choices = [f"{colour} {9 + i}" for colour in ("red", "green", "blue")]
        doc = {"question": f"what {i}?", "choices": [choices[k] for k in order]}
        target = str(order.index(i % 3))
        responses = [["-0.1", "True"], ["-2.0", "False"], ["-3.0", "False"]]
        lines.append(harness_line(i, doc, target, responses, acc=float(target == "0")))
    folder = tmp_path / name
    folder.mkdir()
    return harness_log(folder, lines)


def test_logs_whose_documents_have_their_choices_in_other_orders_are_orders_of_a_model(asked, tmp_path):
    orders = ((0, 1, 2), (2, 0, 1), (1, 2, 0))
    logs = [permuted_log(tmp_path, f"run{k}", order) for k, order in enumerate(orders)]
    read = [read_predictions(log, asked, model="m")[0] for log in logs]
    gold = check_test(asked).gold
    assert [one.answers.tolist() for one in read] == [[order[0]] * 6 for order in orders]
    assert [one.shown[0].tolist() for one in read] == [list(order) for order in orders]
    assert all((one.probabilities.argmax(axis=1) == one.answers).all() for one in read)
    assert [int((one.answers == gold).sum()) for one in read] == [2, 2, 2]
    assert len(told_apart(read).orders["m"]) == 3
