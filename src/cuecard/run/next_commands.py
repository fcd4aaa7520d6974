"""What to type next: the command that shows a finding again, and those that lead on from a card."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cuecard.analysis import Finding
from cuecard.card.card import Card

#: Options that say which rows are read and how; every verb that reads a dataset has them.
OPTIONS_OF_ROWS = frozenset(
    {
        "--task",
        "--columns",
        "--labels",
        "--label-file",
        "--header",
        "--on-error",
        "--max-skipped",
        "--cluster",
        "--name",
    }
)
#: The section whose cues are found, and saved with its card.
CONCEPTS = "concepts"
#: Those of them that still apply to rows that were written with a header line of their own.
OPTIONS_OF_WRITTEN_ROWS = OPTIONS_OF_ROWS - {"--header"}
OPTIONS_OF_DATA = OPTIONS_OF_ROWS | {"--test", "--holdout", "--seed"}
FLAGS_OF_DATA = frozenset({"--keep-unlabelled"})
#: Options of `cuecard audit` that change what a cue is, so that `cuecard explain` has them too.
OPTIONS_OF_EXPLAIN = OPTIONS_OF_DATA | {"--tokens", "--scope", "--language", "--regex"}
FLAGS_OF_EXPLAIN = FLAGS_OF_DATA | {"--stop-words", "--no-stop-words"}
#: Flags of all verbs that read a dataset; every other option is followed by its value.
FLAGS = FLAGS_OF_EXPLAIN | {
    *("--json", "--quiet", "-q", "--verbose", "-v", "--open", "--no-cache", "--surplus-ids"),
    *("--balance-labels", "--trade-off", "--balanced", "--record-dynamics", "--structured", "--change-test"),
    *("--keep-copies", "--dry-run"),
}


class Argument(NamedTuple):
    """A part of a command: an option with its value, a flag (`value` is None) or, without `option`, an argument."""

    option: str
    value: str | None
    words: tuple[str, ...]  # as they were typed


def arguments_in(words: Iterable[str]) -> Iterator[Argument]:
    """Give the arguments, options and flags of what was typed after a verb.

    >>> [one[:2] for one in arguments_in(["a.csv", "--json", "--test=b.csv", "-o", "card"])]
    [('', 'a.csv'), ('--json', None), ('--test', 'b.csv'), ('-o', 'card')]
    """
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            yield Argument("", word, (word,))
        elif name in FLAGS:
            yield Argument(name, None, (word,))
        elif equals:
            yield Argument(name, value, (word,))
        else:
            value = next(rest, "")
            yield Argument(name, value, (word, value))


def repeating(command: str, finding: Finding) -> str:
    """Return what to type to see a finding again: the whole audit, or its cue in depth.

    An option that the finding's analysis gives as its command, such as another label, is put in place of the typed one.
    """
    words, own = shlex.split(command), shlex.split(finding.command)
    if not finding.cue or words[:2] != ["cuecard", "audit"]:
        return command
    kept = [*_kept(words[2:], OPTIONS_OF_EXPLAIN - set(own), FLAGS_OF_EXPLAIN), *own]
    cue = finding.cue
    if finding.section == CONCEPTS:  # they are read from the card's folder
        if not (folder := _value(words, ("--out", "-o"))):
            return command
        family, _, name = cue.partition(":")
        cue = f"{family}={folder}:{name}"
    return shlex.join(["cuecard", "explain", cue, *kept])


def on_same_data(command: str, verb: str, *more: object) -> str:
    """Return what to type to run another verb on the data of a command.

    >>> on_same_data("cuecard ask 'my data.csv' --model m", "probe", "--predictions", "m.csv")
    "cuecard probe 'my data.csv' --predictions m.csv"
    """
    kept = _kept(shlex.split(command)[2:], OPTIONS_OF_DATA, FLAGS_OF_DATA)
    return shlex.join(["cuecard", verb, *kept, *map(str, more)])


def on_same_rows(command: str, verb: str, *more: object) -> str:
    """Return what to type to run a verb on the training rows of a command alone; nothing where it reads no dataset.

    >>> on_same_rows("cuecard audit a.tsv --test b.tsv --header none", "debias", "--out", "w.parquet")
    'cuecard debias a.tsv --header none --out w.parquet'
    """
    kept = _kept(shlex.split(command)[2:], OPTIONS_OF_ROWS, frozenset())
    if not kept or kept[0].startswith("-"):
        return ""
    return shlex.join(["cuecard", verb, *kept, *map(str, more)])


def is_for_evaluation(command: str) -> bool:
    """Return whether the only rows of a command are, by their name, no training set: nobody trains on them.

    >>> [is_for_evaluation(f"cuecard audit {data}") for data in ("snli/test.csv", "hf:snli:validation", "contest.csv")]
    [True, True, False]
    >>> is_for_evaluation("cuecard audit dev.csv --test test.csv")
    False
    """
    words = shlex.split(command)[2:]
    return not _value(words, ("--test",)) and _EVALUATION.search(_name_of_rows(words)) is not None


def is_for_training(command: str) -> bool:
    """Return whether the rows of a command are, by their name, a training set.

    >>> [is_for_training(f"cuecard audit {data}") for data in ("snli/train.csv", "hf:snli:train", "snli.csv")]
    [True, True, False]
    """
    return _TRAINING.search(_name_of_rows(shlex.split(command)[2:])) is not None


def _name_of_rows(words: list[str]) -> str:
    """Return the split, or the name of the file, of the rows of a command."""
    rows = next((one.value or "" for one in arguments_in(words) if not one.option), "")
    return rows.rpartition(":")[2].rstrip("/").rpartition("/")[2].lower()


_TRAINING = re.compile(r"(?<![a-z])train(ing)?(?![a-z])")
_EVALUATION = re.compile(r"(?<![a-z])(test|dev|validation|valid|val|eval|benchmark)(?![a-z])")


def next_commands(card: Card, written: bool = True) -> list[tuple[str, str]]:
    """Return what to type after an audit, a probe or debiasing, each with what it does; empty after other verbs.

    Args:
        card: a card whose provenance has the command that made it.
        written: whether the card and its report are on disk.
    """
    words = shlex.split(card.provenance.command)
    verb = words[1] if words[:1] == ["cuecard"] and len(words) > 1 else ""
    data = _kept(words[2:], OPTIONS_OF_DATA, FLAGS_OF_DATA)
    if verb == "audit":
        if not written:
            return [(shlex.join([*words, "--out", "report"]), "write the report")]
        cue = next((f.command for f in card.findings if f.cue and f.severity != "info"), "")
        steps = [(cue, "look at one cue in depth")] if cue else []
        predicted = [*data, "--predictions", "FILE"]
        return [*steps, (shlex.join(["cuecard", "probe", *predicted]), "test whether a model uses the cues")]
    if verb == "probe" and not on_same_rows(card.provenance.command, "audit"):
        return []  # verdicts alone, without a dataset
    if verb == "probe" and card.dataset.task == "open":
        audit = shlex.join(["cuecard", "audit", *data, "--out", "report"])
        return [(audit, "find what gives the answers away")]
    if verb == "probe":
        command = card.provenance.command
        weighted = on_same_rows(command, "debias", "--out", "weighted.parquet")
        if is_for_evaluation(command) or not (_value(words, ("--test",)) or _value(words, ("--holdout",))):
            hard = on_same_rows(command, "stress", "--out", "stress")
            return [(hard, "write the examples that no partial input gives away")]
        return [(weighted, "balance the cues before training")]
    if verb == "debias" and (out := _value(words[2:], ("--out", "-o"))):
        if card.provenance.engine:  # read in parts: an audit with weights takes all of it at once
            return []
        column = _value(words[2:], ("--weight-column",)) or "weight"
        rest = _kept(words[2:], OPTIONS_OF_WRITTEN_ROWS, frozenset())
        rest.remove(_value(words[2:], ("",)))
        place = Path(out).with_suffix("") if Path(out).suffix else f"{out.rstrip('/')}-audit"
        again = ["cuecard", "audit", out, *rest, "--weights", column, "--out", str(place)]
        return [(shlex.join(again), "audit the weighted set")]
    return []


def _kept(words: list[str], options: Collection[str], flags: Collection[str]) -> list[str]:
    """Return the arguments of a command, and of its options only these."""
    names = {"", *options, *flags}
    return [word for one in arguments_in(words) if one.option in names for word in one.words]


def _value(words: Iterable[str], names: Collection[str]) -> str:
    """Return the value of an option as it was typed, or nothing."""
    return next((one.value or "" for one in arguments_in(words) if one.option in names), "")
