"""Eval logs of Inspect in JSON: `inspect log convert --to json`, or `--log-format json`.

The log has `eval` (with `task` and `model`), `status` and `samples`; a sample has `id`, `epoch`, `choices`,
`target` and `scores`, whose `answer` is what the scorer took for the model's answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.errors import InputError
from cuecard.probes.formats.settling import Given


def read_inspect_log(path: Path) -> Given:
    """Return the answers of an eval log, those of the first epoch."""
    log = _log(path)
    samples: list[dict[str, Any]] = log["samples"]
    notes = []
    epochs = sorted({int(sample.get("epoch", 1)) for sample in samples})
    if len(epochs) > 1:
        samples = [sample for sample in samples if int(sample.get("epoch", 1)) == epochs[0]]
        notes.append(f"The log has {len(epochs)} epochs; the answers of the first are used.")
    if log.get("status", "success") != "success":
        notes.append(f"The log's status is {log['status']!r}, not 'success'.")
    about = log.get("eval") or {}
    targets = [_label(sample, _first(sample.get("target"))) for sample in samples]
    return Given(
        model=str(about.get("model") or path.stem),
        source=str(path),
        answers=pl.Series([_label(sample, _answer(sample)) for sample in samples], dtype=pl.String),
        ids=pl.Series([str(sample["id"]) for sample in samples]),
        gold=pl.Series(targets) if all(target is not None for target in targets) else None,
        may_be_unanswered=True,
        notes=tuple(notes),
    )


def _log(path: Path) -> dict[str, Any]:
    try:
        log = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: this is not JSON ({error}); write the log again.") from None
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list) or not log["samples"]:
        raise InputError(
            f"{path}: this is no Inspect log with samples; give one written with --log-samples, "
            "or predictions as .csv, .jsonl or .parquet."
        )
    for number, sample in enumerate(log["samples"], start=1):
        if not isinstance(sample, dict) or "id" not in sample:
            raise InputError(f"{path}: sample {number:,} has no id, which every sample of a log has.")
    return log


def _answer(sample: dict[str, Any]) -> str | None:
    """Return what a scorer took for the answer; null where it found none."""
    for score in (sample.get("scores") or {}).values():
        answer = score.get("answer") if isinstance(score, dict) else None
        if answer is not None and str(answer).strip():
            return str(answer).strip()
    return None


def _first(target: Any) -> str | None:
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else None
    return None if target is None else str(target)


def _label(sample: dict[str, Any], answer: str | None) -> str | None:
    """Return the text of the choice that a letter stands for, where the sample lists its choices."""
    choices = sample.get("choices") or []
    letter = (answer or "").strip(" ().:").upper()
    if len(letter) == 1 and "A" <= letter <= "Z" and ord(letter) - ord("A") < len(choices):
        return str(choices[ord(letter) - ord("A")])
    return answer
