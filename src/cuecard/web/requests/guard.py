"""Who may talk to the app.

The right address, the user's own pages, and outside this machine the user's token.

Every request is checked before any route sees it. Pages carry a token of their own that every writing request must
send back; a page of another site cannot read it.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import traceback
from asyncio import Event
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from cuecard.web.state import AppSettings

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = Scope
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("cuecard.web")
COOKIE = "cuecard-session"
PAGE_TOKEN_HEADER = "x-cuecard-page"
#: Where files are sent, which have a limit of their own and go to disk as they come.
UPLOADS = "/api/uploads"
READING = frozenset({"GET", "HEAD"})
#: What browsers say about a request that a page of ours, or the user, made.
OWN_SITE = frozenset({"same-origin", "none"})

#: No inline script runs; the charts' own styles are attributes; nothing is fetched from elsewhere.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: A report is one file with scripts inside: it runs apart from the app, without its cookies.
REPORT_POLICY = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'"


class Guard:
    """Checks every request; hands those that may pass to the app and adds the headers of every answer."""

    def __init__(self, app: Asgi, settings: AppSettings) -> None:
        self.app = app
        self.hosts = settings.allowed_hosts()
        self.page_token = secrets.token_urlsafe(24)
        self._body_bytes = settings.limits.body_bytes
        self._entry = settings.token
        self._session = secrets.token_urlsafe(32) if settings.token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if self._entry is not None and scope["path"] == "/enter" and scope["method"] == "GET":
            await self._enter(scope, headers, send)
            return
        if reason := self._refusal(scope["method"], headers):
            await _answer(send, 403, reason)
            return
        if scope["method"] not in READING and not scope["path"].startswith(UPLOADS):
            body = await _body(receive, self._body_bytes)
            if body is None:
                await _answer(send, 413, f"The request has more than {self._body_bytes:,} bytes.")
                return
            receive = _again(body)
        if "\0" in scope["path"] or (b"%00" in scope.get("query_string", b"") and scope["path"] != UPLOADS):
            await _answer(send, 400, "Control characters are not allowed.")
            return
        scope.setdefault("state", {})["page_token"] = self.page_token
        try:
            await self.app(scope, receive, _with_headers(send))
        except Exception as error:  # answered already; its message may hold texts of the user
            LOG.error("%s", without_message(error))

    def _refusal(self, method: str, headers: dict[str, str]) -> str:
        """Return why a request may not pass, or nothing."""
        if headers.get("host", "").lower() not in self.hosts:
            return "This address is not the one the app was started with."
        if headers.get("sec-fetch-site", "none") not in OWN_SITE:
            # A link from elsewhere may open a page, which shows itself to the user only.
            opens_page = (
                method in READING
                and headers.get("sec-fetch-mode") == "navigate"
                and headers.get("sec-fetch-dest") == "document"
            )
            if not opens_page:
                return "Requests from other sites are refused."
        origin = headers.get("origin")
        if origin is not None and _host(origin) != headers["host"].lower():
            return "Requests from other sites are refused."
        if self._session is not None and not _same(_cookie(headers), self._session):
            return "Open the address with the token that the server printed when it started."
        if method not in READING and not _same(headers.get(PAGE_TOKEN_HEADER, ""), self.page_token):
            return "The page is from before the server's last start: reload it."
        return ""

    async def _enter(self, scope: Scope, headers: dict[str, str], send: Send) -> None:
        """Exchange the one-time token of the printed address for a session cookie."""
        typed = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if headers.get("host", "").lower() not in self.hosts:
            await _answer(send, 403, "This address is not the one the app was started with.")
        elif self._entry and _same(typed, self._entry):
            self._entry = ""  # used once
            cookie = f"{COOKIE}={self._session}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", extra=[(b"location", b"/"), (b"set-cookie", cookie.encode())])
        else:
            await _answer(
                send, 403, "The token is wrong or was used before: start the server again for a new one."
            )


def without_message(error: BaseException) -> str:
    """Return the kind of an error and where it was raised, not its message: that may hold texts of the user."""
    steps = traceback.extract_tb(error.__traceback__)
    places = " > ".join(f"{Path(step.filename).name}:{step.lineno}" for step in steps[-4:])
    return f"{type(error).__name__} at {places}"


async def _body(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request, or None as soon as it is larger than the limit."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            return None
    return body


def _again(body: bytes) -> Receive:
    """Return a `receive` that gives a body that was already read, and then waits as the connection would."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if left:
            return left.pop()
        await Event().wait()
        raise AssertionError("unreachable")

    return receive


def _host(origin: str) -> str:
    """Return the host and the port of an origin, nothing where it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())


def _cookie(headers: dict[str, str]) -> str:
    try:
        held = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return held[COOKIE].value if COOKIE in held else ""


async def _answer(send: Send, status: int, text: str, extra: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *(extra or [])]
    safe = _with_headers(send)
    await safe({"type": "http.response.start", "status": status, "headers": headers})
    await safe({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    """Return a `send` that adds what every answer says about itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            present = {name.lower() for name, _ in headers}
            for name, value in (
                (b"content-security-policy", PAGE_POLICY.encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"x-frame-options", b"DENY"),
                (b"referrer-policy", b"no-referrer"),
                (b"cross-origin-opener-policy", b"same-origin"),
                (b"cross-origin-resource-policy", b"same-origin"),
                (b"cache-control", b"no-store"),
            ):
                if name not in present:
                    headers.append((name, value))
            message = {**message, "headers": headers}
        await send(message)

    return sending
