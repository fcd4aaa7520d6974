"""What requests cost beforehand, and the limits of money and pace."""

from __future__ import annotations

import time

import pytest

from cuecard.errors import InputError, UsageError
from cuecard.models.answers import AnswerCache, Question
from cuecard.models.endpoint import Endpoint, EndpointError
from cuecard.models.pricing import Price, estimate, price_of
from pace import PATIENCE
from scripted_server import Script, serving

pytest.importorskip("httpx", reason="the extra llm is not installed")

ONE_DOLLAR_A_TOKEN = Price(input=1e6, output=1e6, date="2025-01-01")


def questions(n):
    return [Question(f"q{i}", max_tokens=8) for i in range(n)]


def test_a_model_has_the_price_of_its_name_with_or_without_a_date_and_the_users_table_goes_first(tmp_path):
    shipped = price_of("gpt-4o-mini-2024-07-18")
    assert shipped == price_of("gpt-4o-mini")
    assert price_of("smollm2") is None
    own = tmp_path / "prices.toml"
    own.write_text("[gpt-4o-mini]\ninput = 1\noutput = 2\ndate = 2026-01-02\n")
    assert price_of("gpt-4o-mini", own) == Price(input=1, output=2, date="2026-01-02")
    assert price_of("gpt-4o", own) == price_of("gpt-4o")


@pytest.mark.parametrize(
    "text", ["[m", "[m]\ninput = 1\n", "[m]\ninput = -1\noutput = 1\ndate = 2025-01-01", "m = 3"]
)
def test_a_table_of_prices_that_is_none_is_refused_in_a_sentence(tmp_path, text):
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(InputError, match="correct the table"):
        price_of("m", own)


def test_an_estimate_counts_bytes_and_what_may_be_written():
    told = estimate([Question("x" * 400, max_tokens=10)] * 3, 2, ONE_DOLLAR_A_TOKEN)
    assert (told.requests, told.cached, told.input_tokens, told.output_tokens) == (3, 2, 324, 30)
    assert told.cost == 354
    assert "unknown" in "\n".join(estimate(questions(1), 0, None).lines("m"))
    assert estimate([], 2, None).cost == 0


def test_an_estimate_leaves_out_what_the_cache_holds(tmp_path):
    with serving(Script()) as script:
        endpoint = Endpoint(script.url, "tiny", timeout=PATIENCE)
        cache = AnswerCache(tmp_path / "answers.jsonl")
        endpoint.ask(questions(4), cache)
        told = endpoint.estimate([*questions(6), *questions(6)], cache)
        assert sum(script.asked.values()) == 4
    assert (told.requests, told.cached) == (2, 4)


@pytest.mark.parametrize(("usage", "sent"), [({"prompt_tokens": 2, "completion_tokens": 1}, 21), (None, 2)])
def test_a_cost_limit_is_never_exceeded_and_counts_what_the_server_used(usage, sent, tmp_path):
    # A request may cost at most 2 + 32 + 8 dollars; with usage it costs 3, without it counts in full.
    with serving(Script(usage=usage)) as script:
        endpoint = Endpoint(
            script.url, "tiny", timeout=PATIENCE, concurrency=3, max_cost=104, price=ONE_DOLLAR_A_TOKEN
        )
        cache = AnswerCache(tmp_path / "answers.jsonl")
        with pytest.raises(
            EndpointError, match=rf"limit of 104 US dollars .* {sent} of 50 requests are answered"
        ):
            endpoint.ask(questions(50), cache)
        assert sum(script.asked.values()) == sent
        endpoint.ask(questions(sent - 1)[:1], cache)  # cached requests cost nothing
        assert sum(script.asked.values()) == sent


def test_a_cost_limit_needs_a_price():
    with pytest.raises(UsageError, match="--max-cost needs the price of tiny"):
        Endpoint("http://127.0.0.1:9/v1", "tiny", max_cost=1.0)


def test_failed_requests_without_a_response_count_in_full():
    with serving(Script(usage={"prompt_tokens": 1, "completion_tokens": 1})) as script:
        script.faults["q0"] = ["cut"] * 9
        endpoint = Endpoint(
            script.url, "tiny", timeout=PATIENCE, pause=0.01, max_cost=100, price=ONE_DOLLAR_A_TOKEN
        )
        with pytest.raises(EndpointError, match=r"84\.0000 are spent"):
            endpoint.ask(questions(1))
        assert script.asked["q0"] == 2


def test_requests_start_no_faster_than_the_rate_allows():
    with serving(Script()) as script:
        started = time.monotonic()
        Endpoint(script.url, "tiny", timeout=PATIENCE, rate=1200, concurrency=8).ask(questions(7))
        assert time.monotonic() - started >= 6 * 0.05 * 0.9
        assert sum(script.asked.values()) == 7
