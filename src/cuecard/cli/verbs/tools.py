"""`cuecard tools`: the cache on disk, and the dataset presets."""

from __future__ import annotations

from typing import Annotated

import typer

from cuecard.cli.help import Verb, Verbs
from cuecard.cli.options.shared import Output, grouped, option

app = typer.Typer(
    cls=Verbs,
    help="Show or delete the cache; list the dataset presets.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
cache = typer.Typer(
    help="Show or delete the cache on disk.", no_args_is_help=True, rich_markup_mode="markdown"
)
app.add_typer(cache, name="cache")
DATASETS_EXAMPLES = """
Examples:

`cuecard tools datasets`

`cuecard tools datasets snli`
"""


@app.command("datasets", epilog=DATASETS_EXAMPLES, cls=Verb)
@grouped
def datasets(
    output: Output,
    name: Annotated[str | None, typer.Argument(help="Show one preset in full.", show_default=False)] = None,
) -> None:
    """List the dataset presets."""
    from cuecard.data import get_preset, list_presets

    presets = [get_preset(name)] if name else list_presets()
    if output.json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps([asdict(preset) for preset in presets], indent=2, ensure_ascii=False))
        return
    if output.quiet:
        return
    from rich.console import Console

    from cuecard.report import preset_detail, preset_list

    Console().print(preset_detail(presets[0]) if name else preset_list(presets))


@cache.command(cls=Verb, epilog="Examples:\n\n`cuecard tools cache show`")
@grouped
def show(output: Output) -> None:
    """Show the folder of the cache, and what is in it."""
    from cuecard.cache import cache_folder, kept_kinds
    from cuecard.wording import plural

    kinds = [kind for kind in kept_kinds() if kind.entries]
    if output.json:
        from json import dumps

        rows = [{"kind": kind.name, "entries": kind.entries, "bytes": kind.size} for kind in kinds]
        typer.echo(dumps({"folder": str(cache_folder()), "kinds": rows}, indent=2))
        return
    if output.quiet:
        return
    typer.echo(str(cache_folder()))
    for kind in kinds:
        typer.echo(
            f"  {kind.name:<16} {plural(kind.entries, 'entry', 'entries'):>14} {kind.size / 1e6:>10,.1f} MB"
        )
    if not kinds:
        typer.echo("  It is empty.")


@cache.command(cls=Verb, epilog="Examples:\n\n`cuecard tools cache prune --days 30`")
@grouped
def prune(
    output: Output,
    days: Annotated[
        float, option("--days", "N", "Delete what was not written in the last N days.", min=0, default="30")
    ] = 30.0,
) -> None:
    """Delete what is old."""
    _delete(output, days)


@cache.command(cls=Verb, epilog="Examples:\n\n`cuecard tools cache clear`")
@grouped
def clear(output: Output) -> None:
    """Delete everything in the cache."""
    _delete(output, None)


def _delete(output: Output, days: float | None) -> None:
    from cuecard.cache import delete_kept
    from cuecard.wording import plural

    entries, size = delete_kept(days)
    if output.json:
        from json import dumps

        typer.echo(dumps({"deleted": entries, "bytes": size}))
    elif not output.quiet:
        typer.echo(f"Deleted {plural(entries, 'entry', 'entries')}, {size / 1e6:,.1f} MB.")
