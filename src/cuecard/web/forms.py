"""The command lines behind jobs, and the options of analyses as forms: the app runs what a user would type.

`python -m cuecard.web.forms` prints all forms. The server asks a process for them, so that it never loads the libraries
that analyses need.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from threading import Lock
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cuecard._lazy import PYTHON
from cuecard.analysis import Analysis, Measure
from cuecard.errors import UsageError
from cuecard.run.next_commands import FLAGS_OF_DATA, OPTIONS_OF_DATA, arguments_in
from cuecard.wording import in_unit

#: Options that say how a dataset is read, with a value; the seed is one of them where it draws the held-out split.
READING_OPTIONS = OPTIONS_OF_DATA - {"--seed"}
#: Those of them that name files.
_PATHS = frozenset({"--test", "--label-file"})
#: Options of a reading that verbs about training examples alone do not have.
NOT_OF_TRAINING = ("--test", "--holdout", "--seed", "--keep-unlabelled")
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
    drawn = any(one.option == "--holdout" for one in parts)
    names = READING_OPTIONS | ({"--seed"} if drawn else set())
    train = next((one.value for one in parts if not one.option), None)
    options = tuple((one.option, one.value or "") for one in parts if one.option in names)
    flags = tuple(one.option for one in parts if one.option in FLAGS_OF_DATA)
    return None if train is None else Reading(train, options, flags)


def reading_of_card(command: str, folder: Path) -> Reading | None:
    """Return the dataset of a card by the command that made it; a demo's files are beside its card."""
    data = folder / "data"
    if shlex.split(command)[:2] == ["cuecard", "demo"] and (data / "train.parquet").is_file():
        return Reading(str(data / "train.parquet"), (("--test", str(data / "test.parquet")),))
    return reading_of(command)


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
    train_only = reading.arguments(without=NOT_OF_TRAINING)
    return shown_command("debias", [*train_only, "--out", "weighted.parquet"], root)


def plan_goals(measures: Mapping[str, Measure]) -> list[tuple[str, str]]:
    """Return goals for a plan of changes that a card does not meet yet, each with what it says, the first one best."""
    goals = []
    cues = measures.get("cues.cues")
    if cues is not None and cues.value:
        goals.append(("cues.cues == 0", f"No cue is left (now {in_unit(cues.value, cues.unit)})"))
    for name, measure in measures.items():
        chance, low = measure.chance, measure.low
        if chance is None or low is None or low <= chance or measure.unit != "share":
            continue
        if name.endswith(".accuracy") and not name.endswith("full.accuracy"):
            now = in_unit(measure.value, "share")
            goals.append(
                (
                    f"{name} <= {round(chance + 0.02, 3):g}",
                    f"{measure.label or name} at most 2 points above chance (now {now})",
                )
            )
    return goals[:8]


_LOADING = Lock()


def all_forms() -> dict[str, Any]:
    """Return the forms of all audits and remedies, and the models that can be trained; a process looks once."""
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> dict[str, Any]:
    words = [*PYTHON, "-m", "cuecard.web.forms"]
    try:
        output = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        answer: dict[str, Any] = json.loads(output)
    except (OSError, subprocess.CalledProcessError, ValueError):
        raise UsageError(
            "The analyses could not be loaded: try again, or see `cuecard audit --help`."
        ) from None
    return answer


def names_in(kind: str) -> list[str]:
    """Return the names of the audits, remedies or models."""
    return [one if isinstance(one, str) else one["name"] for one in all_forms()[kind]]


def forms(kinds: Mapping[str, type[Analysis]]) -> list[dict[str, Any]]:
    """Return for every analysis, by the name users type: title, first sentence, and parameters as fields."""
    return [
        {
            "name": name,
            "title": kind.title,
            "about": _sentence(kind),
            "tasks": sorted(kind.tasks),
            "fields": _fields(kind),
        }
        for name, kind in kinds.items()
    ]


def _sentence(kind: type[Any]) -> str:
    text = inspect.getdoc(kind) or ""
    return text.split("\n\n", 1)[0].replace("\n", " ")


def _fields(kind: type[Any]) -> list[dict[str, Any]]:
    hints, help_of = get_type_hints(kind), _help(kind)
    shown = []
    for one in fields(kind):
        if not one.metadata.get("parameter", True):
            continue
        control = _control(hints[one.name])
        if control is None:
            continue
        default = None if one.default is MISSING else one.default
        written = ",".join(map(str, default)) if isinstance(default, tuple) else default
        shown.append({"name": one.name, "help": help_of.get(one.name, ""), "default": written, **control})
    return shown


def _control(hint: Any) -> dict[str, Any] | None:
    """Return the kind of field that takes a value of a type, None where a page cannot offer one."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        rest = [a for a in arguments if a is not NoneType]
        literal = [a for a in rest if get_origin(a) is Literal]
        inner = _control((literal or rest)[0]) if rest else None
        return None if inner is None else inner | {"optional": NoneType in arguments}
    if origin is Literal:
        return {"kind": "choice", "choices": [str(a) for a in arguments]}
    if hint is bool:
        return {"kind": "flag"}
    if hint in (int, float):
        return {"kind": "number", "whole": hint is int}
    if hint is str:
        return {"kind": "text"}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return {"kind": "text", "several": True} if _control(arguments[0]) else None
    return None


def _help(kind: type[Any]) -> dict[str, str]:
    """Return what a class' docstring says of each parameter."""
    _, _, listed = (inspect.getdoc(kind) or "").partition("Args:\n")
    described = re.findall(r"^ {4}(\w+): ((?:.+\n?)(?: {8}.+\n?)*)", listed, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in described}


def main() -> None:
    """Print what can be chosen, as JSON and nothing else, whatever plug-ins print when they are imported."""
    with redirect_stdout(sys.stderr):
        from cuecard.audits import AUDITS
        from cuecard.models import MODELS
        from cuecard.probes.prompts.asking import BUILT_IN
        from cuecard.probes.prompts.inputs import INPUTS
        from cuecard.remedies import REMEDIES

        audits, remedies = ({n: kinds.get(n) for n in kinds.names()} for kinds in (AUDITS, REMEDIES))
        answer = {
            "audits": forms(audits),
            "remedies": forms(remedies),
            "models": MODELS.names(),
            "prompts": list(BUILT_IN),
            "inputs": {task: list(names) for task, names in INPUTS.items()},
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
