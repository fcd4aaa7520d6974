"""The Inspect package asks what it says: run with Inspect's mock model, where Inspect is installed."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

import cuecard as cc
from cuecard.probes import read_predictions
from cuecard.probes.predictions import as_split
from cuecard.probes.variants import told_apart

PACKAGE = Path(__file__).parents[2] / "integrations" / "inspect-cuecard"
ROWS = [
    {
        "id": f"q{i}",
        "question": f"What is {i} plus {i}?",
        "choices": [f"{i}1", str(2 * i), "no idea"],
        "answer": 1,
    }
    for i in range(1, 7)
]


def test_the_entry_point_names_the_registry_of_the_package():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {"inspect_cuecard": "inspect_cuecard._registry"}
    assert (PACKAGE / "src" / "inspect_cuecard" / "_registry.py").exists()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run a task of the package with a mock model that says B, and return its log."""
    inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    monkeypatch.syspath_prepend(PACKAGE / "src")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # Inspect sets its own; it is put back
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    def run(name: str, *, times: int = 1, **options):
        import inspect_cuecard

        answers = [ModelOutput.from_content("mockllm/model", "ANSWER: B") for _ in range(times * len(ROWS))]
        for answer in answers:
            answer.usage = ModelUsage()  # otherwise tokens are counted with a vocabulary from the network
        model = get_model("mockllm/model", custom_outputs=answers)
        task = getattr(inspect_cuecard, name)(str(file), **options)
        (log,) = inspect_ai.eval(
            task, model=model, log_dir=str(tmp_path / "logs"), display="none", log_format="json"
        )
        assert log.status == "success", log.error
        return log

    yield run
    for name in [name for name in sys.modules if name.startswith("inspect_cuecard")]:
        del sys.modules[name]


def prompts(log) -> list[str]:
    return [sample.messages[0].text for sample in log.samples]


def accuracy(log) -> float:
    return log.results.scores[0].metrics["accuracy"].value


def test_questions_are_asked_as_they_are(asked):
    log = asked("questions")
    assert accuracy(log) == 1.0
    assert "What is 3 plus 3?" in prompts(log)[2]
    assert [sample.id for sample in log.samples] == [row["id"] for row in ROWS]


def test_choices_only_hides_the_question(asked):
    log = asked("choices_only")
    assert accuracy(log) == 1.0  # the mock model always says B, which the file has as the answer
    assert not any("What is" in prompt for prompt in prompts(log))
    assert all("no idea" in prompt for prompt in prompts(log))


def test_permuted_choices_move_the_answer(asked):
    log = asked("permuted", seed=3)
    assert 0 < accuracy(log) < 1
    assert accuracy(asked("permuted", seed=3)) == accuracy(log)


def test_every_order_is_asked_and_scored_and_probe_reads_the_log(asked, tmp_path):
    log = asked("in_orders", times=3)
    scores = {
        score.name: {name: m.value for name, m in score.metrics.items()} for score in log.results.scores
    }
    # A model that always says B is right in one order of three, and picks every option once.
    assert scores["accuracy"]["mean"] == pytest.approx(1 / 3)
    assert scores["flips"]["mean"] == 1.0
    assert scores["first_place"]["mean"] == 0.0
    data = as_split(cc.load(str(tmp_path / "questions.jsonl")), "test")
    ways = read_predictions(str(log.location), data, model="mock")
    assert [one.model for one in ways] == ["mock"] * 3
    assert all((one.shown[:, 1] == one.answers).all() for one in ways)
    assert set(told_apart(ways).orders) == {"mock"}


def test_logs_of_permuted_runs_are_orders_of_one_model(asked, tmp_path):
    logs = [asked("permuted", seed=seed) for seed in (1, 2, 3)]
    data = as_split(cc.load(str(tmp_path / "questions.jsonl")), "test")
    ways = [read_predictions(str(log.location), data, model="mock")[0] for log in logs]
    # The mock model always picks what stands at B.
    assert all((one.shown[:, 1] == one.answers).all() for one in ways)
    assert len(told_apart(ways).orders["mock"]) == 3
