from __future__ import annotations

import pytest

from cuecard.analysis import Finding
from cuecard.run.finishing.repeating import repeating


@pytest.mark.parametrize(
    ("typed", "again"),
    [
        (
            "cuecard audit a.csv --test b.csv --out x --json --features word --regex 'hedge=maybe|perhaps' -q",
            "cuecard explain nobody a.csv --test b.csv --regex 'hedge=maybe|perhaps'",
        ),
        (
            "cuecard audit --columns=label=gold a.csv --no-stop-words --min-count 9",
            "cuecard explain nobody --columns=label=gold a.csv --no-stop-words",
        ),
        ("cuecard demo", "cuecard demo"),
    ],
)
def test_the_command_of_a_cue_explains_it_with_the_same_data_and_tokens(typed, again):
    finding = Finding("cues", "high", "t", "x", cue="nobody")
    assert repeating(typed, finding) == again
