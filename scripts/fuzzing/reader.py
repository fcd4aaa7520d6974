"""The process that reads cases: a line `WAY<TAB>PATH` comes in, a line with how reading ended goes out."""

from __future__ import annotations

import io
import sys
from functools import cache
from pathlib import Path

from cuecard.card import load_card
from cuecard.data import Instances, load, scan
from cuecard.errors import CueCardError
from cuecard.probes import read_predictions
from cuecard.probes.examples import check_test
from cuecard.probes.prompts.study import find_prompt

LABELS = ("contradiction", "entailment", "neutral")
#: A longer message is no sentence.
LONGEST = 2000


@cache
def dataset(task: str) -> Instances:
    """Return the dataset that logs and predictions are about: six test examples with the ids a…f."""
    rows = [
        {"id": name, "premise": f"p{i}", "hypothesis": f"h{i}", "label": LABELS[i % 3]}
        if task == "pair"
        else {"id": name, "question": f"q{i}", "choices": [f"{c}{i}" for c in "xyz"], "answer": i % 3}
        for i, name in enumerate("ABCDEFGHIabcdef")
    ]
    return load(rows[:9], test=rows[9:])


def read(way: str, path: Path) -> None:
    """Read a case as its way says."""
    if way in ("pair", "choice"):
        read_predictions(path, dataset(way))
    elif way == "card":
        from rich.console import Console

        from cuecard.report import dataset_card_markdown, render_html, render_terminal

        card = load_card(path)
        render_html(card)
        dataset_card_markdown(card)
        render_terminal(card, Console(file=io.StringIO()))
    elif way == "template":
        find_prompt(str(path)).render(check_test(dataset("choice")), 0)
    elif way == "scan":
        for part in scan(path, rows=7):
            assert part.fingerprint
    else:
        assert load(path, on_error=way, max_skipped=10**9).fingerprint  # type: ignore[arg-type]


def ending(way: str, path: Path) -> str:
    """Return how reading a case ends: read, refused, or what went wrong."""
    try:
        read(way, path)
    except CueCardError as error:
        message = str(error)
        if "\n" in message or not message.isprintable():
            return f"unprintable message: {message[:200]!r}"
        return "refused" if len(message) < LONGEST else f"message of {len(message):,} characters"
    except BaseException as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if "cuecard" in frame.filename][-1:]
        place = f"{Path(ours[0].filename).name}:{ours[0].lineno}" if ours else ""
        return f"{type(error).__name__} {place}: {str(error).splitlines()[:1]!r:.200}"
    return "read"


if __name__ == "__main__":
    for line in sys.stdin:
        way, name = line.rstrip("\n").split("\t")
        print(ending(way, Path(name)).replace("\n", " "), flush=True)
