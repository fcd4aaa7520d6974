"""Datasets known by name: where they are, which column is which, what their labels mean.

`preset:NAME` reads the dataset from the Hugging Face Hub, `preset:NAME/CONFIG` another configuration of it,
and `preset:NAME@PATH` a copy on disk (a file, folder or glob).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from cuecard.data.instances import Task
from cuecard.data.layout.roles import Role
from cuecard.errors import UsageError
from cuecard.registry import unknown_name


@dataclass(frozen=True)
class Preset:
    """A dataset's description: the names its columns may have (joined by `+`), label names, source, terms."""

    name: str
    title: str
    description: str
    task: Task
    licence: str
    #: Short names of the papers that study it.
    papers: tuple[str, ...] = ()
    hf: str | None = None
    config: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    columns: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    #: A condition that makes the labels, as `--labels` takes it.
    condition: str | None = None
    answer_base: int | None = None
    prompt_ends_with: str | None = None


def list_presets() -> list[Preset]:
    """Return all presets by name."""
    return list(_presets().values())


def get_preset(name: str) -> Preset:
    """Return a preset by its name, whatever its case, or raise an error with the nearest ones."""
    wanted = name.strip().lower().replace("_", "-")
    if wanted not in _presets():
        raise unknown_name("preset", name, list(_presets()))
    return _presets()[wanted]


def split_preset(source: str) -> tuple[Preset, str | None]:
    """Return the preset and the path of `preset:NAME[/CONFIG][@PATH]`, the path None where there is none."""
    name, at, path = source.removeprefix("preset:").partition("@")
    name, slash, config = name.partition("/")
    preset = get_preset(name)
    if slash and config:
        preset = replace(preset, config=config)
    if at and not path:
        raise UsageError(f"{source!r} has no path after the @: write preset:{preset.name}@PATH.")
    return preset, path or None


@cache
def _presets() -> dict[str, Preset]:
    folder = resources.files("cuecard.data") / "presets"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {
        f.name.removesuffix(".toml"): _preset(f.name.removesuffix(".toml"), f.read_text("utf-8"))
        for f in files
    }


def _preset(name: str, text: str) -> Preset:
    described: dict[str, Any] = tomllib.loads(text)
    source = described.pop("source")
    columns = {role: tuple(names) for role, names in described.pop("columns").items()}
    return Preset(name=name, columns=columns, papers=tuple(described.pop("papers")), **source, **described)
