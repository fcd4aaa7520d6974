"""Files typed where a verb does not expect them: a test split without a training set, and a second dataset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shlex import quote

from cuecard.errors import UsageError

TEST = "--test"
#: What a second dataset can be, by its option, the likeliest first.
_SECOND = {"--with": "the corpus to search", TEST: "the test split"}


def train_missing(test: str) -> UsageError:
    """Return the error about a test split without a training set; a dataset with one split is read without --test."""
    return UsageError(
        f"The training set is missing: type its file before {TEST} {quote(test)}. A benchmark that has only one split "
        f"is read without {TEST}: type just {quote(test)} in its place."
    )


def second_dataset(
    verb: str, files: Sequence[str], options: Collection[str], typed: Sequence[str]
) -> UsageError:
    """Return the error about files after the dataset of a verb that has these options."""
    if len(files) == 1:
        for option, what in _SECOND.items():
            if option in options and value_of(option, typed) is None:
                return UsageError(
                    f"cuecard {verb} takes one dataset before its options, and {files[0]} is a second one: type "
                    f"{option} {quote(files[0])} if it is {what}."
                )
    return UsageError(
        f"cuecard {verb} does not expect {' '.join(map(quote, files))}: type several files of one dataset as a folder "
        f"or as a pattern in quotes, such as 'data/*.parquet'; cuecard {verb} -h lists what it takes."
    )


def value_of(option: str, typed: Sequence[str]) -> str | None:
    """Return what was typed as the value of an option.

    >>> value_of("--test", ["--test=b.csv"]), value_of("--test", ["--test", "b.csv"]), value_of("--test", ["a.csv"])
    ('b.csv', 'b.csv', None)
    >>> value_of("--test", [])
    """
    for word, following in zip(typed, [*typed, ""][1:], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else following
    return None
