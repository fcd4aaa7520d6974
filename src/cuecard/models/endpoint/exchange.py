"""One request and its response, within a time and a size, whatever the server does."""

from __future__ import annotations

import asyncio
import os
import queue
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cuecard.errors import CueCardError, MissingExtraError

#: Bytes of the largest response, after decompression: a thousand times what an answer needs.
LARGEST_BODY = 8 * 2**20

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


class Lane:
    """A client in an event loop of its own: it keeps its connection, and can be interrupted at any byte.

    Timeouts of the library restart with every byte that arrives; a deadline for the whole request needs a loop.
    """

    def __init__(self, headers: dict[str, str], timeout: float) -> None:
        self.timeout = timeout
        # Compressed responses are read as they arrive and decompressed here, within the limit.
        headers = headers | {"Accept-Encoding": "gzip"}
        httpx = httpx_package()
        try:
            self.client = httpx.AsyncClient(timeout=timeout, headers=headers)
        except (
            Exception
        ) as error:  # of proxies and certificates that the environment names, each with its own
            raise EndpointError(_unprepared(error)) from None
        self.runner = asyncio.Runner()

    def post(self, address: str, content: str) -> Response:
        """Return the response to a request, or raise `Unanswered`."""
        httpx = httpx_package()
        try:
            return self.runner.run(asyncio.wait_for(self._post(address, content), self.timeout))
        except (TimeoutError, httpx.TimeoutException):
            raise Unanswered(f"no complete answer within {self.timeout:g} s") from None
        except httpx.InvalidURL:
            raise EndpointError("--endpoint is not a valid address.") from None
        except httpx.HTTPError as error:
            raise Unanswered(f"the connection failed ({type(error).__name__})") from None

    async def _post(self, address: str, content: str) -> Response:
        async with self.client.stream("POST", address, content=content) as response:
            body = _Body(response.headers.get("content-encoding", "").strip().lower())
            async for chunk in response.aiter_raw():
                body.add(chunk)
            return Response(response.status_code, body.text(), response.headers.get("retry-after"))

    def close(self) -> None:
        """Close the connection and the loop."""
        try:
            self.runner.run(self.client.aclose())
        finally:
            self.runner.close()


def _unprepared(error: Exception) -> str:
    """Return why no connection can be prepared; what the variables hold stays unsaid, for it may be a password."""
    named = [name for name in _OF_CONNECTIONS if os.environ.get(name) or os.environ.get(name.lower())]
    socks = " (a SOCKS proxy needs: pip install 'httpx[socks]')" if isinstance(error, ImportError) else ""
    return (
        f"No connection can be prepared ({type(error).__name__}): correct or unset the environment "
        f"{'variables' if len(named) > 1 else 'variable'} {' and '.join(named) or ' or '.join(_OF_CONNECTIONS)}{socks}."
    )


class _Body:
    """The bytes of a body, decompressed up to a limit."""

    def __init__(self, encoding: str) -> None:
        self.parts: list[bytes] = []
        self.left = LARGEST_BODY
        if encoding not in ("", "identity", "gzip", "deflate"):
            raise Unanswered(f"the response is compressed as {encoding[:20]!r}, which was not asked for")
        # 32 + MAX_WBITS: gzip or zlib, by the header.
        self.decompress = zlib.decompressobj(32 + zlib.MAX_WBITS) if encoding in ("gzip", "deflate") else None

    def add(self, chunk: bytes) -> None:
        """Keep a part, or raise if the limit is passed."""
        if self.decompress is not None:
            try:
                chunk = self.decompress.decompress(chunk, self.left + 1)
            except zlib.error:
                raise Unanswered("the response is compressed and damaged") from None
        self.left -= len(chunk)
        if self.left < 0:
            raise Unanswered(f"the response is larger than {LARGEST_BODY // 2**20} MB")
        self.parts.append(chunk)

    def text(self) -> str:
        return b"".join(self.parts).decode("utf-8", errors="replace")


class Lanes:
    """Clients for requests that are under way at a time."""

    def __init__(self, count: int, headers: dict[str, str], timeout: float) -> None:
        self.free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        self.all = [Lane(headers, timeout) for _ in range(count)]
        for lane in self.all:
            self.free.put(lane)

    @contextmanager
    def one(self) -> Iterator[Lane]:
        """Give a client that nobody else uses meanwhile."""
        lane = self.free.get()
        try:
            yield lane
        finally:
            self.free.put(lane)

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *_: object) -> None:
        for lane in self.all:
            lane.close()


def httpx_package() -> Any:
    """Return the package that sends requests, or raise an error that says how to install it."""
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "llm", "Asking an endpoint") from None
    return httpx
