from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.analysis import Result
from cuecard.audits import Slices
from cuecard.audits.partial_input.slices import slice_columns
from cuecard.audits.slices.words import words_by_slice
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.text import encode


def sources(task: str, seed: int, *, planted: str, copies: int = 1, n: int = 400) -> Instances:
    """Examples of two sources (or ten); “marker” points one way in one source and the other way in the other."""
    rng = np.random.default_rng([seed, 5])
    rows = []
    for i in range(n // copies):
        source = i % (10 if planted == "a tenth" else 2)
        label, marked = int(rng.integers(2)), rng.random() < (0.5 if planted == "a tenth" else 0.2)
        told = {"opposite": (label + source) % 2, "a tenth": label if source == 3 else int(rng.integers(2))}
        says = told.get(planted, int(rng.integers(2))) if rng.random() < 0.95 else int(rng.integers(2))
        texts = [" ".join(f"w{word}" for word in rng.integers(0, 60, 8)) for _ in range(2)]
        if task == "preference":
            texts[0 if says == label else 1] += " marker" if marked else ""
            row = {"prompt": f"p{rng.integers(10**9)}", "chosen": texts[0], "rejected": texts[1]}
            row = row if label else row | {"chosen": texts[1], "rejected": texts[0]}
            if planted == "opposite" and marked:
                right, wrong = (" marker", "") if source else ("", " marker")
                row |= {
                    "chosen": texts[0].removesuffix(" marker") + right,
                    "rejected": texts[1].removesuffix(" marker") + wrong,
                }
        else:
            row = {
                "premise": texts[0],
                "hypothesis": texts[1] + (" marker" if marked and says else ""),
                "label": "ab"[label],
            }
        rows += [row | {"source": f"s{source}"} for _ in range(copies)]
    return cc.load(pl.DataFrame(rows))


def named(result: Result) -> list[str]:
    return [finding.title for finding in result.findings if "“" in finding.title]


@pytest.mark.parametrize("task", ["pair", "preference"])
def test_a_word_that_turns_round_between_slices_is_named(task):
    result = Slices().run(sources(task, 1, planted="opposite"))
    [title] = named(result)
    assert "“marker” points to" in title
    assert not any("No slice differs" in finding.title for finding in result.findings)
    row = result.tables["slice_words"].row(0, named=True)
    assert row["word"] == "marker"
    assert row["q_value"] < 0.01
    assert (row["accuracy"] - row["chance"]) * (row["rest_accuracy"] - row["rest_chance"]) < 0
    assert result.summary["words"] == 1
    assert {m.name: m.value for m in result.measures}["slices.words"] == 1


def test_a_word_that_leaks_in_a_tenth_of_the_data_is_named_there():
    [title] = named(Slices().run(sources("pair", 2, planted="a tenth", n=2_000)))
    assert "source = s3" in title


@pytest.mark.parametrize("task", ["pair", "preference"])
@pytest.mark.parametrize("copies", [1, 5])
def test_words_that_say_nothing_are_rarely_named(task, copies):
    alarms = 0
    for seed in range(8):
        data = sources(task, 50 + seed, planted="nothing", copies=copies)
        table = words_by_slice(encode(data), slice_columns(Examples(data)), fewest=20)
        alarms += bool((table["q_value"] <= 0.05).any())
    assert alarms <= 2


def test_a_word_that_leaks_everywhere_is_no_word_of_a_slice():
    rng = np.random.default_rng(3)
    rows = []
    for i in range(1_200):
        label = int(rng.random() < (0.3, 0.5, 0.7)[i % 3])  # sources with other labels
        text = " ".join(f"w{word}" for word in rng.integers(0, 60, 8))
        text += " marker" if rng.random() < (0.3 if label else 0.02) else ""
        rows.append({"premise": text, "hypothesis": text, "label": "ab"[label], "source": f"s{i % 3}"})
    assert not named(Slices().run(cc.load(pl.DataFrame(rows))))
