"""A client for OpenAI-compatible chat endpoints: concurrent, patient with faults, within a budget, resumable.

The key comes from an environment variable and goes into the request's header, nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from cuecard.cache import content_key
from cuecard.errors import UsageError, printable
from cuecard.models.endpoint.answer_cache import AnswerCache
from cuecard.models.endpoint.exchange import EndpointError, Lane, Lanes, Response, Unanswered, httpx_package

#: Statuses after which asking again makes sense.
TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT = 60.0


@dataclass(frozen=True)
class Question:
    """One chat request: a prompt, how much may be answered, and the schema of the answer if it must have one."""

    prompt: str
    max_tokens: int = 16
    logprobs: bool = False
    schema: Mapping[str, Any] | None = None


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
        timeout: seconds within which a whole answer must have arrived.
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
        if question.schema is not None:
            # Servers that are strict refuse limits of length.
            strict = "maxLength" not in json.dumps(question.schema)
            described = {"name": "answer", "schema": question.schema, "strict": strict}
            body |= {"response_format": {"type": "json_schema", "json_schema": described}}
        return body


@dataclass
class _Run:
    """One call of `ask`: counts requests, and stops all workers at the first fault that repeating cannot mend."""

    endpoint: Endpoint
    cache: AnswerCache
    sent: int = 0
    reason: str = ""
    secret: Secret = field(default_factory=lambda: Secret(""))
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def all(self, questions: dict[str, Question], progress: Callable[[int, int], None] | None) -> None:
        httpx_package()
        secret = os.environ.get(self.endpoint.key_variable, "")
        if not (secret.isascii() and secret.isprintable()):
            raise UsageError(
                f"The API key in {self.endpoint.key_variable} has a line break or a character that no header can "
                "have: set it again."
            )
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {secret}"} if secret else {}
        )
        self.secret = Secret(secret)
        first: BaseException | None = None
        lanes = min(self.endpoint.concurrency, len(questions))
        with Lanes(lanes, headers, self.endpoint.timeout) as clients, ThreadPoolExecutor(lanes) as pool:
            waiting = [pool.submit(self.one, clients, k, q) for k, q in questions.items()]
            try:
                for done, future in enumerate(as_completed(waiting), start=1):
                    error = future.exception()
                    # What went wrong says more than that the budget ended.
                    if error is not None and (first is None or isinstance(first, _LimitReachedError)):
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

    def one(self, clients: Lanes, key: str, question: Question) -> None:
        """Ask one question until it is answered and keep the answer; if it cannot be, no other is begun."""
        try:
            with clients.one() as lane:
                self.until_answered(lane, key, question)
        except BaseException:  # a full disk or a fault of our own would meet every other question too
            self.stop.set()
            raise

    def until_answered(self, lane: Lane, key: str, question: Question) -> None:
        """Send a question again after every fault that may pass."""
        address = self.endpoint.url.rstrip("/") + "/chat/completions"
        content = json.dumps(self.endpoint._body(question))
        jitter = random.Random(f"{self.endpoint.seed}-{key}")
        for attempt in range(self.endpoint.attempts):
            if self.stop.is_set():
                return
            self.take_one()
            wait = min(self.endpoint.pause * 2**attempt * jitter.uniform(0.75, 1.25), LONGEST_WAIT)
            try:
                response = lane.post(address, content)
            except Unanswered as fault:
                self.reason = str(fault)
            else:
                kept = _kept(response, self.secret) if response.status == 200 else None
                if kept is not None:
                    self.cache.put(key, kept)
                    return
                self.reason = f"status {response.status}{self.quoted(response)}"
                if response.status == 200:
                    self.reason = "the response is not a chat completion in JSON"
                elif response.status not in TRY_AGAIN:
                    raise EndpointError(self.refusal(response))
                wait = max(wait, _asked_to_wait(response.retry_after))
            if attempt + 1 < self.endpoint.attempts:
                self.stop.wait(wait)
        raise EndpointError(
            f"{self.endpoint.url}: a request failed {self.endpoint.attempts} times; last: {self.reason}."
        )

    def take_one(self) -> None:
        """Count a request, or raise if the limit is reached."""
        with self.lock:
            if self.endpoint.max_requests is not None and self.sent >= self.endpoint.max_requests:
                last = f"; the last request that failed: {self.reason}" if self.reason else ""
                raise _LimitReachedError(
                    f"The limit of {self.endpoint.max_requests:,} requests is reached{last}."
                )
            self.sent += 1

    def quoted(self, response: Response) -> str:
        """Return the beginning of what the server says, without the key."""
        # Masked before it is cut: a key that the cut runs through would not be found any more.
        message = printable(" ".join(self.secret.masked(response.text).split()), 200)
        return f": {message}" if message else ""

    def refusal(self, response: Response) -> str:
        hint = ""
        if response.status in (401, 403):
            hint = f" Set the API key in the environment variable {self.endpoint.key_variable}."
        said = self.quoted(response)
        return f"{self.endpoint.url} refused the request with status {response.status}{said}{hint}"


class _LimitReachedError(EndpointError):
    """No further request may be sent."""


class Secret:
    """The API key, which is shown nowhere, not even where a server repeats it."""

    def __init__(self, key: str) -> None:
        written = {key, json.dumps(key)[1:-1], key.replace("/", "\\/"), quote(key, safe="")}
        self._forms = sorted(filter(None, written), key=len, reverse=True)
        # Servers of one's own are given "EMPTY" or "x" for a key, which may as well be a word of an answer.
        self._is_word = len(key) < 8

    def masked(self, text: str) -> str:
        """Return a text with `…` in the place of the key, in whatever way it is escaped."""
        for form in self._forms:
            text = text.replace(form, "…")
        return text

    def masked_in_answer(self, text: str) -> str:
        """Return what a model wrote without the key, unless that is too short to be one."""
        return text if self._is_word else self.masked(text)


def _kept(response: Response, secret: Secret) -> dict[str, Any] | None:
    """Return the part of a chat completion that is kept, or None if the response is not one."""
    try:
        choice = json.loads(response.text)["choices"][0]
        said = choice["message"]["content"]
        text = "".join(part.get("text", "") for part in said) if isinstance(said, list) else said or ""
        cut = choice.get("finish_reason") == "length"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(text, str):
        return None
    first = [[secret.masked_in_answer(token), value] for token, value in _first_tokens(choice)]
    return {"text": secret.masked_in_answer(text), "first_tokens": first, "cut": cut}


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
        seconds = float(header or 0)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else 0.0


def check_endpoint(url: str) -> None:
    """Raise if an address is not one that can be asked, or may hold a secret; it is never repeated in the error."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and url.isprintable() and " " not in url and bool(str(parts.hostname).encode("idna"))
    except ValueError:  # brackets that do not close, a port that is no number, or a name that none can have
        usable = False
    if not usable:
        raise UsageError("--endpoint is not a valid address: expected one such as http://127.0.0.1:8080/v1.")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise UsageError(
            "The address of the endpoint contains a user, a password, a query or a fragment: "
            "give the plain address, and the API key in an environment variable (--key-variable)."
        )


__all__ = ["Endpoint", "EndpointError", "Question", "Reply", "check_endpoint"]
