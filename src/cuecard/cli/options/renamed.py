"""Options that earlier versions had under another name, or that other verbs have, and what to type instead."""

from __future__ import annotations

from collections.abc import Sequence

from cuecard.errors import UsageError

_ASK = "type it as cuecard ask … {}, and give the file that `cuecard ask` writes to --predictions"

#: Verb → option that it does not have → what to type now.
RENAMED: dict[str, dict[str, str]] = {
    "demo": {"--kind": "type --task pair or --task choice"},
    "probe": {
        "--weights": "type --test-weights COLUMN",
        **{
            name: _ASK.format(name)
            for name in ("--endpoint", "--prompt", "--stress", "--sample", "--max-requests", "--concurrency")
        },
        "--llm": _ASK.format("--model"),
        "--answers": _ASK.format("--keep-answers"),
        "--key-variable": _ASK.format("--key-variable"),
    },
    "train": {
        "--dynamics": "type --record-dynamics",
        "--weight-column": "type --weights COLUMN",
    },
    "stress": {"--identical-pairs": "type --kind identical-pairs"},
    "debias": {"--test": "it reweights a training set; type that file and --out FILE, without the test set"},
    "correct": {"--model": "type --predictions FILE, a file with the probabilities of a model"},
    "compare": {"--top": "type --show N", "--out": "type --page FILE.html", "-o": "type --page FILE.html"},
    "board": {"--out": "type --page FILE.html", "-o": "type --page FILE.html"},
    "reproduce stubborn": {"--weights": "type --schemes A,B"},
}


def check_renamed(verb: str, arguments: Sequence[str]) -> None:
    """Raise if an option is one of an earlier version; the message says what to type now."""
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if new := RENAMED.get(verb, {}).get(name):
            raise UsageError(f"cuecard {verb} has no option {name}: {new}.")
