"""The web application: routes, checks of every request, and the jobs beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response

from cuecard._version import __version__
from cuecard.errors import CueCardError
from cuecard.web import api, pages
from cuecard.web.requests.bodies import field_title
from cuecard.web.requests.guard import Asgi, Guard
from cuecard.web.service import Service
from cuecard.web.state import AppSettings

#: Requests that are answered at the same time: more would wait for the same processors and need more memory.
THREADS = 8


def create_app(settings: AppSettings) -> Asgi:
    """Return the app for a folder of cards; an ASGI server such as uvicorn runs it."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        await service.jobs.start()
        try:
            yield
        finally:
            await service.jobs.stop()

    app = FastAPI(
        title="CueCard",
        version=__version__,
        description="Everything the app does, for programs. Requests that write need the header `x-cuecard-page`.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(pages.router)
    app.add_exception_handler(CueCardError, _user_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)
    return Guard(app, settings)


def _wants_page(request: Request) -> bool:
    return not request.url.path.startswith("/api/")


def _answer(request: Request, status: int, message: str) -> Response:
    if _wants_page(request):
        page = pages.environment().get_template("error.html.j2")
        token = request.scope.get("state", {}).get("page_token", "")
        text = page.render(message=message, status=status, page_token=token, here=request.url.path)
        return HTMLResponse(text, status_code=status)
    return JSONResponse({"problem": message}, status_code=status)


async def _user_error(request: Request, error: Exception) -> Response:
    service: Service = request.app.state.service
    return _answer(request, 422, service.without_root(str(error)))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, str(error.detail))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = error.errors()[0]
    said = str(first["msg"]).removeprefix("Value error, ")
    names = [part for part in first["loc"][1:] if isinstance(part, str)]
    if first["type"] == "value_error" or not names:
        return _answer(request, 422, said)
    return _answer(request, 422, f"{field_title(names[-1])}: {said}")


async def _unexpected(request: Request, error: Exception) -> Response:
    return _answer(
        request, 500, "This is an error of the app, not of your data: the server's log says where."
    )
