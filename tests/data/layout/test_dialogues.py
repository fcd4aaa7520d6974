"""Conversations become texts; what two of them begin with is the prompt."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.layout.texts import shared_prompt


def turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def test_the_common_beginning_of_chats_is_the_prompt():
    start = [turn("user", "Hi"), turn("assistant", "Hello"), turn("user", "Sum 1 and 2")]
    rows = [
        {"chosen": [*start, turn("assistant", f"3 {i}")], "rejected": [*start, turn("assistant", f"4 {i}")]}
        for i in range(3)
    ]
    data = load(rows)
    assert data.table["premise"].unique().to_list() == ["user: Hi\nassistant: Hello\nuser: Sum 1 and 2"]
    assert data.table["hypothesis"].to_list()[:2] == ["3 0", "4 0"]
    assert "the start that both responses share is read as the prompt" in data.report.notes[0]


def test_chats_that_part_early_keep_what_differs():
    rows = [
        {
            "chosen": [turn("user", "Hi"), turn("assistant", "A"), turn("user", "B"), turn("assistant", "C")],
            "rejected": [turn("user", "Hi"), turn("assistant", "D")],
        }
    ]
    data = load(rows)
    assert data.table["hypothesis"].to_list() == ["assistant: A\nuser: B\nassistant: C", "D"]


@pytest.mark.parametrize(
    ("start", "prompt"),
    [
        ("\n\nHuman: Sum?\n\nAssistant:", "\n\nHuman: Sum?\n\nAssistant:"),
        (
            "<|im_start|>user\nSum?<|im_end|>\n<|im_start|>assistant\n",
            "<|im_start|>user\nSum?<|im_end|>\n<|im_start|>assistant",
        ),
        ("Question: sum?\nAnswer", "Question: sum?\n"),
    ],
)
def test_the_common_beginning_of_dialogues_is_the_prompt(start, prompt):
    rows = [{"chosen": f"{start} yes {i}", "rejected": f"{start} no {i}"} for i in range(10)]
    assert load(rows).table["premise"].unique().to_list() == [prompt]


def test_responses_that_share_nothing_have_no_prompt():
    rows = [{"chosen": f"yes {i}\nx", "rejected": f"no {i}\nx"} for i in range(10)]
    assert load(rows).table["premise"].unique().to_list() == [""]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([["A", "man", "."], ["Dogs"]], ["A man .", "Dogs"]),
        ([["M: How are you?", "W: Fine."], ["M: Hi."]], ["M: How are you?\nW: Fine.", "M: Hi."]),
        ([[{"speaker": "M", "text": "Hi"}, {"speaker": "W", "text": "Oh"}], []], ["M: Hi\nW: Oh", ""]),
    ],
)
def test_texts_in_parts(texts, expected):
    data = load([{"text": t, "label": label} for t, label in zip(texts, ("x", "y"), strict=True)])
    assert data.table["hypothesis"].to_list() == expected


def test_the_prompt_ends_with_the_last_marker_up_to_which_both_are_the_same():
    texts = ["".join(letters) for n in range(5) for letters in product("x\n", repeat=n)]
    pairs = list(product(texts, repeat=2))
    prompts, *rests = shared_prompt(pl.Series([a for a, _ in pairs]), pl.Series([b for _, b in pairs]), "\n")
    for (a, b), prompt, *rest in zip(pairs, prompts, *rests, strict=True):
        ends = [end for end in range(len(a) + 1) if a[:end].endswith("\n") and b.startswith(a[:end])]
        assert prompt == a[: max(ends, default=0)]
        assert [prompt + part for part in rest] == [a, b]
