"""Logs with every field that Inspect 0.3.285 and lm-evaluation-harness 0.4.13 wrote for their mock models."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import cuecard as cc
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.probes import UNANSWERED, read_predictions

LABELS = ["contradiction", "entailment", "neutral"]
SAID = [
    "contradiction",
    "The answer is entailment",
    "Neutral.",
    "no idea",
    "entailment",
    "entailment or neutral",
]


def inspect_sample(
    number: int | str,
    target: str,
    score: dict[str, Any],
    scorer: str,
    choices: list[str] | None = None,
    epoch: int = 1,
) -> dict[str, Any]:
    """Return a sample as `inspect eval --log-format json` writes it."""
    said = score["explanation"]
    message = {
        "id": f"m{number}",
        "content": said,
        "source": "generate",
        "role": "assistant",
        "model": "mockllm/model",
    }
    return {
        "id": number,
        "epoch": epoch,
        "input": f"Question {number}?",
        **({"choices": choices} if choices else {}),
        "target": target,
        "messages": [
            {"id": f"u{number}", "content": f"Question {number}?", "source": "input", "role": "user"},
            message,
        ],
        "output": {
            "model": "mockllm/model",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": said,
            "usage": {"input_tokens": 242, "output_tokens": 9, "total_tokens": 251},
            "time": 0.001,
        },
        "scores": {scorer: {**score, "history": []}},
        "metadata": {},
        "store": {},
        "events": [],
        "model_usage": {"mockllm/model": {"input_tokens": 242, "output_tokens": 9, "total_tokens": 251}},
        "role_usage": {},
        "started_at": "2026-01-01T00:06:51.741729+00:00",
        "completed_at": "2026-01-01T00:06:51.747320+00:00",
        "total_time": 0.006,
        "working_time": 0.005,
        "uuid": f"uuid{number}",
        "error_retries": [],
        "attachments": {},
        "turn_count": 1,
    }


def inspect_log(path: Path, samples: list[dict[str, Any]], scorer: str) -> Path:
    """Write a log as Inspect does, with its plan, results and statistics."""
    ids = [sample["id"] for sample in samples if sample["epoch"] == 1]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e",
            "run_id": "r",
            "created": "2026-01-01T00:06:50+00:00",
            "task": "task",
            "task_id": "t",
            "task_version": 0,
            "task_args": {},
            "dataset": {"samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": "mockllm/model",
            "model_args": {},
            "config": {"epochs": 1, "fail_on_error": True},
            "packages": {"inspect_ai": "0.3.285"},
            "scorers": [{"name": scorer, "options": {}}],
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": scorer, "scorer": scorer, "params": {}, "metrics": {}}],
        },
        "stats": {"started_at": "2026-01-01T00:06:50+00:00", "model_usage": {}},
        "invalidated": False,
        "tags": [],
        "metadata": {},
        "samples": samples,
        "reductions": [{"scorer": scorer, "samples": []}],
    }
    path.write_text(json.dumps(log, indent=2))
    return path


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


def harness_line(
    doc_id: int, doc: dict[str, Any], target: str, responses: list[Any], **metrics: float
) -> str:
    """Return a line as `lm_eval --log_samples` writes it: numbers and truth values are texts."""
    hashed = hashlib.sha256(json.dumps(doc).encode()).hexdigest()
    sample = {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {
            f"gen_args_{k}": {"arg_0": "…\nAnswer:", "arg_1": f" {k}"} for k in range(len(responses))
        },
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": list(metrics),
        "doc_hash": hashed,
        "prompt_hash": hashed,
        "target_hash": hashed,
        **metrics,
    }
    return json.dumps(sample) + "\n"


def harness_log(tmp_path: Path, lines: list[str]) -> Path:
    folder = tmp_path / "org__small-model"
    folder.mkdir()
    path = folder / "samples_my_task_2026-01-01T00-07-41.296781.jsonl"
    path.write_text("".join(lines))
    return path


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
