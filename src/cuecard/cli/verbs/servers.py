"""Verbs that start a server: `cuecard serve` for people, `cuecard mcp` for agents."""

from __future__ import annotations

import errno
import re
import secrets
import socket
from pathlib import Path
from threading import Thread, Timer
from typing import Annotated

import typer

from cuecard.cli.options.shared import option, path

SERVE_EXAMPLES = """
Examples:

`cuecard serve`

`cuecard serve --root cards --port 9000`

`cuecard serve --open --endpoint http://127.0.0.1:8080/v1` (opens a browser; this model may be asked)

`cuecard serve --host 0.0.0.0` (prints an address with a token)
"""


def serve(
    root: Annotated[
        Path,
        option(
            "--root",
            "DIR",
            "Folder with cards and data; nothing outside it is read or written.",
            parser=path,
        ),
    ] = Path("."),
    port: Annotated[int, option("--port", "N", "Port to listen on.", min=1, max=65535)] = 8477,
    host: Annotated[
        str,
        option("--host", "ADDRESS", "Address to listen on; one other than this machine's requires a token."),
    ] = "127.0.0.1",
    workers: Annotated[
        int, option("--workers", "N", "Number of jobs that run at a time.", min=1, max=64)
    ] = 2,
    endpoint: Annotated[
        list[str] | None,
        option("--endpoint", "URL", "A language model's address that the app may ask. Repeatable."),
    ] = None,
    key_variable: Annotated[
        list[str] | None,
        option(
            "--key-variable",
            "NAME",
            "Environment variable that the app may read an endpoint's key from. Repeatable. Default: OPENAI_API_KEY.",
        ),
    ] = None,
    open_browser: Annotated[bool, option("--open", "Open the app in a browser.")] = False,
) -> None:
    """Start the app: a library of cards, new audits, an explorer, models and remedies in the browser."""
    from cuecard.errors import MissingExtraError, UsageError

    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "The app") from None
    from cuecard.web import AppSettings, create_app
    from cuecard.web.forms import all_forms
    from cuecard.web.state import is_loopback

    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: create it, or name another with --root.")
    if endpoint:
        from cuecard.models.endpoint import check_endpoint

        for one in endpoint:
            check_endpoint(one)
    wrong = [name for name in key_variable or () if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", name)]
    if wrong:
        raise UsageError(
            f"--key-variable takes the name of an environment variable, such as MY_API_KEY, not {wrong[0]!r}."
        )
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    settings = AppSettings(
        root=root.resolve(), host=host, port=port, workers=workers, token=token, endpoints=tuple(endpoint or ()),
        key_variables=tuple(key_variable or ("OPENAI_API_KEY",)),
    )  # fmt: skip
    app = create_app(settings)
    _check_free(host, port)
    address = f"http://{host}:{port}/" + (f"enter?token={token}" if token else "")
    Thread(target=all_forms, daemon=True).start()  # so that the first form opens at once
    typer.echo(f"CueCard is at {address} (stop it with Ctrl-C)")
    if open_browser:
        Timer(1.0, typer.launch, [address]).start()
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


def _check_free(host: str, port: int) -> None:
    """Raise if another program listens at an address, or only the administrator may."""
    from cuecard.errors import UsageError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                return
            raise UsageError(
                f"Port {port} of {host} cannot be used ({error.strerror}): choose another with --port or --host."
            ) from None


MCP_EXAMPLES = """
Examples:

`cuecard mcp --root data`

In the settings of an agent: command `cuecard`, arguments `mcp --root FOLDER`.
"""


def mcp(
    root: Annotated[
        Path,
        option(
            "--root", "DIR", "Folder with data and cards; nothing outside it is read or written.", parser=path
        ),
    ] = Path("."),
) -> None:
    """Offer audit, explain, check, compare and cards to agents over the Model Context Protocol, on standard streams."""
    from cuecard.errors import MissingExtraError, UsageError

    try:
        from cuecard.web.agents import create_server
    except ImportError as error:
        raise MissingExtraError(error.name or "mcp", "mcp", "The server for agents") from None
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: create it, or name another with --root.")
    create_server(root).run()
