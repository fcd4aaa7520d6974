"""Questions to chat endpoints, their answers, and the file in which answers are cached."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuecard.data.reading.formats import check_regular
from cuecard.errors import InputError

__all__ = ["AnswerCache", "Question", "Reply"]


@dataclass(frozen=True)
class Question:
    """One chat request: a prompt, how much may be answered, and the schema of the answer if it must have one."""

    prompt: str
    max_tokens: int = 16
    logprobs: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Reply:
    """An answer of a model: its text, log-probabilities of the most likely first tokens, whether it was cut."""

    text: str
    first_tokens: tuple[tuple[str, float], ...] = ()
    cut: bool = False


class AnswerCache:
    """A file of answers, one JSON line each, written as they arrive; in memory only without a path.

    A line cut short by an interrupted run, or of another form, is left out, and the question asked again.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._answers: dict[str, Reply] = {}
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
                self._answers[entry["key"]] = _reply(entry["answer"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        if data and not data.endswith(b"\n"):
            with path.open("ab") as file:  # what follows must not be glued to the cut line
                file.write(b"\n")

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> Reply | None:
        """Return the answer kept under a key, or None."""
        return self._answers.get(key)

    def put(self, key: str, answer: Reply) -> None:
        """Keep an answer, on disk before in memory: what cannot be written does not count as answered."""
        if self.path is not None:
            self._append(self.path, json.dumps({"key": key, "answer": asdict(answer)}, ensure_ascii=True))
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


def _reply(answer: Any) -> Reply:
    """Return an answer as the file holds it, or raise if it has another form."""
    text, first = answer["text"], tuple((token, value) for token, value in answer["first_tokens"])
    if not isinstance(text, str):
        raise TypeError("the text of an answer is a string")
    if not all(isinstance(token, str) and isinstance(value, int | float) for token, value in first):
        raise TypeError("first tokens are strings with numbers")
    return Reply(text, first, answer.get("cut", False))  # answers of earlier runs may not say
