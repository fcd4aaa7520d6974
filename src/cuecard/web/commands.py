"""The command line behind every job: what the app runs is what a user would type."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuecard.run.next_commands import FLAGS_OF_DATA, OPTIONS_OF_DATA, arguments_in

#: Options that say how a dataset is read, with a value.
READING_OPTIONS = OPTIONS_OF_DATA - {"--seed"}
#: Those of them that name files.
_PATHS = frozenset({"--test", "--label-file"})
#: Verbs whose first argument is a dataset.
VERBS = frozenset({"audit", "probe", "debias", "ask", "train", "stress"})


@dataclass(frozen=True)
class Reading:
    """A dataset and how it is read: its file, and options as (name, value) in the order they are typed."""

    train: str
    options: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()

    def arguments(self, *, without: Iterable[str] = ()) -> list[str]:
        """Return the arguments that read this dataset."""
        left_out = set(without)
        pairs = [part for name, value in self.options if name not in left_out for part in (name, value)]
        return [self.train, *pairs, *(flag for flag in self.flags if flag not in left_out)]

    @property
    def files(self) -> list[str]:
        """The paths it reads."""
        return [self.train, *(value for name, value in self.options if name in _PATHS)]

    @property
    def test(self) -> str | None:
        """The path of the test split."""
        return dict(self.options).get("--test")


def reading_of(command: str) -> Reading | None:
    """Return the dataset that a command reads, None where it cannot be told.

    >>> reading_of("cuecard audit a.csv --test b.csv --only cues").arguments()
    ['a.csv', '--test', 'b.csv']
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) < 3 or Path(words[0]).name != "cuecard" or words[1] not in VERBS:
        return None
    parts = list(arguments_in(words[2:]))
    train = next((one.value for one in parts if not one.option), None)
    options = tuple((one.option, one.value or "") for one in parts if one.option in READING_OPTIONS)
    flags = tuple(one.option for one in parts if one.option in FLAGS_OF_DATA)
    return None if train is None else Reading(train, options, flags)


def reading_of_card(command: str, folder: Path) -> Reading | None:
    """Return the dataset of a card by the command that made it; a demo's files are beside its card."""
    data = folder / "data"
    if shlex.split(command)[:2] == ["cuecard", "demo"] and (data / "train.parquet").is_file():
        return Reading(str(data / "train.parquet"), (("--test", str(data / "test.parquet")),))
    return reading_of(command)


def inside(root: Path, path: str) -> Path | None:
    """Return a path below the root, whole; None where it leads outside.

    Only files may be read that the user put below the root: a card, or a page, that names another one gets nothing.
    """
    if not path or "\0" in path:
        return None
    try:
        whole = (root / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    return whole if whole.is_relative_to(root.resolve()) else None


def shown_command(verb: str, arguments: Sequence[str], root: Path) -> str:
    """Return what a user in the root folder would type."""
    prefix = f"{root.resolve()}/"
    return shlex.join(["cuecard", verb, *(argument.removeprefix(prefix) for argument in arguments)])


def equivalent(page: str, command: str, folder: Path, root: Path, *, feature: str = "") -> str:
    """Return what a user in the root folder would type for what a page of a card shows or does."""
    reading = reading_of_card(command, folder)
    if reading is None or page not in ("cue", "models", "remedies"):
        return command
    if page == "cue":
        return shown_command("explain", [feature, *reading.arguments()], root)
    if page == "models":
        return shown_command("probe", [*reading.arguments(), "--predictions", "FILE"], root)
    train_only = reading.arguments(without=("--test", "--holdout", "--keep-unlabelled"))
    return shown_command("debias", [*train_only, "--out", "weighted.parquet"], root)


@dataclass(frozen=True)
class Request:
    """What a page asks to be run: a verb, the dataset, and further options."""

    verb: str
    reading: Reading
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Return the arguments after the verb."""
        extra = [part for name, values in self.options.items() for value in values for part in (name, value)]
        return [*self.reading.arguments(), *extra]
