"""A client for OpenAI-compatible chat endpoints: concurrent, patient with faults, within a budget, resumable."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from cuecard.cache import content_key
from cuecard.errors import CueCardError, MissingExtraError, UsageError, printable
from cuecard.models.answers import AnswerCache, Question, Reply
from cuecard.models.pricing import Budget, Estimate, LimitReachedError, Price, estimate

__all__ = ["Endpoint", "EndpointError", "check_endpoint"]


#: Statuses after which asking again makes sense.
RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
MAXIMUM_WAIT = 60.0


#: Bytes of the largest response, after decompression: a thousand times what an answer needs.
MAXIMUM_BODY = 8 * 2**20

#: Environment variables that say through what, and by which certificates, connections are made.
_OF_CONNECTIONS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


class EndpointError(CueCardError):
    """The endpoint cannot be used, or the budget is spent; answers received until then are kept."""


class Unanswered(Exception):
    """No usable response came; the message says why, and another attempt may succeed."""


@dataclass(frozen=True)
class Response:
    """What came back: the status, the body as text, and how long the server asks to wait."""

    status: int
    text: str
    retry_after: str | None


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
        max_cost: US dollars that requests may cost in all; needs a price.
        price: what the model costs.
        rate: requests a minute; no limit by default.
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
    max_cost: float | None = None
    price: Price | None = None
    rate: float | None = None
    pause: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse an address with a secret in it, which would be printed, and a limit that cannot be kept."""
        check_endpoint(self.url)
        if self.max_cost is not None and self.price is None:
            raise UsageError(
                f"--max-cost needs the price of {self.model}, which the table of prices lacks: add it with --prices "
                "FILE, limit the number of requests with --max-requests, or leave the limit out."
            )

    def ask(self, questions: Sequence[Question], cache: AnswerCache | None = None) -> list[Reply]:
        """Return the replies to all questions, asking only what the cache does not hold, equal ones once.

        Raises `EndpointError` if a question cannot be answered; what was answered until then is in the cache,
        so the next call resumes there.
        """
        cache = cache if cache is not None else AnswerCache()
        if missing := self._missing(questions, cache):
            _Run(self, cache).ask(missing)
        replies = (cache.get(self._key(question)) for question in questions)
        return [reply for reply in replies if reply is not None]

    def estimate(self, questions: Sequence[Question], cache: AnswerCache) -> Estimate:
        """Return what `ask` would send and what that costs; nothing is sent."""
        missing = self._missing(questions, cache)
        distinct = len({self._key(question) for question in questions})
        return estimate(list(missing.values()), distinct - len(missing), self.price)

    def _missing(self, questions: Sequence[Question], cache: AnswerCache) -> dict[str, Question]:
        """Return the questions that the cache does not hold by their keys, equal ones once."""
        return {key: q for q in questions if cache.get(key := self._key(q)) is None}

    def _key(self, question: Question) -> str:
        return content_key({"url": self.url, **self.body(question)})

    def body(self, question: Question) -> dict[str, object]:
        """Return the request of a question."""
        body: dict[str, object] = {
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


class _Run:
    """One call of `ask`: counts requests, and stops all workers at the first fault that repeating cannot mend."""

    def __init__(self, endpoint: Endpoint, cache: AnswerCache) -> None:
        self.endpoint, self.cache = endpoint, cache
        self.httpx = httpx_package()
        self.reason = ""
        self.budget = Budget(endpoint.max_requests, endpoint.max_cost, endpoint.price, endpoint.rate)
        self.stop = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        key = os.environ.get(endpoint.key_variable, "")
        if not (key.isascii() and key.isprintable()):
            raise UsageError(
                f"The API key in {endpoint.key_variable} has a line break or a character that no header can "
                "have: set it again."
            )
        self.secret = Secret(key)
        # Compressed responses are read as they arrive and decompressed here, within the limit.
        self.headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    def ask(self, questions: Mapping[str, Question]) -> None:
        """Ask all questions and cache the answers; in a thread, because the caller may have an event loop."""
        with ThreadPoolExecutor(1) as pool:
            try:
                running = pool.submit(asyncio.run, self._ask(questions))
                while not running.done():  # a signal that another thread received is seen between waits
                    wait([running], timeout=0.2)
                error = running.result()
            except BaseException:  # interrupted: let requests under way finish, start no other
                if self.loop is None:
                    self.stop.set()
                elif not self.loop.is_closed():
                    self.loop.call_soon_threadsafe(self.stop.set)
                raise
        if isinstance(error, EndpointError | LimitReachedError):
            answered = sum(self.cache.get(key) is not None for key in questions)
            raise EndpointError(
                f"{error} {answered:,} of {len(questions):,} requests are answered and saved; "
                "repeat the command to resume."
            )
        if error is not None:
            raise error

    async def _ask(self, questions: Mapping[str, Question]) -> BaseException | None:
        """Return what went wrong, if anything did."""
        self.loop = asyncio.get_running_loop()
        waiting = iter(questions.items())
        workers = min(self.endpoint.concurrency, len(questions))
        try:
            client = self.httpx.AsyncClient(
                timeout=self.endpoint.timeout,
                headers=self.headers,
                limits=self.httpx.Limits(max_connections=workers, max_keepalive_connections=workers),
            )
        except (
            Exception
        ) as error:  # of proxies and certificates that the environment names, each with its own
            return EndpointError(_unprepared(error))
        async with client:
            ended = await asyncio.gather(
                *(self._work(client, waiting) for _ in range(workers)), return_exceptions=True
            )
        errors = [error for error in ended if error is not None]
        # What went wrong says more than that the budget ended.
        return min(errors, key=lambda error: isinstance(error, LimitReachedError), default=None)

    async def _work(self, client: Any, waiting: Iterator[tuple[str, Question]]) -> None:
        """Ask one question after the other; if one cannot be answered, no other is begun."""
        try:
            for key, question in waiting:
                if self.stop.is_set():
                    return
                await self._until_answered(client, key, question)
        except BaseException:  # a full disk or a fault of our own would meet every other question too
            self.stop.set()
            raise

    async def _until_answered(self, client: Any, key: str, question: Question) -> None:
        """Send a question again after every fault that may pass."""
        content = json.dumps(self.endpoint.body(question))
        jitter = random.Random(f"{self.endpoint.seed}-{key}")
        for attempt in range(self.endpoint.attempts):
            if self.stop.is_set():
                return
            most = await self._reserved(question)
            pause = min(self.endpoint.pause * 2**attempt * jitter.uniform(0.75, 1.25), MAXIMUM_WAIT)
            usage: tuple[int, int] | None = (0, 0)
            try:
                if self.stop.is_set():
                    return
                usage = None
                response = await self._post(client, content)
            except Unanswered as fault:
                self.reason = str(fault)
            else:
                usage = _usage(response)
                answer = _answer(response, self.secret) if response.status == 200 else None
                if answer is not None:
                    self.cache.put(key, answer)
                    return
                self.reason = f"status {response.status}{self._quoted(response)}"
                if response.status == 200:
                    self.reason = "the response is not a chat completion in JSON"
                elif response.status not in RETRYABLE:
                    raise EndpointError(self._refusal(response))
                pause = max(pause, _requested_wait(response.retry_after))
            finally:
                await self.budget.settle(most, usage)
            if attempt + 1 < self.endpoint.attempts:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stop.wait(), pause)
        raise EndpointError(
            f"{self.endpoint.url}: a request failed {self.endpoint.attempts} times; last: {self.reason}."
        )

    async def _post(self, client: Any, content: str) -> Response:
        """Return the response to a request; the library's own timeouts restart with every byte that arrives."""
        address = self.endpoint.url.rstrip("/") + "/chat/completions"
        try:
            async with (
                asyncio.timeout(self.endpoint.timeout),
                client.stream("POST", address, content=content) as response,
            ):
                text = await _body(response)
                return Response(response.status_code, text, response.headers.get("retry-after"))
        except (TimeoutError, self.httpx.TimeoutException):
            raise Unanswered(f"no complete answer within {self.endpoint.timeout:g} s") from None
        except self.httpx.InvalidURL:
            raise EndpointError("--endpoint is not a valid address.") from None
        except self.httpx.HTTPError as error:
            raise Unanswered(f"the connection failed ({type(error).__name__})") from None

    async def _reserved(self, question: Question) -> float:
        """Wait for the turn of a request and return what it can cost; the reason why none may be sent is complete."""
        try:
            return await self.budget.reserve(question, self.stop)
        except LimitReachedError as reached:
            last = f"; the last request that failed: {self.reason}" if self.reason else ""
            raise LimitReachedError(f"{reached}{last}.") from None

    def _quoted(self, response: Response) -> str:
        """Return the beginning of what the server says, without the key."""
        # Masked before it is cut: a key that the cut runs through would not be found any more.
        message = printable(" ".join(self.secret.masked(response.text).split()), 200)
        return f": {message}" if message else ""

    def _refusal(self, response: Response) -> str:
        hint = ""
        if response.status in (401, 403):
            hint = f" Set the API key in the environment variable {self.endpoint.key_variable}."
        said = self._quoted(response)
        return f"{self.endpoint.url} refused the request with status {response.status}{said}{hint}"


async def _body(response: Any) -> str:
    """Return the text of a response, decompressed up to a limit."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "deflate"):
        raise Unanswered(f"the response is compressed as {encoding[:20]!r}, which was not asked for")
    # 32 + MAX_WBITS: gzip or zlib, by the header.
    decompress = zlib.decompressobj(32 + zlib.MAX_WBITS) if encoding in ("gzip", "deflate") else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += decompress.decompress(chunk, MAXIMUM_BODY + 1 - len(body)) if decompress else chunk
        except zlib.error:
            raise Unanswered("the response is compressed and damaged") from None
        if len(body) > MAXIMUM_BODY:
            raise Unanswered(f"the response is larger than {MAXIMUM_BODY // 2**20} MB")
    return body.decode("utf-8", errors="replace")


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


def _answer(response: Response, secret: Secret) -> Reply | None:
    """Return the answer of a chat completion, or None if the response is not one."""
    try:
        choice = json.loads(response.text)["choices"][0]
        said = choice["message"]["content"]
        text = "".join(part.get("text", "") for part in said) if isinstance(said, list) else said or ""
        cut = choice.get("finish_reason") == "length"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(text, str):
        return None
    first = tuple((secret.masked_in_answer(token), value) for token, value in _first_tokens(choice))
    return Reply(secret.masked_in_answer(text), first, cut)


def _usage(response: Response) -> tuple[int, int] | None:
    """Return how many input and output tokens the server counted; a refused request used none."""
    if response.status != 200:
        return 0, 0
    try:
        usage = json.loads(response.text)["usage"]
        counts = usage["prompt_tokens"], usage["completion_tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return counts if all(isinstance(count, int) and count >= 0 for count in counts) else None


def _first_tokens(choice: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the first token's alternatives; none if they come in a form we do not know, as the text is enough."""
    try:
        content = (choice.get("logprobs") or {}).get("content") or []
        first = content[0].get("top_logprobs") or [content[0]] if content else []
        pairs = [(str(t["token"]), float(t["logprob"])) for t in first]
    except (AttributeError, ValueError, KeyError, IndexError, TypeError):
        return []
    return [(token, logprob) for token, logprob in pairs if math.isfinite(logprob)]


def _unprepared(error: Exception) -> str:
    """Return why no connection can be prepared; what the variables hold stays unsaid, for it may be a password."""
    named = [name for name in _OF_CONNECTIONS if os.environ.get(name) or os.environ.get(name.lower())]
    socks = " (a SOCKS proxy needs: pip install 'httpx[socks]')" if isinstance(error, ImportError) else ""
    return (
        f"No connection can be prepared ({type(error).__name__}): correct or unset the environment "
        f"{'variables' if len(named) > 1 else 'variable'} {' and '.join(named) or ' or '.join(_OF_CONNECTIONS)}{socks}."
    )


def httpx_package() -> Any:
    """Return the package that sends requests, or raise an error that says how to install it."""
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "llm", "Asking an endpoint") from None
    return httpx


def _requested_wait(header: str | None) -> float:
    try:
        seconds = float(header or 0)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), MAXIMUM_WAIT) if math.isfinite(seconds) else 0.0


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
