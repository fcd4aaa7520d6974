"""The calibration page of the docs, from the figures of the simulations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy.stats import binom

from benchmarks.calibration.audit_sections import AUDIT_SECTIONS
from benchmarks.calibration.rows import Row

INTRODUCTION = """\
# Calibration

*Written by `make calibration` (`python -m benchmarks.calibration`). A short form of the same simulations is a test.*

How far can the p-values, verdicts and intervals of a card be trusted on files as they are, with copies, near copies,
weights, rare labels and differing numbers of choices? Every row simulates such datasets and counts.

- **Level**: nothing is there to be found. The share is how often a test says otherwise; it tests at 5 %, so the share
  should be at most 5 %. Less is conservative: safe, at the cost of power. For cues, "any significant cue" is of all
  features of a dataset together, at a false discovery rate of 5 %.
- **Power**: something was planted. The share is how often it is significant; more is better.
- **Coverage**: the share of 95 % intervals that hold the true value; it should be 95 % or more.

A share of few runs is a sample too: its own 95 % interval is in brackets, and only where that excludes the nominal
value is there evidence against it. *Before* is the figure of versions that took every row for an independent example
and judged by hits, or of the simpler method named there. Before, any high or medium finding was 100 % of sets whose
texts occur three times. Seeds start at 20,000, which no setting was chosen on.
"""
BEFORE = """\
## Before and now

What versions that took every row for an independent example, weights for known and hits for all there is to see
concluded, and what is concluded now (`python -m benchmarks.calibration.before_after`). On public datasets where they
are named, otherwise on generated ones of the same shape. Rows with a level, power or coverage are shares of simulated
datasets and are in the sections below, too.
"""
CARDS = """\
## Whole cards

Every audit, on datasets in which nothing gives the label away: generated ones of the shapes above with 50 to 1,500
examples, and parts of public datasets whose labels were shuffled between distinct texts, copies keeping one label. An
alarm is a card with a finding of high or medium severity; at most 5 % of cards should have one. Seeds start at 70,000.
"""
LEAKS = """\
## Planted everyday leaks

Each leak is planted in a generated set of 500 questions or 1,000 other examples whose words say nothing about the
label, at a size that a rule of one line solves. *Place* is that of the first finding of a default audit that states
it, the most serious first. Ids, file names and the order of rows are never read by a model: they are of low severity.
"""
SHAPES = """\
## Whole cards by shape

Cards of datasets in 25 shapes that files have, for each of the four tasks, of 60 to 400 examples; labels, answers and
preferences are drawn without looking, once for all versions of a text (`benchmarks/calibration/clean_shapes.py`). A
cell is alarms / cards: cards with a finding of high or medium severity. At most 5 % of all cards should have one, and
no cell surely more (a binomial test at .05 / number of cells).
"""
POWER = """\
## Power of cards

How often a whole card names a leak, in a finding of at least low severity, beside the best simple test for it at 5 %,
which is told where to look (`benchmarks/calibration/power_of_cards.py`). The card holds the false discovery rate over
all of its tests: none of the leaks of word, characters and negation that it does not name is significant among all
features.
"""
#: What to know about the rows of a section.
NOTES = {
    "intervals": """Near an area of 1, intervals are as wide as skewed scores need: with half of the allowance for few
wrong ranks they cover 93 % of areas of 0.98 with exponential scores of 100 / 400 examples, and with a quarter 90 %.
They therefore cover more than 97.5 % with normal scores: hardly any interval lies above an area that near to 1.
"""
}
_TITLES = {"level": "Level", "power": "Power", "coverage": "Coverage"}
_NOMINAL = {"level": "at most 5 %", "power": "higher is better", "coverage": "at least 95 %"}


OWN_TABLES = ("before and after", "whole cards", "clean shapes", "power of cards", "planted leaks", "blocks")


def page(figures: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION]
    if figures.get("before and after"):
        parts.append(BEFORE + "\n" + _before_after(figures))
    if figures.get("whole cards"):
        parts.append(CARDS + "\n" + _cards(figures["whole cards"]))
    if leaks := figures.get("planted leaks"):
        parts.append(LEAKS + "\n" + _leaks(leaks))
    if shapes := figures.get("clean shapes"):
        parts.append(SHAPES + "\n" + _shapes(shapes))
    if power := figures.get("power of cards"):
        parts.append(POWER + "\n" + _power([Row(**row) for row in power]))
    if blocks := figures.get("blocks"):
        counts = ", ".join(f"{one['significant']:,} of {one['tested']:,}" for one in blocks)
        parts.append(
            "## Few distinct hypotheses\n\n2,126 pairs with 171 distinct hypotheses, each with a label at random. "
            f"Significant\nfeatures of those tested, in {len(blocks)} generated datasets: {counts}. "
            "Before, in a real set\nof this shape with shuffled blocks: 1,030 of 2,232.\n"
        )
    for name, rows in figures.items():
        if name not in OWN_TABLES and rows:
            note = f"{NOTES[name]}\n" if name in NOTES else ""
            parts.append(f"## {name.capitalize()}\n\n{note}{_table([Row(**row) for row in rows])}")
    return "\n".join(parts)


def _leaks(places: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| leak | place | severity | finding |", "|---|--:|---|---|"]
    lines += [
        f"| {one['leak']} | {one['place'] or '–'} | {one['severity'] or 'not found'} | {one['title']} |"
        for one in places
    ]
    return "\n".join([*lines, ""])


def _table(rows: Sequence[Row]) -> str:
    lines = []
    for kind, title in _TITLES.items():
        if not (some := [row for row in rows if row.kind == kind]):
            continue
        before = any(row.before for row in some)
        lines.append(f"**{title}** ({_NOMINAL[kind]})\n")
        lines.append(f"| what | data | n | runs |{' before |' if before else ''} share |")
        lines.append(f"|---|---|--:|--:|{'--:|' if before else ''}--:|")
        for row in some:
            earlier = f" {row.before or '–'} |" if before else ""
            lines.append(
                f"| {row.what} | {_data(row)} | {row.n} | {row.runs:,} "
                f"|{earlier} {_share(row.share, row.interval)} |"
            )
        lines.append("")
    return "\n".join(lines)


def _share(share: float, interval: tuple[float, float]) -> str:
    low, high = interval
    digits = 1 if 0 < share < 0.1 or 0.9 < share < 1 else 0
    return f"{100 * share:.{digits}f} % [{100 * low:.0f}, {100 * high:.0f}]"


def _before_after(figures: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the table: cases of their own, then every simulated row that has a figure before."""
    lines = ["| about | before | now |", "|---|---|---|"]
    lines += [f"| {row['about']} | {row['before']} | {row['now']} |" for row in figures["before and after"]]
    for name in AUDIT_SECTIONS:
        for row in (Row(**row) for row in figures.get(name, ()) if row["before"]):
            about = f"{name.capitalize()}, {row.kind}: {row.what}, {_data(row)}, n = {row.n}"
            lines.append(f"| {about} | {row.before} | {_share(row.share, row.interval)} |")
    return "\n".join(lines) + "\n"


def _data(row: Row) -> str:
    return row.data.replace("%", " %").replace("  %", " %")


def _cards(cards: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| data | cards | alarms | share |", "|---|--:|--:|--:|"]
    real = [card for card in cards if card["shape"].endswith("shuffled")]
    made = [card for card in cards if not card["shape"].endswith("shuffled")]
    for name, some in (("generated", made), ("public, labels shuffled", real)):
        for task in ("pair", "text", "choice", "preference"):
            lines += _line(f"{name}, {task}", [card for card in some if card["task"] == task])
    lines += _line("**all**", cards)
    false = [card for card in cards if card["findings"]]
    lines.append("")
    if false:
        lines.append("The alarms:\n")
    lines += [f"- {c['task']}, {c['shape']}, {c['n']:,} examples: {_ids(c['findings'])}" for c in false]
    return "\n".join(lines) + "\n"


def _shapes(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return alarms of cards by shape and task, what is pooled, and the cells that are surely above 5 %."""
    tasks = list(dict.fromkeys(cell["task"] for cell in cells))
    lines = ["| shape |" + "".join(f" {task} |" for task in tasks), "|---|" + "--:|" * len(tasks)]
    by_shape: dict[str, dict[str, Mapping[str, Any]]] = {}
    for cell in cells:
        by_shape.setdefault(cell["shape"], {})[cell["task"]] = cell
    for shape, of_task in by_shape.items():
        shown = [of_task.get(task) for task in tasks]
        counts = [f" {cell['alarms']} / {cell['cards']} |" if cell else " – |" for cell in shown]
        lines.append(f"| {shape} |" + "".join(counts))
    cards, alarms = (sum(cell[name] for cell in cells) for name in ("cards", "alarms"))
    row = Row("level", "", "", "", cards, alarms / cards)
    above = [
        f"{cell['task']}, {cell['shape']}"
        for cell in cells
        if binom.sf(cell["alarms"] - 1, cell["cards"], 0.05) <= 0.05 / len(cells)
    ]
    lines += ["", f"Pooled: {alarms} of {cards:,} cards, {_share(row.share, row.interval)}. "]
    lines[-1] += f"Cells surely above 5 %: {'; '.join(above) or 'none'}."
    named = Counter(name for cell in cells for name, n in cell["findings"].items() for _ in range(n))
    if named:
        lines += ["", "The alarms: " + ", ".join(f"`{name}` {n}" for name, n in named.most_common()) + "."]
    return "\n".join(lines) + "\n"


def _power(rows: Sequence[Row]) -> str:
    lines = ["| leak | n | runs | best simple test | the card |", "|---|--:|--:|---|--:|"]
    lines += [
        f"| {row.data} | {row.n} | {row.runs} | {row.before} | {_share(row.share, row.interval)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, cards: Sequence[Mapping[str, Any]]) -> list[str]:
    if not cards:
        return []
    false = sum(bool(card["findings"]) for card in cards)
    row = Row("level", "", "", "", len(cards), false / len(cards))
    return [f"| {name} | {len(cards):,} | {false} | {_share(row.share, row.interval)} |"]


def _ids(findings: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in findings)
