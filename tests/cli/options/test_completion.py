from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names


def test_a_list_is_completed_after_its_last_comma_without_names_it_has() -> None:
    complete = listed_names(lambda: ["word", "bigram", "negation"])
    assert complete("") == ["word", "bigram", "negation"]
    assert complete("word,") == ["word,bigram", "word,negation"]
    assert complete("word,ne") == ["word,negation"]


def test_parameters_are_completed_with_their_section() -> None:
    assert "pair_graph.forest=" in completion.settings("pair_gr")
    assert all(name.startswith("cues.") for name in completion.settings("cues."))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("cuecard audit x.csv --only over", "overview"),
        ("cuecard audit x.csv --features word,neg", "word,negation"),
        ("cuecard probe x.csv --model fast", "fasttext"),
        ("cuecard papers stubborn x.csv --model fast", "fasttext"),
        ("cuecard audit x.csv --set pair_graph.for", "pair_graph.forest="),
    ],
)
def test_the_shell_offers_the_names_that_an_option_takes(typed: str, offered: str) -> None:
    environment = os.environ | {
        "_CUECARD_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "cuecard"], env=environment, capture_output=True, text=True, check=False
    )
    assert offered in done.stdout.split()
