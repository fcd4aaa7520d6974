"""Whether a result can go on a card, checked while it costs only its own section and not the whole run."""

from __future__ import annotations

from numbers import Real
from pathlib import Path

import polars as pl
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from cuecard.analysis import Finding, Measure, Result
from cuecard.card.card import FindingModel, Section

#: Columns that identify an example in tables about examples.
EXAMPLE_KEYS = ("example_id", "split")
#: The card's own table, which no section writes.
EXAMPLES = "examples"


class Unusable(Exception):
    """A result breaks the contract of analyses; the message says how."""


def finished(section: Section, name: str, result: Result) -> Section:
    """Return the section with a result on it, or raise if that could not be written, compared or shown."""
    if not isinstance(result, Result):
        raise Unusable(f"run returned {type(result).__name__}, not a Result")
    for table, frame in result.tables.items():
        _check_table(table, frame)
    if result.examples is not None:
        _check_examples(result.examples)
    for measure in result.measures:
        _check_measure(measure, name)
    try:
        for finding in result.findings:
            _check_finding(finding, name)
        done = section.model_copy(
            update={
                "status": "done",
                "settled": dict(result.settled),
                "measures": list(result.measures),
                "summary": dict(result.summary),
                "tables": list(result.tables),
            }
        )
        done.model_dump_json()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Unusable(f"{place} of a finding: {first['msg']}") from error
    except PydanticSerializationError as error:
        raise Unusable(f"its summary holds what JSON cannot hold ({error})") from error
    return done


def failed(section: Section, reason: str) -> Section:
    """Return a section that has nothing but the reason why it failed."""
    return Section(
        title=section.title,
        status="failed",
        about=section.about,
        reason=reason,
        parameters=section.parameters,
    )


def _check_measure(measure: object, name: str) -> None:
    if not isinstance(measure, Measure) or measure.section != name:
        called = measure.name if isinstance(measure, Measure) else measure
        raise Unusable(f"the measure {called!r} is not a Measure named {name}.…")
    for number in (measure.value, measure.low, measure.high, measure.chance, measure.n):
        if number is not None and not isinstance(number, Real):
            raise Unusable(f"the measure {measure.name!r} holds {number!r}, which is not a number")


def _check_finding(finding: object, name: str) -> None:
    if not isinstance(finding, Finding) or finding.section != name:
        called = finding.title if isinstance(finding, Finding) else finding
        raise Unusable(f"the finding {called!r} is not a Finding of the section {name}")
    FindingModel.of(finding, "")


def _check_table(name: str, frame: object) -> None:
    if not name or Path(name).name != name or "\\" in name or "\0" in name or name == EXAMPLES:
        raise Unusable(f"a table cannot be named {name!r}")
    if not isinstance(frame, pl.DataFrame) or pl.Object in frame.dtypes:
        raise Unusable(f"the table {name!r} is not a polars frame that parquet can hold")


def _check_examples(about: pl.DataFrame) -> None:
    keys = [about.schema.get(key) for key in EXAMPLE_KEYS]
    if keys != [pl.String, pl.String]:
        raise Unusable("what it says about examples is not keyed by example_id and split, as text")


def clash(result: Result, tables: dict[str, pl.DataFrame], examples: pl.DataFrame) -> str:
    """Return why a result cannot go on a card beside others: what it names is there already; otherwise nothing."""
    if taken := sorted(result.tables.keys() & tables.keys()):
        return f"another section has a table named {taken[0]!r} (leave one of them out with --skip)"
    about = result.examples
    if about is None:
        return ""
    if taken := sorted(set(about.columns) & set(examples.columns) - set(EXAMPLE_KEYS)):
        return f"there is a column {taken[0]!r} about examples already"
    if about.height > examples.height or about.select(EXAMPLE_KEYS).is_duplicated().any():
        return "what it says about examples has an example twice"
    return ""
