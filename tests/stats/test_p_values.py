import math

import pytest

from cuecard.stats import format_p, log10_p

LN10 = math.log(10)


@pytest.mark.parametrize(
    ("log_p", "text"),
    [
        (math.log(3.2) - 762 * LN10, "3.2e-762"),
        (math.log(9.96) - 762 * LN10, "1.0e-761"),
        (math.log(1.0) - 100_000 * LN10, "1.0e-100000"),
        (math.log(0.5), "0.50"),
        (math.log(0.0314), "0.031"),
        (math.log(0.00126), "0.0013"),
        (math.log(0.000126), "1.3e-4"),
        (math.log(0.996), "1"),
        (0.0, "1"),
        (-math.inf, "0"),
        (math.nan, "nan"),
    ],
)
def test_reads_as_people_write_it(log_p: float, text: str) -> None:
    assert format_p(log_p) == text


def test_digits_can_be_chosen() -> None:
    assert format_p(math.log(0.012345), digits=3) == "0.0123"
    assert format_p(math.log(1.2345e-9), digits=1) == "1e-9"


def test_log10_is_in_powers_of_ten() -> None:
    assert log10_p([-762 * LN10, 0.0]) == pytest.approx([-762, 0])


def test_a_positive_log_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be positive"):
        format_p(0.1)
