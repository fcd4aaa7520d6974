from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from cuecard.errors import InputError, UsageError
from cuecard.models.answers import AnswerCache, Question, Reply
from cuecard.models.endpoint import Endpoint, EndpointError, check_endpoint
from pace import PATIENCE
from scripted_server import Script, serving

pytest.importorskip("httpx", reason="the extra llm is not installed")

FAULTS = ["429", "500", "503", "broken", "cut"]


@pytest.fixture
def script():
    with serving(Script(answer=lambda prompt: f"re: {prompt}")) as running:
        yield running


def endpoint(script, **changes):
    options = {"timeout": PATIENCE, "pause": 0.01, "attempts": 4, "concurrency": 4} | changes
    return Endpoint(script.url, "tiny", **options)


def questions(n):
    return [Question(f"q{i}") for i in range(n)]


def test_every_fault_is_survived_and_nothing_is_asked_twice_or_lost(script, tmp_path):
    for i, fault in enumerate(FAULTS):
        script.faults[f"q{i}"] = [fault] * (1 + i % 2)
    cache = AnswerCache(tmp_path / "answers.jsonl")
    replies = endpoint(script).ask(questions(20), cache)
    assert [reply.text for reply in replies] == [f"re: q{i}" for i in range(20)]
    assert set(script.answered.values()) == {1}
    assert sum(script.asked.values()) == 20 + sum(1 + i % 2 for i in range(len(FAULTS)))
    again = endpoint(script).ask(questions(20), AnswerCache(tmp_path / "answers.jsonl"))
    assert again == replies
    assert sum(script.answered.values()) == 20


def test_a_question_without_an_answer_in_time_is_asked_again(script):
    script.faults["q0"] = ["timeout"]
    replies = endpoint(script, timeout=1, attempts=50).ask(questions(3))
    assert [reply.text for reply in replies] == ["re: q0", "re: q1", "re: q2"]
    assert script.asked["q0"] >= 2


def test_equal_questions_are_asked_once(script):
    replies = endpoint(script).ask([Question("same")] * 9 + [Question("same", max_tokens=99)])
    assert len(replies) == 10
    assert script.answered["same"] == 2


def test_a_budget_stops_the_run_and_the_next_one_goes_on_from_there(script, tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(
        EndpointError, match=r"limit of 7 requests is reached. 7 of 12 requests are answered and saved"
    ):
        endpoint(script, max_requests=7).ask(questions(12), AnswerCache(path))
    assert len(endpoint(script, max_requests=7).ask(questions(12), AnswerCache(path))) == 12
    assert set(script.answered.values()) == {1}


def test_a_question_that_never_gets_an_answer_ends_the_run_and_keeps_the_others(script, tmp_path):
    script.faults["q3"] = ["500"] * 50
    cache = AnswerCache(tmp_path / "answers.jsonl")
    with pytest.raises(EndpointError, match="failed 4 times; last: status 500"):
        endpoint(script, concurrency=1).ask(questions(6), cache)
    assert len(cache) == 3
    script.faults.clear()
    assert len(endpoint(script).ask(questions(6), cache)) == 6
    assert set(script.answered.values()) == {1}


def test_a_refusal_is_not_repeated_and_the_key_is_never_shown(script, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    script.faults["q0"] = ["401"]
    cache = AnswerCache(tmp_path / "answers.jsonl")
    client = endpoint(script, key_variable="MY_KEY", concurrency=1)
    with pytest.raises(EndpointError) as refused:
        client.ask(questions(1), cache)
    assert "status 401" in str(refused.value)
    assert "MY_KEY" in str(refused.value)
    assert "sk-secret-123" not in str(refused.value) + repr(client)
    assert script.asked["q0"] == 1
    client.ask(questions(1), cache)
    assert script.headers[-1]["Authorization"] == "Bearer sk-secret-123"
    assert "sk-secret-123" not in (tmp_path / "answers.jsonl").read_text()


def test_no_server_is_said_in_a_sentence():
    with pytest.raises(EndpointError, match="the connection failed"):
        Endpoint("http://127.0.0.1:9/v1", "tiny", attempts=2, pause=0.01).ask(questions(1))


def test_a_cut_line_of_the_cache_is_asked_again_and_nothing_else(script, tmp_path):
    path = tmp_path / "answers.jsonl"
    endpoint(script).ask(questions(3), AnswerCache(path))
    path.write_bytes(path.read_bytes()[:-20])
    endpoint(script).ask(questions(3), AnswerCache(path))
    assert sorted(script.answered.values()) == [1, 1, 2]
    assert len(AnswerCache(path)) == 3


@pytest.mark.parametrize(
    "answer",
    [
        "3",
        "[]",
        "{}",
        '{"text": null, "first_tokens": []}',
        '{"text": "yes", "first_tokens": [["a"]]}',
        '{"text": "yes", "first_tokens": [["a", "b"]]}',
        "[" * 100_000,
        "9" * 5_000,
    ],
    ids=lambda answer: answer[:20],
)
def test_a_kept_answer_of_another_form_is_asked_again(script, tmp_path, answer):
    path = tmp_path / "answers.jsonl"
    endpoint(script).ask(questions(1), AnswerCache(path))
    key = json.loads(path.read_text())["key"]
    path.write_text(f'{{"key": "{key}", "answer": {answer}\n{{"key": "{key}", "answer": {answer}}}\n')
    assert len(endpoint(script).ask(questions(1), AnswerCache(path))) == 1
    assert list(script.answered.values()) == [2]


def test_log_probabilities_are_kept(script):
    script.first_tokens = lambda prompt: [("neu", -0.1), ("ent", -2.0)]
    (reply,) = endpoint(script).ask([Question("q", logprobs=True)])
    assert reply.first_tokens == (("neu", -0.1), ("ent", -2.0))


def test_a_cut_answer_is_kept_as_one(script, tmp_path):
    script.finish_reason = "length"
    path = tmp_path / "answers.jsonl"
    assert endpoint(script).ask(questions(1), AnswerCache(path)) == [Reply("re: q0", cut=True)]
    assert endpoint(script).ask(questions(1), AnswerCache(path)) == [Reply("re: q0", cut=True)]


@pytest.mark.parametrize(
    "odd",
    [
        ["x"],
        "none",
        {"content": {"token": "a"}},
        {"content": ["x"]},
        {"content": [{"token": "a"}]},
        {"content": [{"top_logprobs": [{"token": "a", "logprob": None}]}]},
        {"content": [{"top_logprobs": [{"token": "a", "logprob": float("nan")}]}]},
    ],
)
def test_log_probabilities_of_an_unknown_form_are_left_out_and_the_text_is_kept(script, odd):
    script.odd_logprobs = odd
    (reply,) = endpoint(script).ask([Question("q", logprobs=True)])
    assert reply == Reply("re: q")
    assert script.asked["q"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_run_at_once_and_the_answer_does_not_count_as_kept(script, tmp_path):
    path = tmp_path / "answers.jsonl"
    cache = AnswerCache(path)
    path.symlink_to("/dev/full")
    with pytest.raises(InputError, match="cannot be written"):
        endpoint(script, concurrency=1).ask(questions(40), cache)
    assert sum(script.asked.values()) == 1
    assert len(cache) == 0
    path.unlink()
    assert len(endpoint(script).ask(questions(3), cache)) == 3
    assert len(AnswerCache(path)) == 3


def test_a_fault_of_our_own_ends_the_run_at_once(script):
    class Faulty(AnswerCache):
        def put(self, key, answer):
            raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        endpoint(script, concurrency=1).ask(questions(40), Faulty())
    assert sum(script.asked.values()) == 1


def test_an_interrupted_run_finishes_requests_under_way_and_starts_no_other(script):
    def slowly(prompt):
        time.sleep(0.2)
        return "re"

    script.answer, cache = slowly, AnswerCache()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        endpoint(script, concurrency=2).ask(questions(200), cache)
    assert len(cache) == sum(script.answered.values()) < 100


def test_half_a_character_is_asked_and_kept_like_any_other_text(script, tmp_path):
    script.answer = lambda prompt: "so \ud83d"
    path = tmp_path / "answers.jsonl"
    (reply,) = endpoint(script).ask([Question("what \udc00 é")], AnswerCache(path))
    assert reply.text == "so \ud83d"
    assert endpoint(script).ask([Question("what \udc00 é")], AnswerCache(path)) == [reply]
    assert sum(script.asked.values()) == 1


def test_a_key_is_masked_even_where_the_servers_words_are_cut(script, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-" + "0123456789" * 40)
    script.faults["q0"] = ["400"]
    with pytest.raises(EndpointError) as refused:
        endpoint(script, key_variable="MY_KEY").ask(questions(1))
    assert "status 400" in str(refused.value)
    assert "sk-0" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8080",
        "sk-secret@host/v1",
        "host/v1?key=sk-secret",
        "http://host:sk-secret/v1",
        "http://[sk-secret",
        "http://ho st/sk-secret",
        "http://\u202e127.0.0.1/sk-secret",
        "http://xn--\udcff/sk-secret",
        "http://ho\nst/sk-secret",
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(address):
    with pytest.raises(UsageError, match=r"127\.0\.0\.1") as refused:
        check_endpoint(address)
    assert address not in str(refused.value)
    assert "sk-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "https://me:sk-secret@host/v1",
        "https://sk-secret@host/v1",
        "https://host/v1?key=sk-secret",
        "https://host/v1#sk-secret",
        "https://host/v1#",
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_so_that_no_card_can_hold_it(address):
    with pytest.raises(UsageError, match="--key-variable") as refused:
        Endpoint(address, "tiny")
    assert "sk-secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks5h://me:sk-secret@127.0.0.1:1"),
        ("HTTP_PROXY", "gopher://me:sk-secret@127.0.0.1:1"),
        ("NO_PROXY", "[::1"),
        ("SSL_CERT_FILE", "/sk-secret/none.pem"),
        ("SSL_CERT_FILE", "/dev/null"),
    ],
)
def test_a_proxy_or_certificates_that_cannot_be_used_are_named_by_their_variable(name, value, monkeypatch):
    for other in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)
        monkeypatch.delenv(other.lower(), raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(EndpointError, match=f"correct or unset the environment variable {name}") as refused:
        Endpoint("https://127.0.0.1:9/v1", "tiny", attempts=1).ask(questions(1))
    assert "sk-secret" not in str(refused.value)
