"""The contract of an audit, a probe and a remedy: declared needs, parameters, `run`, a frozen result.

Whatever happens to an analysis is written on the card as done, skipped (why) or failed (error): it is never
silently missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    runtime_checkable,
)

import polars as pl
from pydantic import Field

from cuecard.data import Task
from cuecard.registry import Registry, lacking

#: A row of a table or a part of a summary, by name.
Row: TypeAlias = Mapping[str, Any]
Severity = Literal["high", "medium", "low", "info"]
Status = Literal["done", "skipped", "failed"]
#: What the value of a measure or a finding is: shares are fractions, points are differences of shares (as fractions),
#: p is a p-value on the log10 scale (so that 1e-762 can be written).
Unit = Literal["share", "points", "count", "bits", "score", "p"]
#: In which direction a measure gets worse.
Worse = Literal["higher", "lower", "neither"]
#: What an analysis is about: the data, models, the weights of a remedy, or models trained for an experiment.
About = Literal["data", "models", "weights", "experiment"]
#: What a finding is: something that predicts the label, or a fault of the data that distorts a score.
Role = Literal["cue", "flaw"]
#: What the `n` of a finding counts.
Counted = Literal["examples", "instances", "cues"]
#: What an analysis keeps for its own sentences and view, and a row of a table in it: only what JSON can hold.
Summary = dict[str, Any]
#: From the most to the least serious.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Measure:
    """One number of an analysis, named `section.measure[.slice]`; it is what comparisons, gates and charts read.

    `chance` is the value where nothing is given away; `n` the number of examples it rests on, or of what a count
    is a part of; `label` is what people call it, such as "hypothesis-only accuracy". A `key` measure is shown below
    the headline. Shares and points are fractions, `p` is log10 of a p-value. `solved` names the column of the card's
    table of examples that says which of them were answered correctly, where the measure is their mean, or that mean
    above chance: by it, versions are compared example by example.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    n: int | None = None
    unit: Unit = "score"
    worse: Worse = "neither"
    label: str = ""
    key: bool = False
    solved: str = ""

    @property
    def section(self) -> str:
        """The section that made it."""
        return self.name.partition(".")[0]

    @property
    def gain(self) -> float:
        """Share of the way from chance to 1, at the lower end of the interval; 0 where chance is not excluded.

        Only a share that is worse when higher, with a chance level, has a gain.

        >>> round(Measure("a.accuracy", 0.65, low=0.6, chance=0.5, unit="share", worse="higher").gain, 2)
        0.2
        """
        if self.unit != "share" or self.worse != "higher":
            return 0.0
        return _given_away(self.value, self.low, self.chance)


@dataclass(frozen=True)
class MeasureKind:
    """A measure as an analysis declares it, once: its name, what people call it, its unit and its direction.

    `name`, `label` and `solved` may have slots, such as ``{input}.accuracy`` and ``{input} accuracy``, filled for every
    slice.
    In a label, an underscore of a slot becomes a hyphen, except in names that users chose (see `USER_SLOTS`).

    >>> kind = MeasureKind("{input}.accuracy", "{input} accuracy", unit="share", worse="higher")
    >>> measure = kind.of("partial_input", 0.646, chance=0.343, input="hypothesis_only")
    >>> measure.name, measure.label
    ('partial_input.hypothesis_only.accuracy', 'hypothesis-only accuracy')
    """

    name: str
    label: str
    unit: Unit
    worse: Worse = "neither"
    key: bool = False
    solved: str = ""

    def named(self, section: str, **slots: str) -> str:
        """Return the name of the measure of one slice."""
        return f"{section}.{self.name.format(**slots)}"

    def of(
        self,
        section: str,
        value: float | None,
        *,
        low: float | None = None,
        high: float | None = None,
        chance: float | None = None,
        n: int | None = None,
        **slots: str,
    ) -> Measure:
        """Return the measure of one slice; what is not a finite number is missing."""
        words = {key: text if key in USER_SLOTS else text.replace("_", "-") for key, text in slots.items()}
        return Measure(
            name=self.named(section, **slots),
            value=_number(value),
            low=_number(low),
            high=_number(high),
            chance=_number(chance),
            n=n,
            unit=self.unit,
            worse=self.worse,
            label=self.label.format(**words),
            key=self.key,
            solved=self.solved.format(**slots),
        )


#: Slots of measures that hold names users chose: models, labels, splits, other datasets.
USER_SLOTS = frozenset({"model", "other", "label", "split", "dataset", "column", "cue"})


def _given_away(value: float | None, low: float | None, chance: float | None) -> float:
    """Return which part of what chance leaves a share surely reaches, from 0 to 1."""
    careful = value if low is None else low
    if careful is None or chance is None or chance >= 1.0:
        return 0.0
    return max(0.0, (careful - chance) / (1.0 - chance))


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def interval(numbers: Row, value: str = "value", prefix: str = "") -> dict[str, Any]:
    """Return a number with the ends of its interval, by the names that measures and findings give them.

    >>> interval({"gap": 0.2, "gap_low": 0.1, "gap_high": 0.3}, "gap", "gap_")
    {'value': 0.2, 'low': 0.1, 'high': 0.3}
    """
    return {"value": numbers[value], "low": numbers[f"{prefix}low"], "high": numbers[f"{prefix}high"]}


@dataclass(frozen=True)
class Evidence:
    """A real example that shows a finding."""

    example_id: str
    split: str
    label: str
    hypothesis: str
    premise: str = ""
    highlight: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A sentence with numbers: what, how strong, against which chance level, on how many examples.

    `key` tells the findings of a section apart where they are not about a cue, such as "repeated-examples"; together
    with `label` it makes the `id` unique. `words` are those it is about, by which it may be part of another finding.
    Neither is written to the card; `id`, `gain` and `whole` follow from the other fields.
    """

    id: Annotated[str, Field(description="Stays the same between runs: section, cue and label.")] = field(
        default="", kw_only=True
    )
    section: str
    severity: Severity
    title: str
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    n: int | None = None
    evidence: tuple[Evidence, ...] = ()
    cue: Annotated[str, Field(description="The cue it is about, as `cuecard explain` takes it.")] = ""
    label: Annotated[str, Field(description="The label it is about, if it is about one.")] = ""
    unit: Unit = "share"
    key: Annotated[str, Field(exclude=True)] = field(default="", compare=False)
    coverage: Annotated[float, Field(description="Share of the examples it concerns.")] = 1.0
    gain: Annotated[
        float,
        Field(description="Part of what chance leaves that it surely gives away, over the whole dataset."),
    ] = field(default=0.0, kw_only=True)
    whole: Annotated[bool, Field(description="Whether it is a shortcut measured over the whole dataset.")] = (
        field(default=False, kw_only=True)
    )
    words: Annotated[tuple[str, ...], Field(exclude=True)] = field(default=(), compare=False)
    parts: Annotated[tuple[str, ...], Field(description="The same thing said in other ways.")] = ()
    q_value: Annotated[
        float | None,
        Field(description="q-value of the test it rests on, over the tests of its section."),
    ] = None
    card_q: Annotated[float | None, Field(description="The same over all sections of the card.")] = None
    counted: Annotated[Counted, Field(description="What n counts.")] = "examples"
    role: Annotated[
        Role,
        Field(description="Whether it predicts the label, or is a flaw of the data that distorts scores."),
    ] = "cue"
    command: Annotated[str, Field(description="What to type to see it again.")] = ""

    def __post_init__(self) -> None:
        """Derive what follows from the other fields; a finding that is read from a card has no key, but its id."""
        if not self.id or self.key or self.cue:
            parts = (self.section, self.cue or self.key, self.label)
            object.__setattr__(self, "id", "/".join(part for part in parts if part))
        gain = _given_away(self.value, self.low, self.chance) if self.unit == "share" else 0.0
        object.__setattr__(self, "gain", self.coverage * gain)
        object.__setattr__(self, "whole", self.coverage == 1.0 and self.chance is not None and not self.cue)


#: A finding is high or medium if it surely gives away this much of what chance leaves, over the whole dataset.
HIGH_GAIN, MEDIUM_GAIN = 0.15, 0.04


def severity_of(gain: float) -> Severity:
    """Return how serious it is to give away this much (see `Finding.gain`): never a matter of how many words do it.

    >>> severity_of(0.46), severity_of(0.05), severity_of(0.007)
    ('high', 'medium', 'low')
    """
    return "high" if gain >= HIGH_GAIN else "medium" if gain >= MEDIUM_GAIN else "low"


def most_serious_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity; then shortcuts of the whole dataset before cues; then by what they give away.

    Scores such as an AUC are no shares of examples: they come after the shares, the highest above chance first.
    """

    def order(one: Finding) -> tuple[int, bool, float, float]:
        score = _given_away(one.value, one.low, one.chance) if one.unit == "score" else 0.0
        return SEVERITIES.index(one.severity), not one.whole, -one.gain, -score

    return sorted(findings, key=order)


@dataclass(frozen=True)
class Result:
    """What an analysis learned: measures, tables (parquet), findings (sentences) and a summary of its own.

    Everything that compares, gates or ranks reads `measures`; `summary` is for the section's own view. It holds only
    what JSON can hold; rates in it are fractions. `examples` are columns about examples, keyed by `example_id` and
    `split`, that are joined into the card's table of examples. `settled` says what the analysis chose where its
    parameters left it open, such as the tokenisation. `smallest_q` is the smallest q-value among its tests, for an
    analysis that makes any: by it, q-values hold over all sections of a card.
    """

    summary: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    examples: pl.DataFrame | None = None
    measures: Sequence[Measure] = ()
    settled: Mapping[str, str | int | float] = field(default_factory=dict)
    smallest_q: float | None = None


#: What an analysis may need besides train data: a test split, or inputs that `run` takes by these names:
#: `predictions` of models, the `cues` to probe them for, `prompts` (predictions of a model asked in several ways),
#: `input_parts` and `permutations` (those with parts of the input, and with options in other orders),
#: `identical_pairs` (scores of sentences paired with themselves), `judge` (verdicts about pairs of responses),
#: `corpus` (files to search for the texts), `orders` (log-probabilities of the published order and of shuffles),
#: `runs` (which of many models are right on which items), `scores` (what judges scored, response by response),
#: `answers` (those of models in words).
Need = Literal[
    "test", "predictions", "cues", "prompts", "input_parts", "permutations", "identical_pairs", "judge", "corpus",
    "orders", "runs", "scores", "answers",
]  # fmt: skip


class Skip(Exception):
    """Raised by `run` when the data turns out not to allow the question; the reason is written on the card."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class Analysis(Protocol):
    """A question about data or about models that can be asked by name: an audit, a probe or a remedy.

    Implementations are frozen dataclasses: their fields are the parameters, written to the card as they are. A class
    may also declare `needs` (see `Need`), `extras` (names of optional dependencies; a property where it depends on the
    parameters), `measures` (its `MeasureKind`s), `about` (see `About`; the data by default), `caveat` (a sentence on
    how to read its numbers, which exports repeat), `parallel` (whether it may run at the same time as others, because
    it neither prints nor changes anything that they read; false by default) and `view` (what to show of it, see
    `cuecard.view`; by default its measures and its first table).

    `any_size` says that it sees all examples of a dataset that does not fit in memory (false by default): its arrays
    then come from `data.space`, and what it reads of texts goes over `data.chunks()`. Others are given
    `data.sample()`, and their section says so.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[frozenset[Task]]

    @property
    def run(self) -> Callable[..., Result]:
        """Answer the question: called with the data, and with every input it needs by name."""
        ...


#: Analyses that verbs of their own run, by the name of their section: of `cuecard overlap`, and experiments.
ANALYSES: Registry[type[Analysis]] = Registry(
    "analysis",
    group="cuecard.analyses",
    check=lacking("name", "title", "tasks", "run", "__dataclass_fields__"),
)

A = TypeVar("A", bound=Analysis)


def parameters(analysis: Analysis) -> dict[str, Any]:
    """Return the parameters of an analysis as they are written on the card: only what JSON can hold.

    A field declared with ``metadata={"parameter": False}``, such as who to tell about progress, is none.
    """
    values = {
        f.name: getattr(analysis, f.name)
        for f in fields(analysis)  # type: ignore[arg-type]
        if f.metadata.get("parameter", True)
    }
    plain: dict[str, Any] = json.loads(
        json.dumps(values, default=lambda value: getattr(value, "name", str(value)))
    )
    return plain
