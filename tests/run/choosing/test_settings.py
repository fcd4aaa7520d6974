"""Parameters of single sections, as they are typed and as they are given in Python."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import pytest

from cuecard.audits import AUDITS
from cuecard.errors import UsageError
from cuecard.run.choosing import parse_settings, with_settings

KINDS: dict[str, type[Any]] = {kind.name: kind for kind in AUDITS}


@dataclass(frozen=True)
class Everything:
    name: ClassVar[str] = "everything"

    how: Literal["a", "b"] | None = None
    many: int = 1
    share: float = 0.5
    maybe: bool | None = None
    sure: bool = False
    word: str | None = None
    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] | None = None
    thing: object = None


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("how=b", "b"),
        ("how=none", None),
        ("many=20_000", 20_000),
        ("share=1e-3", 0.001),
        ("maybe=yes", True),
        ("maybe=none", None),
        ("sure=off", False),
        ("word=x=y", "x=y"),
        ("word=none", None),
        ("words=a, b", ("a", "b")),
        ("numbers=1,2.5", (1.0, 2.5)),
        ("numbers=None", None),
    ],
)
def test_a_value_is_read_by_the_type_of_its_parameter(typed: str, value: object) -> None:
    parsed = parse_settings([f"everything.{typed}"], {"everything": Everything})
    (read,) = parsed["everything"].values()
    assert read == value
    assert type(read) is type(value)
    (changed,) = with_settings([Everything()], parsed, {"everything": Everything})
    assert getattr(changed, typed.partition("=")[0]) == value


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("pair_graph", "SECTION.PARAMETER=VALUE"),
        ("pair_graph.forest", "SECTION.PARAMETER=VALUE"),
        ("pairgraph.forest=paper", "Did you mean 'pair_graph'"),
        ("pair_graph.forrest=paper", "Did you mean 'forest'"),
        ("pair_graph.forest=papr", "one of fast, paper, paper-small, paper-large, not 'papr'"),
        ("pair_graph.advanced=maybe", "true or false or none, not 'maybe'"),
        ("pair_graph.folds=five", "a whole number, not 'five'"),
        ("cues.alpha=x", "a number, not 'x'"),
        ("cues.regex=a", "expected a value set from Python"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(typed: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_settings([typed], KINDS)


def test_a_parameter_is_not_set_twice() -> None:
    with pytest.raises(UsageError, match="repeated"):
        parse_settings(["cues.alpha=0.1", "cues.alpha=0.2"], KINDS)


def test_a_section_that_does_not_run_cannot_be_set() -> None:
    with pytest.raises(UsageError, match="cues is not selected to run"):
        with_settings([KINDS["pair_graph"]()], {"cues": {"alpha": 0.1}}, KINDS)


def test_who_is_told_of_progress_is_no_parameter() -> None:
    with pytest.raises(
        UsageError, match=r"Unknown parameter of partial_input 'tell'\. .*Known: (?!.*\btell\b)"
    ):
        parse_settings(["partial_input.tell=x"], KINDS)


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_every_default_of_every_audit_can_be_typed(kind: type[Any]) -> None:
    audit = kind()
    for parameter in (field.name for field in fields(kind) if field.metadata.get("parameter", True)):
        value = getattr(audit, parameter)
        if isinstance(value, tuple):
            continue
        typed = f"{kind.name}.{parameter}={str(value).lower() if not isinstance(value, str) else value}"
        assert parse_settings([typed], KINDS)[kind.name][parameter] == value
