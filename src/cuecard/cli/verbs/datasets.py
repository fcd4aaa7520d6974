"""`cuecard datasets`: the presets, and how to use one."""

from __future__ import annotations

from typing import Annotated

import typer

from cuecard.cli.options.groups import grouped
from cuecard.cli.options.shared import Output

EXAMPLES = """
Examples:

`cuecard datasets`

`cuecard datasets snli`
"""


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
