"""Help of a verb in panels that can be read on 80 columns, and errors about files in the wrong place."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from cuecard.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType


#: What typer hands to a verb: the call, and an argument or option; its own types are private.
Context: TypeAlias = Any
Parameter: TypeAlias = Any
#: Titles of the panels, in the order in which they stand.
PANELS = (
    ARGUMENTS := "Arguments",
    EVERYDAY := "Options",
    TESTS := "Tests",
    WEIGHTS := "Weights",
    FEATURES := "Features",
    CLUSTERS := "Clusters",
    MODELS := "Trained models",
    REQUESTS := "Requests",
    DATA := "Reading data",
    OUTPUT := "Output",
)
#: Lists all options of a verb.
HELP_ALL = "--help-all"
#: Options of other panels that `--help` lists among the everyday ones.
ALSO_EVERYDAY = frozenset({"--columns", "--labels", "--features", "--json", "--quiet"})
#: A verb whose other options are as few also lists them in `--help`.
FEW = 4
#: Columns of the widest help, and of the longest names beside which an explanation stands.
WIDEST, NAMES = 100, 30


class Verbs(TyperGroup):
    """Verbs below a name; options that take no value are shown without the type of one."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the options of the name itself."""
        params: list[Parameter] = super().get_params(ctx)
        for one in params:
            if getattr(one, "is_flag", False):
                one.display_type_rich = lambda ctx: None
        return params


class Verb(TyperCommand):
    """A verb whose help has a panel per subject, and that says what to type where a file is misplaced."""

    def format_help(self, ctx: Context, formatter: object) -> None:
        """Print usage, what the verb does, its arguments and everyday options, and examples."""
        del formatter
        further = _further(self.get_params(ctx))
        self.show_help(ctx, frozenset(further) if len(further) > FEW else frozenset())

    def show_help(self, ctx: Context, left_out: frozenset[Parameter] = frozenset()) -> None:
        """Print usage, what the verb does, its arguments and options but those left out, and examples."""
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text

        console = Console(width=min(Console().width, WIDEST), highlight=False)
        console.print(
            f"\nUsage: {ctx.command_path} {' '.join(self.collect_usage_pieces(ctx))}\n", markup=False
        )
        console.print(Padding(Text(_unwrapped(self.help or "")), (0, 1, 1, 1)))
        for title, rows in self._panels(ctx, left_out).items():
            console.print(_panel(title, rows))
        if self.epilog:
            for line in self.epilog.replace("`", "").strip().splitlines():
                indent = 0 if line.endswith(":") else 4
                if line.strip():
                    console.print(Padding(Text(line.strip()), (0, 1, 0, 1 + indent)))

    def _panels(self, ctx: Context, left_out: frozenset[Parameter]) -> dict[str, list[tuple[str, str]]]:
        panels: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or parameter in left_out:
                continue
            default = ARGUMENTS if parameter.param_type_name == "argument" else EVERYDAY
            names, text = record
            text = _plain(text if default == EVERYDAY else text.replace("  [required]", ""))
            shown = (re.sub(r" <[^>]*>$", "", names), text)
            panel = getattr(parameter, "rich_help_panel", None) or default
            panels[default if left_out else panel].append(shown)
        if left_out:
            panels[EVERYDAY].append((HELP_ALL, f"Show {len(left_out)} more options and exit."))
        return {title: rows for title, rows in panels.items() if rows}

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the arguments; files in the wrong place raise an error that says what to type."""
        verb, typed = _path(ctx), list(args)
        if ctx.resilient_parsing:  # a shell completes the line
            return super().parse_args(ctx, args)
        if HELP_ALL in args:
            self.show_help(ctx)
            ctx.exit()
        names = {name for one in self.get_params(ctx) for name in (one.name, *one.opts)}
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except BadParameter as error:
            test = value_of(TEST, typed)
            if test and getattr(error.param, "name", None) == "train":
                raise train_missing(test) from None
            raise
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:  # an option without its value: name the verb also
                error.ctx = ctx  # type: ignore[attr-defined]
            raise
        if rest and "train" in names:
            raise second_dataset(verb, rest, names, typed)
        if rest:
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(rest)})")
        return rest


def _further(parameters: list[Parameter]) -> list[Parameter]:
    """Return the options of other panels than that of the everyday ones."""
    return [
        parameter
        for parameter in parameters
        if getattr(parameter, "rich_help_panel", None) not in (None, EVERYDAY)
        and not ALSO_EVERYDAY & {*parameter.opts}
    ]


def _path(ctx: Context) -> str:
    """Return how a verb is called: "audit", "papers stubborn"."""
    return "" if ctx.parent is None else f"{_path(ctx.parent)} {ctx.info_name}".strip()


def _panel(title: str, rows: list[tuple[str, str]]) -> RenderableType:
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, expand=True)
    widest = min(NAMES, max(len(names) for names, _ in rows))
    table.add_column(width=widest, no_wrap=False, style="bold cyan")
    table.add_column(ratio=1)
    for names, text in rows:
        table.add_row(Text(names, overflow="fold"), Text(text))
    return Panel(table, title=title, title_align="left", box=box.ROUNDED, border_style="dim")


def _plain(text: str) -> str:
    """Return an explanation without the bounds of numbers and the brackets of defaults that typer writes."""
    text = re.sub(r"(; )?(\d+<=)?x[<>]=\d+", "", text)
    text = re.sub(r"\[default: \((.*)\)\]", r"[default: \1]", text)
    return text.replace("  []", "").replace("`", "")


def _unwrapped(text: str) -> str:
    """Return paragraphs without the line breaks of the source."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


TEST = "--test"
#: What a second dataset can be, by its option, the likeliest first.
_SECOND = {"--with": "the corpus to search", TEST: "the test split"}


def train_missing(test: str) -> UsageError:
    """Return the error about a test split without a training set; a dataset with one split is read without --test."""
    return UsageError(
        f"The training set is missing: type its file before {TEST} {quote(test)}. A benchmark that has only one split "
        f"is read without {TEST}: type just {quote(test)} in its place."
    )


def second_dataset(
    verb: str, files: Sequence[str], options: Collection[str], typed: Sequence[str]
) -> UsageError:
    """Return the error about files after the dataset of a verb that has these options."""
    if len(files) == 1:
        for option, what in _SECOND.items():
            if option in options and value_of(option, typed) is None:
                return UsageError(
                    f"cuecard {verb} takes one dataset before its options, and {files[0]} is a second one: type "
                    f"{option} {quote(files[0])} if it is {what}."
                )
    return UsageError(
        f"cuecard {verb} does not expect {' '.join(map(quote, files))}: type several files of one dataset as a folder "
        f"or as a pattern in quotes, such as 'data/*.parquet'; cuecard {verb} -h lists what it takes."
    )


def value_of(option: str, typed: Sequence[str]) -> str | None:
    """Return what was typed as the value of an option.

    >>> value_of("--test", ["--test=b.csv"]), value_of("--test", ["--test", "b.csv"]), value_of("--test", ["a.csv"])
    ('b.csv', 'b.csv', None)
    >>> value_of("--test", [])
    """
    for word, following in zip(typed, [*typed, ""][1:], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else following
    return None
