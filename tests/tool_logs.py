"""Logs with every field that Inspect 0.3.285 and lm-evaluation-harness 0.4.13 write for their mock models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def inspect_sample(
    number: int | str,
    target: str,
    score: dict[str, Any],
    scorer: str,
    choices: list[str] | None = None,
    epoch: int = 1,
    logprobs: Sequence[Mapping[str, float | None]] | None = None,
) -> dict[str, Any]:
    """Return a sample as `inspect eval --log-format json` writes it.

    `logprobs` are the likeliest tokens of every place, the one that was written first.
    """
    said = score["explanation"]
    message = {
        "id": f"m{number}",
        "content": said,
        "source": "generate",
        "role": "assistant",
        "model": "mockllm/model",
    }
    return {
        "id": number,
        "epoch": epoch,
        "input": f"Question {number}?",
        **({"choices": choices} if choices else {}),
        "target": target,
        "messages": [
            {"id": f"u{number}", "content": f"Question {number}?", "source": "input", "role": "user"},
            message,
        ],
        "output": {
            "model": "mockllm/model",
            "choices": [
                {"message": message, "stop_reason": "stop"}
                | ({"logprobs": {"content": [_token(place) for place in logprobs]}} if logprobs else {})
            ],
            "completion": said,
            "usage": {"input_tokens": 242, "output_tokens": 9, "total_tokens": 251},
            "time": 0.001,
        },
        "scores": {scorer: {**score, "history": []}},
        "metadata": {},
        "store": {},
        "events": [],
        "model_usage": {"mockllm/model": {"input_tokens": 242, "output_tokens": 9, "total_tokens": 251}},
        "role_usage": {},
        "started_at": "2026-01-01T00:06:51.741729+00:00",
        "completed_at": "2026-01-01T00:06:51.747320+00:00",
        "total_time": 0.006,
        "working_time": 0.005,
        "uuid": f"uuid{number}",
        "error_retries": [],
        "attachments": {},
        "turn_count": 1,
    }


def _token(place: Mapping[str, float | None]) -> dict[str, Any]:
    listed = [{"token": t, "logprob": v, "bytes": list(t.encode())} for t, v in place.items()]
    return {**listed[0], "top_logprobs": listed}


def inspect_log(path: Path, samples: list[dict[str, Any]], scorer: str) -> Path:
    """Write a log as Inspect does, with its plan, results and statistics."""
    ids = [sample["id"] for sample in samples if sample["epoch"] == 1]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e",
            "run_id": "r",
            "created": "2026-01-01T00:06:50+00:00",
            "task": "task",
            "task_id": "t",
            "task_version": 0,
            "task_args": {},
            "dataset": {"samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": "mockllm/model",
            "model_args": {},
            "config": {"epochs": 1, "fail_on_error": True},
            "packages": {"inspect_ai": "0.3.285"},
            "scorers": [{"name": scorer, "options": {}}],
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": scorer, "scorer": scorer, "params": {}, "metrics": {}}],
        },
        "stats": {"started_at": "2026-01-01T00:06:50+00:00", "model_usage": {}},
        "invalidated": False,
        "tags": [],
        "metadata": {},
        "samples": samples,
        "reductions": [{"scorer": scorer, "samples": []}],
    }
    path.write_text(json.dumps(log, indent=2))
    return path


def harness_line(
    doc_id: int, doc: dict[str, Any], target: str, responses: list[Any], **metrics: float
) -> str:
    """Return a line as `lm_eval --log_samples` writes it: numbers and truth values are texts."""
    hashed = hashlib.sha256(json.dumps(doc).encode()).hexdigest()
    sample = {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {
            f"gen_args_{k}": {"arg_0": "…\nAnswer:", "arg_1": f" {k}"} for k in range(len(responses))
        },
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": list(metrics),
        "doc_hash": hashed,
        "prompt_hash": hashed,
        "target_hash": hashed,
        **metrics,
    }
    return json.dumps(sample) + "\n"


def harness_log(tmp_path: Path, lines: list[str]) -> Path:
    folder = tmp_path / "org__small-model"
    folder.mkdir()
    path = folder / "samples_my_task_2026-01-01T00-07-41.296781.jsonl"
    path.write_text("".join(lines))
    return path
