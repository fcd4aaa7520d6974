"""Datasets ranked by what their cards measured: one row per card, one column per question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePath

import polars as pl

from cuecard.analysis import SEVERITIES, Measure, Unit, severity_of
from cuecard.card.by_what import by_what
from cuecard.card.card import Card, largest_shortcut, states
from cuecard.errors import UsageError
from cuecard.wording import listed


@dataclass(frozen=True)
class BoardColumn:
    """A column of the board: the measures it is chosen from, as patterns, and how it is shown.

    Of several measures the one with the largest lower end of its confidence interval is shown. With `per_thousand`
    a count is divided by what it is a part of.
    """

    name: str
    title: str
    measures: tuple[str, ...]
    without: tuple[str, ...] = ()
    per_thousand: bool = False
    hint: str = ""

    def cell(self, measures: Iterable[Measure]) -> Cell | None:
        """Return the cell of a card with these measures, or None where it has no such measure."""
        candidates = [m for m in measures if m.value is not None and self._matches(m.name)]
        if not candidates:
            return None
        best = max(candidates, key=lambda m: (_careful(m), m.name))
        if self.per_thousand:
            return _rate(best)
        return Cell(best.name, best.label or best.name, best.unit, best.value, best.low, best.high)

    def _matches(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.measures) and not any(
            fnmatchcase(name, pattern) for pattern in self.without
        )


@dataclass(frozen=True)
class Cell:
    """A number of the board: the measure it comes from, and its confidence interval where there is one."""

    measure: str
    label: str
    unit: Unit
    value: float | None
    low: float | None = None
    high: float | None = None


#: How the board ranks by default: how much of what chance leaves the best shortcut surely gives away.
RANK = "given_away"

COLUMNS: tuple[BoardColumn, ...] = (
    BoardColumn(
        "partial_input",
        "Partial input",
        (
            "partial_input.*_only.excess",
            "open_answers.nearest_question.excess",
            "open_answers.question_words.excess",
        ),
        hint="accuracy of a model that sees only part of the input, above chance, in points",
    ),
    BoardColumn(
        "blind_rule",
        "Blind rule",
        (
            "partial_input.*.excess",
            "open_answers.prior.excess",
            "open_answers.question_type.excess",
            "answer_place.*.excess",
        ),
        without=("partial_input.*_only.excess",),
        hint="accuracy of the best rule that reads no words, such as the longest choice, above chance, in points",
    ),
    BoardColumn(
        "slice",
        "On a slice",
        ("slices.*.excess",),
        hint="accuracy of the best shortcut on one slice of the data, above chance, in points",
    ),
    BoardColumn(
        "cues",
        "Cues / 1,000",
        ("cues.cues",),
        per_thousand=True,
        hint="features that are cues, per thousand tested",
    ),
    BoardColumn(
        "concepts",
        "Concepts",
        ("concepts.beyond_words",),
        hint="discovered concepts that add to what length and the strongest words predict",
    ),
    BoardColumn(
        "clusters", "PECO excess", ("clusters.excess",), hint="PECO above its mean with shuffled labels"
    ),
    BoardColumn(
        "pair_graph",
        "Pair graph",
        ("pair_graph.leakage.excess",),
        hint="accuracy of the pair graph, above chance, in points",
    ),
    BoardColumn(
        "model",
        "Best model, net of the leak",
        ("debiased_evaluation.weighted_accuracy.*",),
        hint="accuracy of the best probed model under weights that remove the leak",
    ),
)


@dataclass(frozen=True)
class BoardRow:
    """A dataset on the board: `given_away` is how much of what chance leaves its best shortcut surely reaches.

    It is missing where no card of the dataset tested a shortcut: untested is not zero.
    """

    name: str
    task: str
    examples: int
    given_away: float | None
    shortcut: Cell | None
    chance: float | None
    severities: dict[str, int]
    cells: dict[str, Cell | None]
    by_what: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # the lists of features, by their question
    tested: tuple[str, ...] = ()  # sections that were completed
    card: str = ""  # the file it was read from


@dataclass(frozen=True)
class Board:
    """Rows in the order of the ranking, and the columns that at least one of them fills."""

    columns: tuple[BoardColumn, ...]
    rows: tuple[BoardRow, ...]
    sort: str

    @property
    def table(self) -> pl.DataFrame:
        """One row per dataset: name, task, examples, what it gives away, and every column with its interval."""
        return pl.DataFrame([_flat(row, self.columns) for row in self.rows], infer_schema_length=None)

    def as_dict(self) -> dict[str, object]:
        """Return the board as JSON holds it."""
        return {
            "sort": self.sort,
            "columns": [{"name": c.name, "title": c.title, "hint": c.hint} for c in self.columns],
            "rows": [asdict(row) for row in self.rows],
        }


def board(cards: Sequence[Card], *, sort: str = RANK) -> Board:
    """Rank datasets by what their cards measured, the worst first.

    Cards about the same data, such as that of an audit and that of a probe, share a row.

    Args:
        cards: cards of audits, or of audits and probes.
        sort: `given_away`, or the name of a column (see `Board.columns`).
    """
    if not cards:
        raise UsageError("There is no card to rank: name at least one.")
    groups: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.dataset.name, card.dataset.fingerprint), []).append(card)
    of_datasets = list(groups.values())
    names = _distinct([group[0] for group in of_datasets])
    rows = [_row(group, name) for group, name in zip(of_datasets, names, strict=True)]
    columns = tuple(c for c in COLUMNS if any(row.cells[c.name] is not None for row in rows))
    choices = [RANK, *(c.name for c in columns)]
    if sort not in choices:
        raise UsageError(f"--sort {sort}: these cards can be sorted by {listed(choices)}.")
    return Board(columns, tuple(sorted(rows, key=lambda row: _order(row, sort))), sort)


def _row(cards: Sequence[Card], name: str) -> BoardRow:
    """Return the row of a dataset from its cards."""
    card = _joined(cards)
    best, measures = _as_graded(largest_shortcut(card), card), list(card.all_measures())
    tested = tuple(name for name, section in card.sections.items() if section.status == "done")
    return BoardRow(
        name=name,
        task=card.dataset.task,
        examples=sum(split.examples for split in card.dataset.splits.values()),
        given_away=_given_away(best) if best is not None else 0.0 if "partial_input" in tested else None,
        shortcut=None
        if best is None
        else Cell(best.name, best.label or best.name, best.unit, best.value, best.low, best.high),
        chance=None if best is None else best.chance,
        severities={s: sum(f.severity == s for f in card.findings) for s in SEVERITIES},
        cells={column.name: _of_slice(column.cell(measures), card) for column in COLUMNS},
        by_what={features.question: features.features for features in by_what(card)},
        tested=tested,
        card=card._read_from,
    )


def _as_graded(best: Measure | None, card: Card) -> Measure | None:
    """Return the AUC of a shortcut whose finding is more serious than its accuracy: it was graded by that."""
    if best is None or best.unit != "share":
        return best
    graded = [SEVERITIES.index(f.severity) for f in card.findings if states(f, best)]
    if not graded or min(graded) >= SEVERITIES.index(severity_of(best.gain)):
        return best
    rule = best.name.rpartition(".")[0]
    return next((m for m in card.all_measures() if m.name == f"{rule}.auc"), best)


def _of_slice(cell: Cell | None, card: Card) -> Cell | None:
    """Return the cell with the slice in its label, where its measure is of the strongest slice of a shortcut."""
    if cell is None or not cell.measure.startswith("slices."):
        return cell
    rule = cell.measure.split(".")[1]
    for row in card.sections["slices"].summary.get("strongest", ()):
        if row["rule"] == rule:
            shortcut = cell.label.partition(" above chance")[0]
            return replace(cell, label=f"{shortcut} where {row['column']} = {row['value']} above chance")
    return cell


def _joined(cards: Sequence[Card]) -> Card:
    """Return one card with the sections of several about the same data; of those on several, the first that is done."""
    owner: dict[str, Card] = {}
    for one in reversed(cards):
        owner |= {
            name: one
            for name, section in one.sections.items()
            if section.status == "done" or name not in owner or owner[name].sections[name].status != "done"
        }
    findings = [f for one in cards for f in one.findings if owner.get(f.section, one) is one]
    sections = {name: one.sections[name] for name, one in owner.items()}
    return cards[0].model_copy(update={"sections": sections, "findings": findings})


def _order(row: BoardRow, sort: str) -> tuple[bool, float, str]:
    """Return the key that puts the largest first and rows without the number last."""
    if sort == RANK:
        return row.given_away is None, -(row.given_away or 0.0), row.name
    cell = row.cells[sort]
    return cell is None, 0.0 if cell is None else -(cell.value or 0.0), row.name


def _given_away(measure: Measure) -> float:
    """Return how much of the distance from chance to 1 a shortcut covers at the lower end of its interval."""
    if measure.unit != "score":
        return measure.gain
    chance, low = measure.chance or 0.0, _careful(measure)
    return max(0.0, (low - chance) / (1 - chance)) if chance < 1 else 0.0


def _careful(measure: Measure) -> float:
    return (measure.value or 0.0) if measure.low is None else measure.low


def _rate(measure: Measure) -> Cell | None:
    if measure.value is None or not measure.n:
        return None
    return Cell(
        measure.name, f"{measure.label} per 1,000 features", "score", 1000 * measure.value / measure.n
    )


def _distinct(cards: Sequence[Card]) -> list[str]:
    """Return the names of the datasets, with the folder of the card where several are the same, otherwise a number."""
    names = [card.dataset.name for card in cards]
    folders = [PurePath(card._read_from).parent.name for card in cards]
    shared = [[folders[j] for j, other in enumerate(names) if other == name] for name in names]
    return [
        name
        if names.count(name) == 1
        else f"{name} ({folder if folder and of_name.count(folder) == 1 else names[: i + 1].count(name)})"
        for i, (name, folder, of_name) in enumerate(zip(names, folders, shared, strict=True))
    ]


def _flat(row: BoardRow, columns: Sequence[BoardColumn]) -> dict[str, object]:
    flat: dict[str, object] = {
        "name": row.name,
        "task": row.task,
        "examples": row.examples,
        "given_away": row.given_away,
        "shortcut": None if row.shortcut is None else row.shortcut.measure,
    }
    for column in columns:
        cell = row.cells[column.name]
        flat |= {
            column.name: None if cell is None else cell.value,
            f"{column.name}_low": None if cell is None else cell.low,
            f"{column.name}_high": None if cell is None else cell.high,
            f"{column.name}_measure": None if cell is None else cell.measure,
        }
    return flat
