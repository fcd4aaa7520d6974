"""What the HTTP API takes: declared models, unknown fields refused."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

#: What the API answers: only what JSON can hold.
Json: TypeAlias = dict[str, object]
Text = Field(default="", max_length=4_000)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


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

    endpoint: str = Field(max_length=2_000)
    model: str = Field(max_length=200)
    sample: int | None = Field(default=None, ge=1)
    key_variable: str = Field(default="OPENAI_API_KEY", pattern=r"^[A-Z][A-Z0-9_]{0,63}$")


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
