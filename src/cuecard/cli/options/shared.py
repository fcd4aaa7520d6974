"""Options that several verbs share, declared once: single ones, and groups that belong together."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from cuecard.cli.help import DATA, MODELS, OUTPUT, WEIGHTS
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.errors import UsageError
from cuecard.limits import LARGEST_SEED

if TYPE_CHECKING:
    from cuecard.card import Card
    from cuecard.run import Progress
    from cuecard.writing import Staged


_NAMED = Parameter.KEYWORD_ONLY


def option(*texts: str, panel: str | None = None, default: str | bool = True, **more: Any) -> Any:
    """Return an option of the command line: its names, what stands for its value (unless it is a flag), and its help.

    Args:
        texts: such as "--out", "-o", "DIR", "Write the card here.".
        panel: the panel of the help that lists it.
        default: what the help says about the default, where it is not declared here; or whether it says so.
        more: what else `typer.Option` takes, such as ``min=1``.
    """
    names = [text for text in texts if text.startswith("-")]
    *metavar, explanation = [text for text in texts if not text.startswith("-")]
    return typer.Option(
        *names,
        metavar=metavar[0] if metavar else None,
        help=explanation,
        rich_help_panel=panel,
        show_default=default,
        **more,
    )


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the verb with a parameter for every field of its groups; it is called with the groups themselves."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(verb).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters |= _of_group(groups[name])
        else:
            parameters[name] = parameter.replace(kind=_NAMED, annotation=hints[name])

    @wraps(verb)
    def flat(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        verb(**made, **values)

    flat.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    flat.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return flat


def _of_group(group: type[Any]) -> dict[str, Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: Parameter(
            field.name,
            _NAMED,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    }


def explicit_options(**options: Any) -> dict[str, Any]:
    """Return the options that the user typed: those that are not None. Defaults live with what they are defaults of."""
    return {name: value for name, value in options.items() if value is not None}


def path(text: str) -> Path:
    """Return a path as typed, with `~` expanded; an empty one is an error, not the current folder."""
    from cuecard.data.reading.formats import typed_path

    return typed_path(text)


def required_out(kind: str, help: str) -> Any:
    """Return the option --out of a verb that always writes: a folder or a file, as `kind` says."""
    return option("--out", "-o", kind, help, default=False, parser=path)


OutOption = Annotated[
    Path | None,
    option("--out", "-o", "DIR", "Write card.json, report.html and tables/ here.", parser=path),
]
OnlyOption = Annotated[
    str | None,
    option(
        "--only",
        "A,B",
        "Run only these sections of the card.",
        autocompletion=listed_names(completion.sections),
    ),
]
SkipOption = Annotated[
    str | None,
    option(
        "--skip", "A,B", "Run all sections except these.", autocompletion=listed_names(completion.sections)
    ),
]
SeedOption = Annotated[int, option("--seed", "N", "Random seed.", min=0, max=LARGEST_SEED)]
SubsetOption = Annotated[
    int | None,
    option("--subset", "N", "Train on N random training examples.", panel=MODELS),
]
WeightsOption = Annotated[
    str | None,
    option(
        "--weights",
        "COLUMN",
        "Column with the weight of each example, such as `cuecard debias` writes.",
        panel=WEIGHTS,
    ),
]
MaxWeightOption = Annotated[
    float | None,
    option("--max-weight", "W", "Largest weight; the mean is 1.", panel=WEIGHTS),
]
MatchOption = Annotated[
    str | None,
    option("--match", "LABEL", "Label of two sentences with the same meaning."),
]
ChartOption = Annotated[
    Path | None,
    option("--chart", "FILE", "Write a chart to this file (.html, .png or .svg).", parser=path),
]
NoCacheOption = Annotated[
    bool,
    option("--no-cache", "Retrain models: neither read nor write the cache.", panel=MODELS),
]
MemoryOption = Annotated[
    str | None,
    option(
        "--memory",
        "SIZE",
        "Memory to use, such as 4GB (at least about 1GB is used); a larger dataset is mapped from disk. Default: half "
        "of what is free.",
        panel=DATA,
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    option(
        "--set",
        "[SECTION.]NAME=VALUE",
        "Set a parameter of a section, such as pair_graph.forest=paper, or of a trained model, such as "
        "epochs=3. Repeatable.",
        autocompletion=completion.settings,
    ),
]


QuietOption = Annotated[bool, option("--quiet", "-q", "Print nothing but errors.", panel=OUTPUT)]
VerboseOption = Annotated[
    bool, option("--verbose", "-v", "Also print the sections of the card with their tables.", panel=OUTPUT)
]
OpenOption = Annotated[bool, option("--open", "Open the report in the browser.", panel=OUTPUT)]


@dataclass(frozen=True)
class Output:
    """What is printed."""

    json: Annotated[bool, option("--json", "Print the result as JSON instead of text.", panel=OUTPUT)] = False
    quiet: QuietOption = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the result may be printed."""
        return self.json or self.quiet

    def say(self, line: str) -> None:
        """Print a line beside the result: to standard error where that is JSON, nowhere if quiet."""
        if not self.quiet:
            typer.echo(line, err=self.json)

    @property
    def progress(self) -> Progress:
        """The progress display."""
        from cuecard.cli.streams import progress

        return progress(silent=self.silent)

    def check(self, out: Path | None, inputs: Iterable[object], *, option: str = "--out") -> None:
        """Raise if no card can be written to a folder, before the work for it begins."""
        from cuecard.card.files import CARD_FILES
        from cuecard.limits import check_folder

        if out is not None:
            check_folder(out, CARD_FILES, inputs=inputs, option=option)

    def staged(self, out: Path | None) -> Callable[[Card, Staged | None], AbstractContextManager[None]]:
        """Return what stages a card and its report for a folder, and a file with them; nothing without a folder."""
        from cuecard.cli.show import staged_with_report

        return lambda card, last: staged_with_report(card, out, last) if out is not None else nullcontext()


@dataclass(frozen=True)
class CardOutput(Output):
    """What is printed and written of a card."""

    verbose: VerboseOption = False
    open: OpenOption = False

    def show(self, card: Card, out: Path | None, *, sections: Sequence[str] = ()) -> None:
        """Write the card to `out`, or to a temporary folder to open it, and print it; `sections` are printed whole."""
        if self.open and out is None:
            out = Path(mkdtemp(prefix="cuecard-"))
        with self.staged(out)(card, None):
            pass
        self.print(card, out, sections=sections)

    def print(self, card: Card, out: Path | None, *, sections: Sequence[str] = ()) -> None:
        """Print the card and where it is, and open its report if the user wants that."""
        from cuecard.card.files import REPORT_FILE
        from cuecard.cli.show import print_card

        report = out / REPORT_FILE if out is not None else None
        if self.json:
            typer.echo(card.model_dump_json(indent=2))
        elif not self.quiet:
            print_card(card, report, verbose=self.verbose, sections=sections)
        if self.open and report is not None:
            typer.launch(str(report))


def typed_command() -> str:
    """Return what the user typed, for the card."""
    return shlex.join(["cuecard", *sys.argv[1:]])


def comma_list(text: str | None) -> list[str]:
    """Return the parts of "a,b,c" without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Return the parts of "a,b,c", or None where there are none."""
    return tuple(comma_list(text)) or None


def named_patterns(options: list[str] | None) -> tuple[tuple[str, str], ...] | None:
    """Return the pairs of ["NAME=PATTERN", …], or None where there are none."""
    pairs = []
    for text in options or []:
        name, equals, pattern = text.partition("=")
        if not (name.strip() and equals and pattern):
            raise UsageError(f"--regex takes NAME=PATTERN, such as hedge='maybe|perhaps', not {text!r}.")
        pairs.append((name.strip(), pattern))
    return tuple(pairs) or None


def split_settings(
    texts: Iterable[str] | None, sections: Sequence[str], trained: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the settings of sections, such as "pair_graph.forest=paper", and those of models, such as "epochs=3".

    Args:
        texts: as the user typed them.
        sections: names of the sections that can be set.
        trained: names of the models that are trained.
    """
    from cuecard.errors import UsageError
    from cuecard.models import MODELS
    from cuecard.registry import unknown_name

    of_sections, of_models = [], []
    for text in texts or ():
        owner, dot, _ = text.partition("=")[0].strip().partition(".")
        if dot and owner in sections:
            of_sections.append(text)
        elif dot and owner not in MODELS.names():
            raise unknown_name("section or model in --set", owner, [*sections, *MODELS.names()])
        elif not trained:
            raise UsageError(
                f"--set {text} names no section, and this command trains no model: type SECTION.PARAMETER=VALUE, such "
                "as pair_graph.forest=paper."
            )
        else:
            of_models.append(text)
    return of_sections, tuple(of_models)
