from __future__ import annotations

import re
from pathlib import Path

import pytest

import cuecard
from cuecard import wording

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("fraction", "written"),
    [
        (0.8135, "81.3 %"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.00001, "<0.1 %"),
        (0.99999, ">99.9 %"),
        (None, "–"),
    ],
)
def test_a_rate_is_never_rounded_to_certainty(fraction: float | None, written: str) -> None:
    assert wording.percent(fraction) == written.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (12, "12"),
        (1234.4, "1,234"),
        (2.7449, "2.74"),
        (0.0312, "0.0312"),
        (0.0000312, "3×10⁻⁵"),
        (float("nan"), "–"),
    ],
)
def test_a_number_has_three_digits_that_matter(value: float, written: str) -> None:
    assert wording.number(value) == written


def test_a_probability_too_small_for_a_float_is_told_by_its_logarithm() -> None:
    assert wording.probability(0.0, -412.3) == "5.0×10⁻⁴¹³"
    assert wording.probability(0.0) == "<10⁻³⁰⁰"
    assert wording.probability(0.0123) == "0.012"


def test_a_digit_that_rounds_to_ten_moves_the_exponent() -> None:
    assert wording.power_of_ten(-4.001) == "1×10⁻⁴"


def test_one_thing_is_singular() -> None:
    assert [wording.plural(n, "analysis", "analyses") for n in (1, 2)] == ["1 analysis", "2 analyses"]


def test_a_truth_value_is_not_a_number() -> None:
    assert not wording.is_number(True)
    assert wording.is_number(1)


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    assert [wording.points(x) for x in (0.065, -0.12, -0.0004, 0.0, None)] == [
        "+6.5",
        "−12.0",
        "0.0",
        "0.0",
        "–",
    ]


def test_a_fine_percentage_has_two_decimals():
    assert wording.fine_percent(0.55531).replace("\N{NO-BREAK SPACE}", " ") == "55.53 %"


@pytest.mark.parametrize("value", [-1e-9, -0.0, -0.00004])
def test_a_number_that_rounds_to_nothing_has_no_minus(value: float) -> None:
    written = [
        wording.percent(value),
        wording.fine_percent(value / 100),
        wording.decimal(value),
        wording.fine(value),
    ]
    assert not [text for text in written if "-" in text or "−" in text]


def test_every_number_with_a_sign_is_written_without_a_negative_zero() -> None:
    signed = re.compile(r":\+(?!z)[,.\d{}\w]*f\}")
    found = [
        f"{file.name}: {line.strip()}"
        for file in Path(cuecard.__file__).parent.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if signed.search(line)
    ]
    assert not found
