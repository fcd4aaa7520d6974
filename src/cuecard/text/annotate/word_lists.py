"""The package's own English word lists, read once from the text files beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FOLDER = files("cuecard.text.annotate") / "english_words"


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of every section of a list; a line `# section: what it holds` opens a section."""
    by_section: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            current = by_section.setdefault(line[1:].split(":")[0].strip(), [])
        else:
            current.extend(line.split())
    return {section: tuple(words) for section, words in by_section.items()}


def words(name: str, section: str) -> frozenset[str]:
    """Return the words of one section of a list."""
    return frozenset(sections(name)[section])
