"""The process that reads cases: a line `WAY<TAB>PATH` comes in, a line with how reading ended goes out."""

from __future__ import annotations

import atexit
import io
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from cuecard.card import Card, load_card, save_card
from cuecard.card.policy_files import parse_policy
from cuecard.data import DatasetSpec, Instances, load
from cuecard.data.space import temporary_space
from cuecard.errors import CueCardError
from cuecard.probes import find_prompt, read_predictions
from cuecard.probes.examples import check_test
from cuecard.remedies.plan.worksheet import applied, read_worksheet
from cuecard.run import audit, probe

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


RULES = '[rules]\n"findings.low" = "== 0"\n"overview.label_share.a" = "<= 0.1"\n"cues.cues" = "== 0"\n'


@cache
def small_card() -> Path:
    """Return the folder of a small card."""
    rows = [
        {"premise": f"p {i % 9}", "hypothesis": f"h {'not' if i % 2 else 'so'} {i % 7}", "label": "ab"[i % 2]}
        for i in range(60)
    ]
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    save_card(audit(load(rows), only=["overview", "cues"]), folder)
    return folder


def _check(card: Card) -> None:
    if failed := [one.reason for one in card.sections.values() if one.status == "failed"]:
        raise RuntimeError(failed[0])


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
    elif way in ("policy", "ratchet"):
        from cuecard.report.checks import WRITERS
        from cuecard.run import check

        card = load_card(small_card())
        done = check(card, path) if way == "policy" else check(card, parse_policy(RULES), ratchet=path)
        for write in WRITERS.values():
            write(done)
    elif way == "worksheet":
        applied(dataset("pair"), read_worksheet(path, dataset("pair")))
    elif way == "to_fill":
        from cuecard.report import exports

        card, text = load_card(small_card()), path.read_text(errors="replace")
        made = (
            exports.hf_card(card, text)
            if path.suffix == ".md"
            else exports.croissant_json(card, existing=text)
        )
        assert made
    elif way == "weights":
        _check(audit(load(path), only=["overview", "cues"], weights="weight"))
    elif way == "judge":
        from cuecard.report import render_html

        card = probe(judge=[path])
        _check(card)
        render_html(card)
    elif way == "mapped":
        assert DatasetSpec(path)(temporary_space(7)).fingerprint
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
