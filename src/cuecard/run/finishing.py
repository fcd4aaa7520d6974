"""What a card gets once its sections are there: checked results, joined findings, and facts about the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from pathlib import Path
from platform import python_version

import numpy as np
import polars as pl
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from cuecard._version import __version__
from cuecard.analysis import Finding, Measure, Result, most_serious_first
from cuecard.card.card import DatasetInfo, Section, SplitInfo
from cuecard.card.claims import ALPHA, contradictions
from cuecard.data import LABELLED_TASKS, Instances
from cuecard.errors import InputError, UsageError
from cuecard.stats.multiple_testing import q_values_of_selected
from cuecard.wording import listed, only_applies_to


def judged_over_card(results: Mapping[str, Result]) -> list[Finding]:
    """Return the findings of all sections, those that rest on a test with their q-value over the whole card.

    A card asks many questions at once. Each section holds the false discovery rate over its own tests; over the
    sections it is held by selecting those with anything to tell first (`q_values_of_selected`).
    """
    smallest = {name: one.smallest_q for name, one in results.items() if one.smallest_q is not None}
    own = {
        name: [finding.q_value for finding in results[name].findings if finding.q_value is not None]
        for name in smallest
    }
    judged = {
        name: iter(values.tolist()) for name, values in q_values_of_selected(own, smallest, ALPHA).items()
    }
    return [
        _graded(finding, next(judged[name])) if name in smallest and finding.q_value is not None else finding
        for name, one in results.items()
        for finding in one.findings
    ]


def _graded(finding: Finding, card_q: float) -> Finding:
    finding = replace(finding, card_q=card_q)
    if card_q <= ALPHA or finding.severity not in ("high", "medium"):
        return finding
    text = f"{finding.text} Allowing for all sections of this card it is not significant (q = {card_q:.2g})."
    return replace(finding, severity="low", text=text)


def merged_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, most serious first, with those about the words of a more serious one as its parts.

    A cluster named by a word, or a longer phrase that holds it, leads to the same label as the word itself: whatever
    gives more away is told, the others are listed with it. A finding that names no words stays as it is.

    >>> word = Finding("cues", "low", "Cue for c: “nobody”", "…", 0.9, 0.8, 0.95, 0.3, coverage=0.1,
    ...                label="c", words=("nobody",))
    >>> region = Finding("clusters", "low", "Cluster that predicts c: nobody, empty", "…", 0.8, 0.7, 0.9, 0.3,
    ...                  coverage=0.02, label="c", words=("nobody", "empty"))
    >>> [(finding.title, finding.parts) for finding in merged_findings([region, word])]
    [('Cue for c: “nobody”', ('Cluster that predicts c: nobody, empty',))]
    """
    merged: list[Finding] = []
    for finding in most_serious_first(findings):
        place = next((i for i, told in enumerate(merged) if _same_thing(told, finding)), None)
        if place is None:
            merged.append(finding)
        else:
            told = merged[place]
            merged[place] = replace(told, parts=(*told.parts, finding.title, *finding.parts))
    return merged


def _same_thing(told: Finding, finding: Finding) -> bool:
    """Return whether a finding is about the words, or one of the first words, of one told before it."""
    if not (told.words and finding.words):
        return False
    if told.label and finding.label and told.label != finding.label:  # a rule over all labels has none
        return False
    if told.severity == "info" or finding.severity == "info":
        return False
    shorter, longer = sorted((set(told.words), set(finding.words)), key=len)
    return shorter <= longer


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
    for claim in contradictions(result.measures, result.findings, result.tables, result.summary):
        raise Unusable(f"its result contradicts itself: {claim}")
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
    _adapter_of_findings().validate_python(asdict(finding))


@cache
def _adapter_of_findings() -> TypeAdapter[Finding]:
    """Return what checks findings; it takes longer to make than to use."""
    return TypeAdapter(Finding)


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


REPORTED_PACKAGES = ("numpy", "scipy", "polars", "scikit-learn")


def check_labels(data: Instances, *, open_answers: bool = False) -> None:
    """Raise if there is nothing to give away: no train rows, a single label, or answers in words where they cannot be.

    `open_answers` says that these have no labels and need none.
    """
    if not data.labelled:
        if not open_answers:
            raise UsageError(f"{data.name}: this command {only_applies_to(LABELLED_TASKS, data.task)}.")
        if not len(data.train):
            raise InputError(f"{data.name}: the train split has no rows with answers; give some.")
        return
    present = data.train.table["label"].drop_nulls().unique().cast(pl.String).to_list()
    if len(present) < 2:
        labels = f"only the label {present[0]!r}" if present else "no labelled rows"
        raise InputError(
            f"{data.name}: the train split has {labels}, and an audit needs at least two labels; "
            "choose another label column with --columns label=NAME."
        )


def _unseen_labels(data: Instances) -> list[str]:
    """Return a sentence for every label that only examples outside of the training set have."""
    if data.grouped:
        return []
    seen = set(data.train.table["label"].unique().cast(pl.String).drop_nulls())
    sentences = []
    for split in (name for name in data.splits if name != "train"):
        counts = data.split(split).table["label"].drop_nulls().value_counts(sort=True)
        counts = counts.cast({"label": pl.String})
        sentences += [
            f"{n:,} {split} examples have the label {label!r}, which no training example has: there are no cues for "
            "it, and no model can predict it."
            for label, n in counts.iter_rows()
            if label not in seen
        ]
        if counts.height > 1 and not seen & set(counts["label"]):
            names = ",".join(f"{label}=NAME" for label in counts["label"].sort())
            sentences.append(
                f"No label of the {split} set occurs in the training set, which has {listed(sorted(seen))}: if "
                f"they mean the same, name them alike with --labels {names}."
            )
    return sentences


def describe(data: Instances, notes: Sequence[str] = ()) -> DatasetInfo:
    """Return what the card says about the dataset itself."""
    splits = {}
    for name in data.splits:
        part = data.split(name)
        counts = dict(part.table["label"].value_counts().cast({"label": pl.String}).iter_rows())
        splits[name] = SplitInfo(
            examples=part.n_examples,
            instances=len(part),
            labels={label: counts.get(label, 0) for label in data.labels},
        )
    return DatasetInfo(
        name=data.name,
        task=data.task,
        labels=list(data.labels),
        splits=splits,
        fingerprint=data.fingerprint,
        files=list(data.report.files),
        columns=dict(data.report.recognised),
        dropped=dict(data.report.dropped),
        notes=[*data.report.notes, *_unseen_labels(data), *notes],
    )


def examples_table(data: Instances) -> pl.DataFrame:
    """Return one row per example: its id, split, answer and content.

    `content` is a hash of its texts and its answer, by which versions of a dataset are compared example by example.
    """
    texts = pl.struct("premise", "hypothesis", pl.col("label").cast(pl.String), "position")
    table = data.table.select(
        *EXAMPLE_KEYS, pl.col("label").cast(pl.String), "position", content=texts.hash(seed=0)
    ).with_columns(pl.col("split").cast(pl.String))
    if data.grouped:
        whole = pl.Series(np.bitwise_xor.reduceat(table["content"].to_numpy(), data.first_rows[:-1]))
        right = table.filter(pl.col("label") == data.labels[0]).unique(EXAMPLE_KEYS, keep="first")
        examples = table[data.first_rows[:-1]].select(EXAMPLE_KEYS).with_columns(content=whole)
        answers = right.select(*EXAMPLE_KEYS, answer="position")
        table = examples.join(answers, on=EXAMPLE_KEYS, how="left", maintain_order="left")
        table = table.select(*EXAMPLE_KEYS, "answer", "content")
    else:
        table = table.drop("position")
    return table


def with_examples(table: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """Return the table of examples with the columns that a section has about them."""
    return table.join(part, on=EXAMPLE_KEYS, how="left", maintain_order="left")


def versions() -> dict[str, str]:
    """Return the versions that a card's numbers may depend on."""
    packages = {"cuecard": __version__, "python": python_version()}
    for package in REPORTED_PACKAGES:
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            continue
    return packages
