"""A stress set in the terminal: its sizes, its label balance, and what hard means."""

from __future__ import annotations

from collections.abc import Iterator

from cuecard.remedies.stress_sets import StressSet
from cuecard.wording import listed


def stress_lines(parts: StressSet) -> Iterator[str]:
    """Yield how many examples are hard, the labels of both parts, and what the division rests on."""
    splits = parts.examples["split"].unique(maintain_order=True).to_list()
    several = len(splits) > 1
    for split in splits:
        here = parts.examples.filter(split=split)
        hard = here.filter(part="hard").height
        none = "" if hard else " No file of hard examples is written."
        none = none if hard < here.height else " None is easy, so no file of easy examples is written."
        yield f"{f'{split}: ' if several else ''}{hard:,} of {here.height:,} examples are hard.{none}"
    for split, part, answer, count, share in parts.balance.rows():
        yield f"{f'{split:5}  ' if several else ''}{part:4}  {answer:20}  {count:>8,}  {100 * share:5.1f} %"
    solvers = listed([name.replace("_", "-") for name in parts.solvers])
    yield (
        f"An example is easy if partial input ({solvers}) predicts its answer with a confidence at which it is usually "
        "correct; the others are hard. Report the hard examples together with the whole test set."
    )
