from __future__ import annotations

import json
import re

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli, demo_predictions, write_demo
from cuecard.errors import InputError, UsageError
from cuecard.models.answers import AnswerCache
from cuecard.models.endpoint import Endpoint
from cuecard.probes import (
    UNANSWERED,
    check_test,
    find_prompt,
    prompted_answers,
    read_many_predictions,
    read_predictions,
)
from cuecard.probes.cues.members import cue_stress_set, sample_test
from cuecard.probes.prompts.asking import BUILT_IN
from cuecard.report.sections import section_view
from pace import PATIENCE
from scripted_server import Script, serving
from small_sets import choice_instances

pytest.importorskip("httpx", reason="the extra llm is not installed")


@pytest.fixture(scope="module")
def demo():
    return demo_nli(4000, seed=1)


@pytest.fixture
def small(demo):
    return sample_test(demo.instances, 40)


def ask(script, data, prompts, **options):
    endpoint = Endpoint(script.url, "tiny", pause=0.01, timeout=PATIENCE)
    return read_predictions(
        prompted_answers(data, endpoint, [find_prompt(name) for name in prompts], **options), data
    )


def test_built_in_prompts_hold_the_texts_and_all_answers_for_every_task(demo):
    for data in (demo.instances, demo_choice(300, seed=1).instances):
        examples = check_test(data)
        for name, (_, steps) in BUILT_IN.items():
            text = find_prompt(name).render(examples, 0)
            assert examples.premises[0] in text
            assert all(choice in text for choice in examples.choices[0].to_list())
            assert ("Let's think step by step" in text) == steps
    assert "A, B, C" in text


def test_texts_are_read_and_what_cannot_be_read_is_counted(small):
    said = {0: "entailment", 1: "banana", 2: "Answer: neutral", 3: "neutral or entailment"}
    with serving(Script()) as script:
        numbers: dict[str, int] = {}
        script.answer = lambda prompt: said[numbers.setdefault(prompt, len(numbers)) % 4]
        (read,) = ask(script, small, ["short-steps"])
        expected = {0: 0, 1: UNANSWERED, 2: 1, 3: UNANSWERED}
        examples = check_test(small)
        prompt = find_prompt("short-steps")
        for i in range(len(examples)):
            assert read.answers[i] == expected[numbers[prompt.render(examples, i)] % 4]
    assert read.unanswered == 20
    assert "20 could not be parsed" in read.notes[0]


def test_log_probabilities_decide_where_they_are_given(small):
    with serving(Script(answer=lambda prompt: "banana")) as script:
        script.first_tokens = lambda prompt: [("contr", -0.2), ("neutral", -1.8)]
        short, steps = ask(script, small, ["short", "short-steps"])
    assert (short.answers == small.labels.index("contradiction")).all()
    assert steps.unanswered == 40
    assert "40 answers by log-probability" in short.notes[0]


def test_the_text_decides_where_the_first_token_is_hardly_ever_an_answer(small):
    with serving(Script(answer=lambda prompt: "I would say neutral.")) as script:
        script.first_tokens = lambda prompt: [("I", -0.1), ("contr", -4.0)]
        (short,) = ask(script, small, ["short"])
    assert (short.answers == small.labels.index("neutral")).all()
    assert "0 answers by log-probability, 40 by text" in short.notes[0]


def test_an_answer_cut_off_before_it_was_marked_is_not_read(small):
    with serving(Script(answer=lambda prompt: "First, neutral means that", finish_reason="length")) as script:
        (steps,) = ask(script, small, ["short-steps"])
    assert steps.unanswered == 40


def test_structured_answers_are_asked_for_with_a_schema_and_read_from_their_field(small):
    said = {
        False: '{"answer": "neutral"}',
        True: '{"reasoning": "Answer: entailment?", "answer": "contradiction"}',
    }
    with serving(Script(answer=lambda prompt: said["step by step" in prompt])) as script:
        short, steps = ask(script, small, ["short", "short-steps"], structured=True)
        bodies = list(script.bodies)
    assert (short.answers == small.labels.index("neutral")).all()
    assert (steps.answers == small.labels.index("contradiction")).all()
    schemas = [body["response_format"]["json_schema"]["schema"] for body in bodies]
    assert {tuple(schema["properties"]) for schema in schemas} == {("answer",), ("reasoning", "answer")}
    assert all(schema["properties"]["answer"]["enum"] == list(small.labels) for schema in schemas)


def test_a_letter_in_a_structured_answer_is_the_choice_and_another_value_is_none():
    data = choice_instances([("test", f"Which {i}?", ["one", "two"], 0) for i in range(2)])
    with serving(Script(answer=lambda prompt: '{"answer": "B"}')) as script:
        (read,) = ask(script, data, ["short"], structured=True)
        assert read.answers.tolist() == [1, 1]
        script.answer = lambda prompt: '{"answer": 7, "why": "neither"}'
        (read,) = ask(script, data, ["alternative"], structured=True)
    assert read.unanswered == 2


def test_choices_are_answered_by_letter(demo):
    data = sample_test(demo_choice(400, seed=1).instances, 20)
    with serving(Script(answer=lambda prompt: "B")) as script:
        (read,) = ask(script, data, ["alternative"])
    assert (read.answers == 1).all()


def test_more_choices_than_letters_are_refused_before_anything_is_asked():
    many = [("test", "Which?", [f"choice {i}" for i in range(27)], 0)]
    with serving(Script()) as script:
        with pytest.raises(UsageError, match="has 27 choices"):
            ask(script, choice_instances(many), ["short"])
        assert not script.asked
        script.answer = lambda prompt: "Z"
        (read,) = ask(script, choice_instances([("test", "Which?", many[0][2][:26], 0)]), ["short"])
    assert read.answers.tolist() == [25]


def test_the_study_names_the_prompt_with_the_smallest_gap(demo):
    data = cue_stress_set(demo.instances, "indeed").balanced
    examples = check_test(data)
    gold = dict(zip(examples.premises, examples.gold, strict=True))

    def answer(prompt):
        """With the short prompt follow the cue, else be right."""
        premise = next(p for p in gold if p in prompt)
        follows = "Decide how" in prompt and re.search(r"\bindeed\b", prompt.split("Second text:")[1])
        return "entailment" if follows else data.labels[gold[premise]]

    with serving(Script(answer=answer)) as script:
        models = ask(script, data, ["short", "alternative"])
    card = cc.probe(data, models, cues=["indeed"], features=("word",))
    assert card["prompts"].summary["smallest_gap"] == {"indeed": "tiny · alternative"}
    assert card["prompts"].table["prompt"].to_list() == ["short", "alternative"]
    assert card.measure("prompts.accuracy.tiny · alternative").value == 1
    assert card.measure("prompts.unanswered.tiny · short").value == 0
    (finding,) = [finding for finding in card.findings if finding.section == "prompts"]
    assert (finding.id, finding.unit) == ("prompts/word:indeed", "points")
    view = section_view(card, "prompts")
    assert "alternative" in view.lead[0]
    assert [row[1] for row in view.tables[0].rows] == ["short", "alternative"]


def test_a_template_of_the_users_own_and_its_mistakes(small, tmp_path):
    path = tmp_path / "mine-steps.j2"
    path.write_text("{{ premise }} / {{ hypothesis }} / {{ labels | join('|') }}")
    prompt = find_prompt(str(path))
    assert prompt.steps
    examples = check_test(small)
    assert prompt.render(examples, 0).startswith(examples.premises[0])
    path.write_text("{{ nothing }}")
    with pytest.raises(InputError, match="'nothing' is undefined"):
        find_prompt(str(path)).render(examples, 0)
    path.write_text("{% if %}")
    with pytest.raises(InputError, match="not valid Jinja"):
        find_prompt(str(path))
    with pytest.raises(UsageError, match="Did you mean 'short'"):
        find_prompt("shrt")
    path.write_text("{{ ''.__class__.__mro__ }}")
    with pytest.raises(InputError, match="cannot be filled in"):
        find_prompt(str(path)).render(examples, 0)


def test_the_command_asks_keeps_answers_and_resumes(cuecard, demo, tmp_path, monkeypatch):
    written = write_demo(demo, tmp_path / "data")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    data = [written["train"], "--test", written["test"]]
    asked = tmp_path / "asked.jsonl"
    with serving(Script(answer=lambda prompt: "neutral")) as script:
        call = ["ask", *data, "--endpoint", script.url, "--model", "tiny", "--sample", 30]
        call += ["--prompt", "short", "--prompt", "alternative"]
        call += ["--keep-answers", tmp_path / "answers.jsonl", "--out", asked]
        ran = cuecard(*call, "--max-requests", 25, "--quiet")
        assert ran.code == 2
        assert "25 of 60 requests are answered and saved" in ran.err
        assert not asked.exists()
        ran = cuecard(*call)
        assert ran.code == 0, ran.err
        assert sum(script.answered.values()) == 60
        assert len(AnswerCache(tmp_path / "answers.jsonl")) == 60
    assert f"--predictions {asked}" in ran.out
    assert "sk-secret-123" not in asked.read_text() + ran.out
    probed = cuecard("probe", *data, "--predictions", asked, "--features", "word", "--out", tmp_path / "out")
    assert probed.code == 0, probed.err
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["dataset"]["splits"]["test"]["examples"] == 30
    assert card["sections"]["prompts"]["status"] in ("done", "skipped")
    assert list(card["sections"]["accuracy_test"]["summary"]["models"]) == [
        "tiny · short",
        "tiny · alternative",
    ]
    for address in (
        "localhost",
        "me:sk-secret@host/v1",
        "http://me:sk-secret@host/v1",
        "http://host/v1#sk-secret",
    ):
        refused = cuecard("ask", *data, "--endpoint", address, "--model", "tiny", "--out", tmp_path / "n.csv")
        assert refused.code == 2
        assert "sk-secret" not in refused.out + refused.err
    assert not (tmp_path / "n.csv").exists()
    assert cuecard("ask", *data, "--endpoint", "http://x/v1", "--out", tmp_path / "n.csv").code == 2


def test_a_file_of_answers_gives_the_card_of_the_answers_themselves(demo, tmp_path):
    data = cue_stress_set(demo.instances, "indeed").balanced
    with serving(Script(answer=lambda prompt: "neutral" if len(prompt) % 3 else "no idea")) as script:
        endpoint = Endpoint(script.url, "tiny", pause=0.0)
        table = prompted_answers(data, endpoint, [find_prompt(name) for name in ("short", "alternative")])
    table.write_ndjson(tmp_path / "asked.jsonl")
    narrowed, read = read_many_predictions([(None, tmp_path / "asked.jsonl")], demo.instances)
    assert check_test(narrowed).ids.to_list() == check_test(data).ids.to_list()
    ours = read_predictions(table, data)
    assert [model.prompt for model in read] == ["short", "alternative"]
    for file, memory in zip(read, ours, strict=True):
        assert (file.model, file.notes) == (memory.model, memory.notes)
        assert (file.answers == memory.answers).all()
        assert 0 < file.unanswered < len(file.answers)
    card = cc.probe(demo.instances, tmp_path / "asked.jsonl", cues=["indeed"], features=("word",))
    assert card["prompts"].status == "done"
    assert card.dataset.splits["test"].examples == len(check_test(data))


def test_other_predictions_are_narrowed_to_what_was_asked(demo, tmp_path):
    examples = check_test(demo.instances)
    some = examples.ids.cast(str).gather_every(7)
    table = pl.DataFrame(
        {"id": some, "prompt_name": ["mine"] * len(some), "prediction": ["neutral"] * len(some)}
    )
    whole = demo_predictions(demo, follow=0.5).filter(pl.col("split") == "test")
    part, models = read_many_predictions([("whole", whole), ("asked", table)], demo.instances)
    assert check_test(part).ids.cast(str).to_list() == some.to_list()
    assert [model.model for model in models] == ["whole", "asked"]
    (unnarrowed,) = read_predictions(whole, demo.instances)
    assert models[0].answers.tolist() == unnarrowed.answers[::7].tolist()
    other = table.with_columns(id=pl.Series(examples.ids.cast(str).gather_every(7, 1).head(len(some))))
    with pytest.raises(InputError, match="share no test example"):
        read_many_predictions([("a", table), ("b", other)], demo.instances)
