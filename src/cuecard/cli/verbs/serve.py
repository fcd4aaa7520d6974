"""`cuecard serve`: the app on this machine."""

from __future__ import annotations

import secrets
from pathlib import Path
from threading import Thread
from typing import Annotated

from cuecard.cli.options.groups import option
from cuecard.cli.options.shared import path

EXAMPLES = """
Examples:

`cuecard serve`

`cuecard serve --root cards --port 9000`

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
) -> None:
    """Start the app: a library of cards, new audits, an explorer, models and remedies in the browser."""
    import typer

    from cuecard.errors import MissingExtraError, UsageError

    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "The app") from None
    from cuecard.web import AppSettings, create_app
    from cuecard.web.forms import all_forms
    from cuecard.web.memory import give_back_memory
    from cuecard.web.settings import is_loopback

    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: create it, or name another with --root.")
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    settings = AppSettings(root=root.resolve(), host=host, port=port, workers=workers, token=token)
    address = f"http://{host}:{port}/" + (f"enter?token={token}" if token else "")
    give_back_memory()
    Thread(target=all_forms, daemon=True).start()  # so that the first form opens at once
    typer.echo(f"CueCard is at {address} (stop it with Ctrl-C)")
    uvicorn.run(create_app(settings), host=host, port=port, log_level="warning", access_log=False)
