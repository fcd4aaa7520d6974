"""What a request may hold: declared models, unknown fields, control characters and passwords in addresses refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

#: What the API answers: only what JSON can hold.
Json: TypeAlias = dict[str, object]
LONGEST_TEXT = 4_000
Text = Field(default="", max_length=LONGEST_TEXT)

#: What forms call their fields.
FIELDS = {
    "train": "Dataset", "test": "Test split", "task": "Task", "columns": "Columns", "labels": "Names of label values",
    "header": "Header line", "name": "Name of the card", "only": "Sections", "settings": "Options",
    "predictions": "Predictions", "models": "Models", "cues": "Cues", "endpoint": "Endpoint", "model": "Model",
    "sample": "Number of examples", "key_variable": "Variable that holds the key", "goals": "Measure and limit",
    "budget": "Most examples", "method": "Method", "prompts": "Prompts", "inputs": "Parts of the input",
    "permute": "Orders of the options", "stress": "Stress cue", "max_requests": "Most requests",
    "max_cost": "Most US dollars", "card": "Cards",
}  # fmt: skip
#: Characters that no name, path or word has; a tab is none of them.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
#: An address with a user, and a password perhaps.
_WITH_USER = re.compile(r"://[^/?#\s]*@")


def field_title(name: object) -> str:
    """Return what a form calls a field."""
    return FIELDS.get(str(name), str(name).replace("_", " "))


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _texts_are_plain(cls, data: Any) -> Any:
        for name, text in _texts(data, ""):
            if _CONTROL.search(text):
                raise ValueError(f"{field_title(name)}: control characters are not allowed.")
            if _WITH_USER.search(text):
                raise ValueError(
                    f"{field_title(name)}: the address contains a user or a password; leave both out. A key is read "
                    "from an environment variable of the server."
                )
            if len(text) > LONGEST_TEXT:
                raise ValueError(f"{field_title(name)}: at most {LONGEST_TEXT:,} characters are allowed.")
        return data


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Give every text that a body holds, the names of its fields among them, each with the field that holds it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield name or "name of a field", str(key)
            yield from _texts(one, str(key))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, name)


class DataBody(_Body):
    """A dataset: files below the root or uploads, and how they are read."""

    train: str = Field(max_length=4_000, description="A path below the root, or `upload:ID`.")
    test: str = Text
    task: Literal["", "pair", "choice", "preference", "text", "open"] = ""
    columns: str = Field(default="", max_length=4_000, description="role=column, separated by commas.")
    labels: str = Text
    header: str = Text
    on_error: Literal["stop", "skip"] = "stop"
    cluster: str = Text


class AuditBody(_Body):
    """An audit to run: the dataset, which sections, and their parameters."""

    data: DataBody
    only: list[str] = Field(default_factory=list, max_length=50)
    settings: dict[str, str] = Field(
        default_factory=dict, max_length=200, description="SECTION.PARAMETER to value."
    )
    seed: int = Field(default=0, ge=0, lt=2**32)
    name: str = Field(
        default="", max_length=100, description="Name of the folder that the card is written to."
    )


class ProbeBody(_Body):
    """Models to probe on the dataset of a card."""

    predictions: list[str] = Field(
        default_factory=list, max_length=50, description="Paths below the root, or `upload:ID`."
    )
    models: list[str] = Field(
        default_factory=list, max_length=20, description="Built-in models, or folders below the root."
    )
    test: str = Text
    cues: list[str] = Field(default_factory=list, max_length=100)
    settings: dict[str, str] = Field(default_factory=dict, max_length=200)
    name: str = Field(default="", max_length=100)


class AskBody(_Body):
    """A language model behind an endpoint to ask; its key comes from the server's environment only."""

    endpoint: str = Field(max_length=2_000, description="One of those that the server was started with.")
    model: str = Field(min_length=1, max_length=200)
    prompts: list[str] = Field(
        default_factory=list, max_length=20, description="Names of prompts, or templates below the root."
    )
    inputs: list[str] = Field(default_factory=list, max_length=10, description="Parts of the input.")
    permute: str = Field(default="", pattern=r"^(|all|cyclic|[1-9][0-9]{0,2})$")
    stress: str = Field(default="", max_length=200, description="A cue: half of the examples have it.")
    structured: bool = False
    sample: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    dry_run: bool = Field(default=False, description="Count requests, tokens and cost; send nothing.")
    key_variable: str = Field(
        default="", pattern=r"^([A-Z][A-Z0-9_]{0,63})?$",
        description="One of those that the server was started with; by default the first.",
    )  # fmt: skip


class DebiasBody(_Body):
    """A remedy to compute for the dataset of a card."""

    method: str = Field(default="lexical", max_length=100)
    settings: dict[str, str] = Field(default_factory=dict, max_length=200)
    name: str = Field(default="", max_length=100)


class PlanBody(_Body):
    """A plan of which examples to change, for the dataset of a card."""

    goals: list[str] = Field(
        min_length=1, max_length=20, description="Measures and their limits, such as `cues.cues == 0`."
    )
    change: Literal["drop", "rewrite", "re-pair", "permute"] = "drop"
    method: Literal["", "weights", "z-filter", "aflite", "random"] = ""
    budget: int | None = Field(default=None, ge=1)
