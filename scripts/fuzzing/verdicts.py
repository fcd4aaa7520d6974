"""Verdicts of judges in every form that is read, with fields replaced, removed or renamed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.documents import changed, dumped

_ROWS = 12
FORMS: dict[str, Callable[[int], dict[str, Any]]] = {
    "mt_bench": lambda i: {
        "question_id": i,
        "model_1": "gpt-4",
        "model_2": "claude",
        "g1_winner": ("model_1", "model_2", "tie")[i % 3],
        "g2_winner": "model_1",
        "turn": 1 + i % 2,
        "judge": "gpt-4",
    },
    "alpaca_eval": lambda i: {
        "instruction": f"do {i}",
        "output_1": "short",
        "output_2": "a longer one " * (1 + i % 3),
        "generator_1": "gpt-4",
        "generator_2": "claude",
        "annotator": "gpt",
        "preference": 1 + i % 2,
    },
    "arena": lambda i: {
        "question_id": f"q{i}",
        "model_a": "gpt-4",
        "model_b": "claude",
        "winner": ("model_a", "model_b", "tie")[i % 3],
        "conversation_a": [{"role": "user", "content": f"do {i}"}, {"role": "assistant", "content": "done"}],
        "conversation_b": [{"role": "user", "content": f"do {i}"}, {"role": "assistant", "content": "no"}],
    },
    "reward_bench": lambda i: {
        "id": i,
        "prompt": f"do {i}",
        "chosen": "well done",
        "rejected": "no",
        "scores_chosen": 0.5 + i,
        "scores_rejected": 0.25,
        "results": i % 2,
        "subset": "chat",
    },
    "plain": lambda i: {
        "id": i // 2,
        "prompt": f"do {i // 2}",
        "response_a": "well done",
        "response_b": "no",
        "first": "ab"[i % 2],
        "verdict": ("a", "b", "tie")[i % 3],
        "human": "ab"[i % 2],
    },
}


def judge(folder: Path, rng: random.Random) -> Path:
    """Write verdicts with fields replaced, in one row or in all of them."""
    rows = [FORMS[rng.choice(list(FORMS))](0)] if rng.random() < 0.05 else []
    form = FORMS[rng.choice(list(FORMS))]
    rows += [form(i) for i in range(_ROWS)]
    if rng.random() < 0.5:
        rows = changed(rows, rng)
    else:
        seed = rng.random()
        rows = [changed(row, random.Random(seed)) for row in rows]
    path = folder / "verdicts.jsonl"
    path.write_text("\n".join(map(dumped, rows)))
    return path


CASES: dict[str, Callable[[Path, random.Random], Path]] = {"judge": judge}
WAYS = {"judge": ("judge",)}
