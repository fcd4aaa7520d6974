"""Options that were called otherwise, or lived in another verb, in earlier versions; and what to type now."""

from __future__ import annotations

from collections.abc import Sequence

from cuecard.errors import UsageError

_ASK = "language models are asked by `cuecard ask`, which writes a file for --predictions; there it is {}"

#: Verb → old option → what to type now.
RENAMED: dict[str, dict[str, str]] = {
    "probe": {
        "--weights": "it is called --test-weights COLUMN now",
        **{
            name: _ASK.format(name)
            for name in ("--endpoint", "--prompt", "--stress", "--sample", "--max-requests", "--concurrency")
        },
        "--llm": _ASK.format("--model"),
        "--answers": _ASK.format("--keep-answers"),
        "--key-variable": _ASK.format("--key-variable"),
    },
    "train": {
        "--dynamics": "it is called --record-dynamics now",
        "--weight-column": "--weights COLUMN names it now",
    },
    "stress": {"--identical-pairs": "it is called --kind identical-pairs now"},
    "compare": {"--top": "it is called --show N now"},
    "reproduce stubborn": {"--weights": "it is called --schemes A,B now"},
}


def check_renamed(verb: str, arguments: Sequence[str]) -> None:
    """Raise if an option is one of an earlier version; the message says what to type now."""
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if new := RENAMED.get(verb, {}).get(name):
            raise UsageError(f"cuecard {verb} has no option {name}: {new}.")
