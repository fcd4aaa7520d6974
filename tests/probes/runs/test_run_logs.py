"""Logs of tools in the forms that they write, read item by item."""

from __future__ import annotations

import json

import pytest

from cuecard.errors import InputError
from cuecard.probes.runs import joined, read_runs
from tool_logs import inspect_log, inspect_sample


def _lines(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def _helm(folder, right, *, statistics):
    folder.mkdir(parents=True)
    model = folder.name.rpartition("model=")[2].replace("_", "/")
    (folder / "run_spec.json").write_text(json.dumps({"name": folder.name, "adapter_spec": {"model": model}}))
    instances = [
        {
            "id": f"id{i}",
            "input": {"text": f"Question {i}?"},
            "references": [
                {"output": {"text": "yes"}, "tags": ["correct"]},
                {"output": {"text": "no"}, "tags": []},
            ],
            "split": "test",
        }
        for i in range(len(right))
    ]
    (folder / "instances.json").write_text(json.dumps(instances))
    rows = []
    for i, hit in enumerate(right):
        row = {"instance_id": f"id{i}", "train_trial_index": 0}
        if statistics:
            names = [
                {"name": {"name": "num_references", "split": "test"}, "count": 1, "mean": 2.0},
                {"name": {"name": "quasi_exact_match", "split": "test"}, "count": 1, "mean": float(hit)},
            ]
            rows.append({**row, "stats": names})
        else:
            said = "yes" if hit else "no"
            rows.append(
                {**row, "predicted_text": " A", "mapped_output": said, "stats": {"exact_match": float(hit)}}
            )
    rows.append({**rows[0], "perturbation": {"name": "typos"}})
    rows.append({**rows[0], "train_trial_index": 1})
    name = "per_instance_stats.json" if statistics else "display_predictions.json"
    (folder / name).write_text(json.dumps(rows))
    return folder


def _promptfoo(right, provider, prompt=0):
    return [
        {
            "provider": {"id": provider, "label": ""},
            "prompt": {"raw": f"Q{i}", "label": "q"},
            "promptIdx": prompt,
            "testIdx": i,
            "vars": {"question": f"Q{i}"},
            "response": {"output": "x"},
            "success": hit,
            "score": float(hit),
            "gradingResult": {"pass": hit, "score": float(hit), "reason": "", "componentResults": []},
        }
        for i, hit in enumerate(right)
    ]


RIGHT = [True, False, True, True]


def _table(log):
    return log.table["correct"].to_list()


def test_inspect(tmp_path):
    choices = ["red", "green"]
    samples = [
        inspect_sample(i, "A", {"value": value, "answer": answer, "explanation": ""}, "choice", choices)
        for i, (value, answer) in enumerate(("C", "A") if hit else ("I", "B") for hit in RIGHT)
    ]
    samples += [
        inspect_sample(0, "A", {"value": "I", "answer": "B", "explanation": ""}, "choice", choices, epoch=2)
    ]
    [log] = read_runs(None, inspect_log(tmp_path / "a.json", samples, "choice"))
    assert log.model == "mockllm/model"
    assert _table(log) == RIGHT
    assert log.table["answer"].to_list() == ["red", "green", "red", "red"]
    assert log.table["key"].unique().to_list() == ["red"]


def test_lm_evaluation_harness(tmp_path):
    folder = tmp_path / "org__model"
    folder.mkdir()
    rows = [
        {
            "doc_id": i,
            "doc": {"question": f"Q{i}", "choices": ["a", "b"]},
            "target": 0,
            "filtered_resps": [[-1.0, False], [-2.0 if hit else -0.5, False]],
            "filter": "none",
            "metrics": ["acc"],
            "acc": float(hit),
        }
        for i, hit in enumerate(RIGHT)
    ]
    [log] = read_runs(None, _lines(folder / "samples_task_2026-01-01T00-00-00.jsonl", rows))
    assert log.model == "org/model"
    assert _table(log) == RIGHT
    assert log.table["answer"].to_list() == ["0", "1", "0", "0"]
    del rows[0]["acc"], rows[0]["metrics"]
    with pytest.raises(InputError, match="has no metric"):
        read_runs(None, _lines(folder / "samples_other.jsonl", rows))


@pytest.mark.parametrize("statistics", [True, False])
def test_helm(tmp_path, statistics):
    folder = _helm(tmp_path / "mmlu:subject=x,model=org_m", RIGHT, statistics=statistics)
    [log] = read_runs(None, folder)
    assert log.model == "org/m"
    assert _table(log) == RIGHT
    assert log.table["key"].unique().to_list() == ["yes"]
    if not statistics:
        assert log.table["answer"].to_list() == ["yes", "no", "yes", "yes"]
    assert not log.notes


def test_promptfoo_in_all_its_forms(tmp_path):
    rows = _promptfoo(RIGHT, "openai:a") + _promptfoo([not hit for hit in RIGHT], "openai:b", prompt=1)
    (tmp_path / "v3.json").write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}}))
    (tmp_path / "v4.json").write_text(json.dumps({"id": "e", "results": rows}))
    _lines(tmp_path / "lines.jsonl", rows)
    for name in ("v3.json", "v4.json", "lines.jsonl"):
        logs = read_runs(None, tmp_path / name)
        assert [(log.model, _table(log)[0]) for log in logs] == [("openai:a", True), ("openai:b", False)]
    (tmp_path / "prompts.json").write_text(
        json.dumps({"results": _promptfoo(RIGHT, "a") + _promptfoo(RIGHT, "a", prompt=1)})
    )
    assert [log.model for log in read_runs(None, tmp_path / "prompts.json")] == [
        "a · prompt 1",
        "a · prompt 2",
    ]


@pytest.mark.parametrize("saved", [True, False])
def test_deepeval(tmp_path, saved):
    names = ("actualOutput", "expectedOutput") if saved else ("actual_output", "expected_output")
    cases = [
        {
            "name": f"test_case_{i}",
            "input": f"Q{i}",
            names[0]: "x",
            names[1]: "x",
            "success": hit,
            "metricsData": [],
        }
        for i, hit in enumerate(RIGHT)
    ]
    document = {"testCases": cases, "hyperparameters": {"model": "m"}} if saved else {"test_results": cases}
    (tmp_path / "run.json").write_text(json.dumps(document))
    [log] = read_runs(None, tmp_path / "run.json")
    assert log.model == ("m" if saved else "run")
    assert _table(log) == RIGHT
    assert log.table["item"].to_list() == ["Q0", "Q1", "Q2", "Q3"]


def test_every_eval_ever(tmp_path):
    rows = [
        {
            "schema_version": "0.2.1",
            "evaluation_id": "e",
            "model_id": "org/m",
            "evaluation_name": "gsm8k",
            "sample_id": f"s{i}",
            "interaction_type": "single_turn",
            "input": {"raw": f"Q{i}", "reference": ["7"]},
            "output": {"raw": ["It is 7."]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": "7" if hit else "8",
                    "extraction_method": "regex",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(hit), "is_correct": hit},
        }
        for i, hit in enumerate(RIGHT)
    ]
    [log] = read_runs(None, _lines(tmp_path / "eee.jsonl", rows))
    assert (log.model, log.benchmark, _table(log)) == ("org/m", "gsm8k", RIGHT)
    assert log.table["answer"].to_list() == ["7", "8", "7", "7"]


def test_a_folder_of_runs_is_joined_with_its_answers(tmp_path):
    for name, right in (("a", RIGHT), ("b", [True, True, False, True])):
        _helm(tmp_path / f"mmlu:x=1,model={name}", right, statistics=False)
    table = joined(read_runs(None, tmp_path))
    assert table.models == ("a", "b")
    assert table.correct.sum(axis=0).tolist() == [3, 3]
    assert table.answers.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]
    assert table.options[1] == ("yes", "no")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no log"):
        read_runs(None, tmp_path / "empty")


def test_items_that_a_model_lacks_and_broken_lines_are_named(tmp_path):
    rows = [{"doc_id": i, "filtered_resps": ["x"], "target": "x", "exact_match": 1.0} for i in range(4)]
    a, b = _lines(tmp_path / "samples_a.jsonl", rows), _lines(tmp_path / "samples_b.jsonl", rows[:3])
    table = joined([*read_runs("a", a), *read_runs("b", b)])
    assert len(table) == 3
    assert "3 of 4 items are in the logs of all 2 models" in table.notes[0]
    b.write_text(b.read_text() + "\n{")
    with pytest.raises(InputError, match="line 4"):
        read_runs("b", b)
