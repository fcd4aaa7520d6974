"""Answers of an endpoint kept by content, so that a repeated or resumed run sends no request twice."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from cuecard.data.files.paths import check_regular
from cuecard.errors import InputError


class AnswerCache:
    """A file of answers, one JSON line each, written as they arrive; in memory only without a path.

    A line cut short by an interrupted run, or of another form, is left out, and the question asked again.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._answers: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._cut = False
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                check_regular(self.path, rows=False)
                self._read(self.path)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}): choose another --keep-answers."
            ) from None

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        for line in data.splitlines():
            try:
                entry = json.loads(line)
                if _is_answer(entry["answer"]):
                    self._answers[entry["key"]] = entry["answer"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        if data and not data.endswith(b"\n"):
            with path.open("ab") as file:  # what follows must not be glued to the cut line
                file.write(b"\n")

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> Any:
        """Return the answer kept under a key, or None."""
        with self._lock:
            return self._answers.get(key)

    def put(self, key: str, answer: Any) -> None:
        """Keep an answer, on disk before in memory: what cannot be written does not count as answered."""
        with self._lock:
            if self.path is not None:
                self._append(self.path, json.dumps({"key": key, "answer": answer}, ensure_ascii=True))
            self._answers[key] = answer

    def _append(self, path: Path, line: str) -> None:
        start = "\n" if self._cut else ""  # a line that was cut short must not swallow the next one
        try:
            with path.open("a", encoding="ascii", newline="\n") as file:
                file.write(f"{start}{line}\n")
        except OSError as error:
            self._cut = True
            raise InputError(
                f"{path} cannot be written ({error.strerror}); earlier answers are still in it."
            ) from None
        self._cut = False


def _is_answer(answer: Any) -> bool:
    """Return whether this is an answer as the client keeps it: a text, and its first tokens with their numbers."""
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("text"), str)
        and isinstance(answer.get("first_tokens"), list)
        and all(
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], str)
            and isinstance(pair[1], int | float)
            for pair in answer["first_tokens"]
        )
    )
