"""What the overview shows: sizes, balance, lengths, duplicates and what test shares with train."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from cuecard.analysis import Summary
from cuecard.data import Task
from cuecard.view import Axis, Bars, Column, KeyFigure, Lines, Outcome, Table, View
from cuecard.wording import count, listed, number, percent, plural

_NOUN = {
    "pair": "pairs",
    "choice": "questions",
    "preference": "preferences",
    "text": "texts",
    "open": "questions",
}
#: What the judged text is called in each task.
_TEXT = {"pair": "hypothesis", "choice": "choice", "preference": "response", "text": "text", "open": "answer"}
#: What examples of a split are called.
_SPLIT = {"train": "training", "dev": "validation"}
#: Tasks in which every example has one right choice: labels are balanced and premises are shared by construction.
_GROUPED = ("choice", "preference")
MOST_DUPLICATES, MOST_LABELS, MOST_CURVES = 20, 20, 8
MOST_BINS = 40
#: Lengths are shown until this share of the texts is no longer.
SHOWN = 0.995


def overview_view(outcome: Outcome) -> View:
    """Return the first look at a dataset."""
    return View(
        lead=[*_sizes(outcome), *_overlap(outcome), *_repeats(outcome)],
        figures=list(_figures(outcome)),
        charts=[*_balance(outcome), *_lengths(outcome)],
        tables=_duplicates(outcome),
    )


def _sizes(outcome: Outcome) -> list[str]:
    splits: Summary = outcome.summary.get("splits", {})
    if not splits:
        return []
    several = len(splits) > 1
    sizes = listed(
        [
            f"{count(s['examples'])} {_SPLIT.get(name, name)}" if several else count(s["examples"])
            for name, s in splits.items()
        ]
    )
    first, split = next(iter(splits.items()))
    sentence = f"The dataset has {sizes} {_NOUN[outcome.task]}"
    if outcome.task in _GROUPED:
        return [f"{sentence}{_options(outcome.task, splits)}."]
    if outcome.task == "open":
        return [f"{sentence}."]
    sentence += f" with {plural(len(split['labels']), 'label')}"
    total = sum(split["labels"].values())
    if not total:
        return [f"{sentence}."]
    label, most = max(split["labels"].items(), key=lambda item: item[1])
    where = f" in the {_SPLIT.get(first, first)} set" if several else ""
    return [f"{sentence}; the majority baseline (“{label}”) is {percent(most / total)}{where}."]


def _options(task: Task, splits: Summary) -> str:
    """Return how many choices a question has, or responses a preference, where their number is on the card."""
    options = sum(split.get("instances", 0) for split in splits.values())
    examples = sum(split["examples"] for split in splits.values())
    if not examples or not options:
        return ""
    noun = "choices" if task == "choice" else "responses"
    sizes = [split.get("instances_per_example") for split in splits.values()]
    if all(sizes) and len({size for one in sizes for size in (one["min"], one["max"])}) == 1:
        return f" with {count(options // examples)} {noun} each"
    return f" with {options / examples:.1f} {noun} on average"


def _overlap(outcome: Outcome) -> list[str]:
    overlap = outcome.summary.get("overlap") or {}
    tests = overlap.get("test_examples")
    if not tests:
        return []
    shared = overlap["sentence"]
    if not shared:
        return [f"None of the {count(tests)} test examples shares a text with the training set."]
    sentence = (
        f"{count(shared)} of {count(tests)} test examples ({percent(shared / tests)}) "
        f"{'shares' if shared == 1 else 'share'} a text with the training set"
    )
    if outcome.task not in ("text", "open"):
        article = "a" if outcome.task in _GROUPED else "the"
        sentence += (
            f": {count(overlap['hypothesis'])} of them {article} {_TEXT[outcome.task]}, "
            f"{count(overlap['pair'])} the whole input"
        )
    return [f"{sentence}."]


def _repeats(outcome: Outcome) -> list[str]:
    conflicting = outcome.summary.get("conflicting_labels")
    same = (
        f"have the same input as an example with another {'answer' if outcome.task == 'open' else 'label'}."
    )
    return [f"{plural(conflicting, 'example')} {same}"] if conflicting else []


def _figures(outcome: Outcome) -> Iterator[KeyFigure]:
    summary = outcome.summary
    splits: Summary = summary.get("splits", {})
    for name, split in splits.items():
        of_split = f"{_SPLIT.get(name, name)} " if len(splits) > 1 else ""
        yield KeyFigure(f"{of_split}examples", count(split["examples"]))
    train: Summary = next(iter(splits.values()), {})
    for field in ("hypothesis", "premise"):
        lengths = train.get(f"{field}_tokens") or {}
        if lengths.get("max"):
            reach = f"middle 90 %: {number(lengths['p5'])}–{number(lengths['p95'])}"
            yield KeyFigure(f"words per {_called(outcome, field)} (median)", number(lengths["median"]), reach)
    if "vocabulary" in summary:
        yield KeyFigure("distinct words", count(summary["vocabulary"]))
    if duplicates := summary.get("duplicates"):
        near = f"{count(duplicates['normalised'])} ignoring case and punctuation"
        yield KeyFigure("duplicates", count(duplicates["exact"]), near)
    fields = ("hypothesis",) if outcome.task == "text" else ("hypothesis", "premise")
    if empty := sum(split.get(f"empty_{field}", 0) for split in splits.values() for field in fields):
        yield KeyFigure("empty texts", count(empty))


def _called(outcome: Outcome, field: str) -> str:
    return _TEXT[outcome.task] if field == "hypothesis" else field


def _balance(outcome: Outcome) -> list[Bars]:
    shown = list(outcome.labels)[:MOST_LABELS]
    balance = outcome.rows("label_balance")
    if balance.is_empty() or outcome.task in _GROUPED:
        return []
    place = {label: i for i, label in enumerate(shown)}
    balance = (
        balance.filter(pl.col("label").cast(pl.String).is_in(shown))
        .with_columns(
            pl.col("label", "split").cast(pl.String), text=pl.col("share").map_elements(percent, pl.String)
        )
        .sort(pl.col("label").replace_strict(place, return_dtype=pl.Int64), maintain_order=True)
    )
    room = 1.3 * float(balance["share"].max() or 1.0)  # type: ignore[arg-type]
    chart = Bars(
        title="Label balance",
        data=balance,
        y="label",
        x=Axis("share", "", "percent", domain=(0.0, room), ticks=4),
        series="split",
        colour="label",
        fade="split",
        text="text",
        colours=outcome.labels,
        alt="Bars of the share of each label in each split.",
        caption="Share of each label among the instances of a split.",
        wide=False,
        tooltip={"count": Column("instances", "count")},
    )
    return [chart]


def _lengths(outcome: Outcome) -> list[Lines]:
    lengths = outcome.rows("lengths")
    if lengths.is_empty():
        return []
    fields = ("hypothesis",) if outcome.task in _GROUPED else ("hypothesis", "premise")
    shown = pl.col("label").cast(pl.String).is_in(list(outcome.labels)[:MOST_CURVES])
    lengths = lengths.filter(shown & (pl.col("split").cast(pl.String) == "train"))
    train = {field: lengths.filter(pl.col("field") == field) for field in fields}
    return [
        _length_chart(outcome, _called(outcome, field), rows)
        for field, rows in train.items()
        if rows["tokens"].n_unique() > 1
    ]


_CURVES = "Share of each label's {}instances. If the curves differ, length is a cue."


def _length_chart(outcome: Outcome, name: str, lengths: pl.DataFrame) -> Lines:
    """Return curves of text length by label, each label's area the same; the very longest texts are not shown."""
    bins = length_bins(lengths)
    binned = (
        lengths.with_columns(pl.col("label").cast(pl.String), bin=pl.col("tokens") // bins.width * bins.width)
        .group_by("label", "bin")
        .agg(pl.col("count").sum())
        .with_columns(share=pl.col("count") / pl.col("count").sum().over("label"))
        .filter(pl.col("bin") <= bins.last)
        .sort("label", "bin")
    )
    cut = f" {percent(bins.cut)} of the texts are longer and not shown." if bins.cut else ""
    return Lines(
        title=f"Length of the {name}",
        data=binned,
        x=Axis("bin", f"words in the {name}"),
        y=Axis("share", "", "percent", ticks=4),
        colour="label",
        shape="monotone",
        colours=list(outcome.labels)[:MOST_CURVES],
        alt=f"Curves of the number of words in the {name}, one per label, in the {outcome.training_set}.",
        caption=(_CURVES if len(outcome.labels) > 1 else "Share of the {}examples.").format(outcome.training)
        + cut,
        wide=False,
        tooltip={
            "bin": Column("words" if bins.width == 1 else f"words (bin of {bins.width})", "count"),
            "count": Column("instances", "count"),
        },
    )


@dataclass(frozen=True)
class LengthBins:
    """The width of a bin, the last length shown, and the share of texts that are longer."""

    width: int
    last: int
    cut: float


def length_bins(lengths: pl.DataFrame) -> LengthBins:
    """Return the bins for a table of `tokens` and `count`."""
    per_length = lengths.group_by("tokens").agg(pl.col("count").sum()).sort("tokens")
    if per_length.is_empty():
        return LengthBins(1, 1, 0.0)
    reached = per_length.with_columns(share=pl.col("count").cum_sum() / pl.col("count").sum())
    last = int(reached.filter(pl.col("share") >= SHOWN)["tokens"][0])
    width = max(1, -(-last // MOST_BINS))
    last = max(1, last // width * width + width - 1)  # a bin is shown whole
    beyond = float(per_length.filter(pl.col("tokens") > last)["count"].sum())
    return LengthBins(width, last, beyond / float(per_length["count"].sum()))


def _duplicates(outcome: Outcome) -> list[Table]:
    frame = outcome.rows("duplicates")
    if frame.is_empty():
        return []
    columns = {name: Column(name.capitalize()) for name in ("premise", "hypothesis", "labels")}
    columns["count"] = Column("Count", "count")
    if outcome.training:
        columns["splits"] = Column("Splits")
    for name in ("premise", "hypothesis"):
        if (frame[name] == "").all():
            del columns[name]
    caption = "Inputs that occur more than once, most frequent first."
    return [Table("Repeated inputs", "duplicates", columns, most=MOST_DUPLICATES, caption=caption)]
