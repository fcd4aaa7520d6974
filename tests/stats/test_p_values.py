import math

import pytest

from cuecard.stats import format_p, log10_p, state_probability

LN10 = math.log(10)


@pytest.mark.parametrize(
    ("log10_p_value", "text"),
    [
        (math.log10(3.2) - 762, "3.2×10⁻⁷⁶²"),
        (math.log10(9.96) - 762, "1.0×10⁻⁷⁶¹"),
        (-100_000, "1.0×10⁻¹⁰⁰⁰⁰⁰"),
        (math.log10(0.5), "0.50"),
        (math.log10(0.0314), "0.031"),
        (math.log10(0.00126), "0.0013"),
        (math.log10(0.000126), "1.3×10⁻⁴"),
        (math.log10(0.996), "1"),
        (0.0, "1"),
        (-math.inf, "0"),
        (math.nan, "nan"),
    ],
)
def test_reads_as_people_write_it(log10_p_value: float, text: str) -> None:
    assert format_p(log10_p_value) == text


def test_digits_can_be_chosen() -> None:
    assert format_p(math.log10(0.012345), digits=3) == "0.0123"
    assert format_p(math.log10(1.2345e-9), digits=1) == "1×10⁻⁹"


def test_log10_is_in_powers_of_ten() -> None:
    assert log10_p([-762 * LN10, 0.0]) == pytest.approx([-762, 0])


def test_a_positive_log_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be positive"):
        format_p(0.1)


def test_a_value_that_a_float_rounds_to_zero_is_not_called_zero() -> None:
    assert state_probability("q", 1e-200 * 1e-200) == "q < 10⁻³⁰⁰"
    assert state_probability("p", 0.0314) == "p = 0.031"
