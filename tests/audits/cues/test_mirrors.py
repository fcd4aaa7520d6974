"""A cue that only says where another one is absent is a part of that one's finding."""

from __future__ import annotations

import random

import polars as pl

import cuecard as cc


def test_of_a_mark_and_its_absence_the_one_that_points_to_right_choices_leads():
    draw, rows = random.Random(0), []
    for i in range(300):
        answer = draw.randrange(4)
        texts = [" ".join(f"w{draw.randrange(150)}" for _ in range(6)) for _ in range(4)]
        ends = [draw.random() < (0.6 if place == answer else 0.25) for place in range(4)]
        choices = [text + "." * end for text, end in zip(texts, ends, strict=True)]
        rows.append({"question": f"question {i}?", "choices": choices, "answer": answer})
    card = cc.audit(pl.DataFrame(rows), only=["cues"])
    [finding] = [finding for finding in card.findings if finding.cue]
    assert finding.title == "Cue for right choices: a final full stop"
    assert "no final punctuation" in finding.parts
    # Both are in the table: only the findings say them once.
    assert card["cues"].table.filter(pl.col("feature") == "no final punctuation")["is_cue"].all()


def test_two_words_that_never_meet_are_two_cues():
    draw, rows = random.Random(0), []
    for i in range(600):
        label = i % 2
        word = ("left", "right")[label if draw.random() < 0.9 else 1 - label] if i % 3 else "none"
        text = " ".join(f"w{draw.randrange(150)}" for _ in range(6))
        rows.append({"premise": f"p {i}", "hypothesis": f"{text} {word}", "label": "ab"[label]})
    card = cc.audit(pl.DataFrame(rows), only=["cues"], features=("word",))
    assert {"left", "right"} <= {finding.cue for finding in card.findings}
