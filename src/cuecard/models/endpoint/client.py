"""A client for OpenAI-compatible chat endpoints: concurrent, patient with faults, within a budget, resumable.

The key comes from an environment variable and goes into the request's header, nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cuecard.cache import content_key
from cuecard.errors import CueCardError, MissingExtraError, UsageError
from cuecard.models.endpoint.answer_cache import AnswerCache

#: Statuses after which asking again makes sense.
TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT = 60.0


class EndpointError(CueCardError):
    """The endpoint cannot be used, or the budget is spent; answers received until then are kept."""


@dataclass(frozen=True)
class Question:
    """One chat request: a prompt and how much may be answered."""

    prompt: str
    max_tokens: int = 16
    logprobs: bool = False


@dataclass(frozen=True)
class Reply:
    """An answer of a model: its text, log-probabilities of the most likely first tokens, whether it was cut."""

    text: str
    first_tokens: tuple[tuple[str, float], ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Endpoint:
    """Where and how to ask.

    Args:
        url: base address such as ``https://api.openai.com/v1``; ``/chat/completions`` is added.
        model: the model's name there.
        key_variable: environment variable that holds the key; none is sent if it is not set.
        concurrency: requests under way at a time.
        attempts: how often one question is sent before giving up.
        timeout: seconds to wait for an answer.
        max_requests: requests to send in all, repeated ones included; no limit by default.
        pause: seconds before the second attempt, doubled for each further one.
        seed: seed that the endpoint is given, and of the jitter between attempts.
    """

    url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8
    attempts: int = 6
    timeout: float = 60.0
    max_requests: int | None = None
    pause: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse an address with a secret in it: addresses are printed on cards and in errors."""
        check_endpoint(self.url)

    def ask(
        self,
        questions: Sequence[Question],
        cache: AnswerCache | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Reply]:
        """Return the replies to all questions, asking only what the cache does not hold, equal ones once.

        Raises `EndpointError` if a question cannot be answered; what was answered until then is in the cache,
        so the next call resumes there.
        """
        cache = cache if cache is not None else AnswerCache()
        keys = [content_key({"url": self.url, **self._body(question)}) for question in questions]
        missing = {key: q for key, q in zip(keys, questions, strict=True) if cache.get(key) is None}
        if missing:
            _Run(self, cache).all(missing, progress)
        return [_reply(cache.get(key)) for key in keys]

    def _body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": question.prompt}],
            "temperature": 0,
            "seed": self.seed,
            "max_tokens": question.max_tokens,
        }
        if question.logprobs:
            body |= {"logprobs": True, "top_logprobs": 20}
        return body


@dataclass
class _Run:
    """One call of `ask`: counts requests, and stops all workers at the first fault that repeating cannot mend."""

    endpoint: Endpoint
    cache: AnswerCache
    sent: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def all(self, questions: dict[str, Question], progress: Callable[[int, int], None] | None) -> None:
        httpx = _httpx()
        key = os.environ.get(self.endpoint.key_variable, "")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self.hidden = key
        first: BaseException | None = None
        with (
            httpx.Client(timeout=self.endpoint.timeout, headers=headers) as client,
            ThreadPoolExecutor(self.endpoint.concurrency) as pool,
        ):
            waiting = [pool.submit(self.one, client, k, q) for k, q in questions.items()]
            try:
                for done, future in enumerate(as_completed(waiting), start=1):
                    error = future.exception()
                    if error is not None and first is None:
                        first = error
                    if progress is not None:
                        progress(done, len(waiting))
            except BaseException:
                self.stop.set()  # interrupted: let requests under way finish, start no other
                raise
        if first is not None:
            answered = sum(self.cache.get(k) is not None for k in questions)
            if isinstance(first, EndpointError):
                raise EndpointError(
                    f"{first} {answered:,} of {len(questions):,} requests are answered and saved; "
                    "repeat the command to resume."
                )
            raise first

    def one(self, client: Any, key: str, question: Question) -> None:
        """Ask one question until it is answered and keep the answer; if it cannot be, no other is begun."""
        try:
            self.until_answered(client, key, question)
        except BaseException:  # a full disk or a fault of our own would meet every other question too
            self.stop.set()
            raise

    def until_answered(self, client: Any, key: str, question: Question) -> None:
        """Send a question again after every fault that may pass."""
        httpx = _httpx()
        address = self.endpoint.url.rstrip("/") + "/chat/completions"
        reason = ""
        jitter = random.Random(f"{self.endpoint.seed}-{key}")
        for attempt in range(self.endpoint.attempts):
            if self.stop.is_set():
                return
            self.take_one()
            wait = min(self.endpoint.pause * 2**attempt * jitter.uniform(0.75, 1.25), LONGEST_WAIT)
            try:
                response = client.post(address, content=json.dumps(self.endpoint._body(question)))
            except httpx.TimeoutException:
                reason = f"no answer within {self.endpoint.timeout:g} s"
            except httpx.RequestError as error:
                reason = f"the connection failed ({type(error).__name__})"
            else:
                kept = _kept(response) if response.status_code == 200 else None
                if kept is not None:
                    self.cache.put(key, kept)
                    return
                reason = f"status {response.status_code}"
                if response.status_code == 200:
                    reason = "the response is not a chat completion in JSON"
                elif response.status_code not in TRY_AGAIN:
                    raise EndpointError(self.refusal(response))
                wait = max(wait, _asked_to_wait(response.headers.get("retry-after")))
            if attempt + 1 < self.endpoint.attempts:
                self.stop.wait(wait)
        raise EndpointError(
            f"{self.endpoint.url}: a request failed {self.endpoint.attempts} times; last: {reason}."
        )

    def take_one(self) -> None:
        """Count a request, or raise if the limit is reached."""
        with self.lock:
            if self.endpoint.max_requests is not None and self.sent >= self.endpoint.max_requests:
                raise EndpointError(f"The limit of {self.endpoint.max_requests:,} requests is reached.")
            self.sent += 1

    def refusal(self, response: Any) -> str:
        # Masked before it is cut: a key that the cut runs through would not be found any more.
        message = response.text.replace(self.hidden, "…") if self.hidden else response.text
        message = " ".join(message.split())[:200]
        hint = ""
        if response.status_code in (401, 403):
            hint = f" Set the API key in the environment variable {self.endpoint.key_variable}."
        return f"{self.endpoint.url} refused the request with status {response.status_code}: {message}{hint}"


def _kept(response: Any) -> dict[str, Any] | None:
    """Return the part of a chat completion that is kept, or None if the response is not one."""
    try:
        choice = response.json()["choices"][0]
        text = choice["message"]["content"] or ""
        cut = choice.get("finish_reason") == "length"
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return {"text": str(text), "first_tokens": _first_tokens(choice), "cut": cut}


def _first_tokens(choice: dict[str, Any]) -> list[list[Any]]:
    """Return the first token's alternatives; none if they come in a form we do not know, as the text is enough."""
    try:
        content = (choice.get("logprobs") or {}).get("content") or []
        first = content[0].get("top_logprobs") or [content[0]] if content else []
        pairs = [(str(t["token"]), float(t["logprob"])) for t in first]
    except (AttributeError, ValueError, KeyError, IndexError, TypeError):
        return []
    return [[token, logprob] for token, logprob in pairs if math.isfinite(logprob)]


def _reply(kept: dict[str, Any]) -> Reply:
    first = tuple((token, logprob) for token, logprob in kept["first_tokens"])
    return Reply(kept["text"], first, kept.get("cut", False))  # answers kept earlier may not say


def _asked_to_wait(header: str | None) -> float:
    try:
        return min(max(float(header or 0), 0.0), LONGEST_WAIT)
    except ValueError:
        return 0.0


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "llm", "Asking an endpoint") from None
    return httpx


def check_endpoint(url: str) -> None:
    """Raise if an address is not one that can be asked, or may hold a secret; it is never repeated in the error."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, or a port that is no number
        usable = False
    if not usable:
        raise UsageError("--endpoint is not a valid address: expected one such as http://127.0.0.1:8080/v1.")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise UsageError(
            "The address of the endpoint contains a user, a password, a query or a fragment: "
            "give the plain address, and the API key in an environment variable (--key-variable)."
        )


__all__ = ["Endpoint", "EndpointError", "Question", "Reply", "check_endpoint"]
