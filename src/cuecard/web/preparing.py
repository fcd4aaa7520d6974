"""Prepare a card for its pages, in a process of its own: `python -m cuecard.web.preparing CARD ROOT`.

With `--compare KEY ROOT CARD CARD …` it prepares the page that says what changed from each card to the next.

The server never loads a table or draws a chart: this writes, once per card, what its pages show, its charts, and an
index of the texts from which single examples are read without reading the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.audits import Cues
from cuecard.card import compare, load_card
from cuecard.card.card import Card
from cuecard.card.files import CARD_FILE
from cuecard.data import Instances, load, parse_columns
from cuecard.errors import CueCardError
from cuecard.report.findings import Piece, facts, highlight, looked_at, meter, ordered_findings, other_ways
from cuecard.report.first_screen import answers, front_items
from cuecard.report.html.card_page import settings as section_settings
from cuecard.report.sections import SectionView, TableView, section_view
from cuecard.report.verdict import key_figures, verdict
from cuecard.view import KeyFigure
from cuecard.web.forms import Reading, reading_of_card
from cuecard.web.requests.bodies import Json
from cuecard.web.requests.places import inside
from cuecard.web.tables import (
    CHARTS,
    CUE_ROWS,
    EXAMPLES,
    PAGE,
    prepared_folder,
    spread,
    stored_table,
    write_rows,
    write_texts,
)
from cuecard.wording import display_text, listed

#: Tables with more rows are stored by position; of smaller ones, all rows are read.
LARGE = 20_000


def prepare(folder: Path, root: Path) -> Path:
    """Write what the pages of a card need and return where; what is there already is kept."""
    key = hashlib.sha256((folder / CARD_FILE).read_bytes()).hexdigest()[:24]
    target = prepared_folder(root, key)
    if (target / PAGE).is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".preparing-", dir=target.parent))
    try:
        tell("Preparing the pages")
        card = load_card(folder)
        page, charts = _page(card)
        (staging / CHARTS).mkdir()
        for name, specification in charts.items():
            (staging / CHARTS / f"{name}.json").write_text(json.dumps(specification), encoding="utf-8")
        tell("Indexing the tables")
        (staging / "tables").mkdir()
        for name, table in card.tables.items():
            if table.height > LARGE and name != "examples":
                write_rows(table, stored_table(staging, name))
        tell("Indexing the texts")
        try:
            page["index"] = write_index(card, folder.resolve(), staging, root)
        except (TextIndexError, CueCardError) as reason:
            page["index"] = {
                "texts": False,
                "reason": str(reason),
                "outside": getattr(reason, "outside", []),
            }
            if "examples" in card.tables:
                write_rows(card.tables["examples"], stored_table(staging, "examples"))
        (staging / PAGE).write_text(json.dumps(page), encoding="utf-8")
        if target.exists():  # another process was quicker, or left half of it behind
            shutil.rmtree(target, ignore_errors=True)
        os.replace(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def tell(title: str) -> None:
    """Say which step begins, where somebody listens."""
    if file := os.environ.get("CUECARD_PROGRESS"):
        with open(file, "a", encoding="utf-8") as log:
            log.write(json.dumps({"stage": title, "at": time.time()}) + "\n")


def _page(card: Card) -> tuple[Json, Json]:
    """Return what the pages of a card say, and its charts by name."""
    from cuecard.report.charts.kinds import chart_specification

    sections: list[Json] = []
    charts: Json = {}
    for name, section in card.sections.items():
        view = section_view(card, name)
        for i, chart in enumerate(view.charts):
            charts[f"{name}-{i}"] = chart_specification(chart)
        sections.append(
            {
                "name": name,
                "title": section.title,
                "status": section.status,
                "reason": section.reason,
                "settings": section_settings(section) if section.status == "done" else "",
                "seconds": card.provenance.seconds.get(name),
                "tables": list(section.tables),
                **_view(name, view),
            }
        )
    judged = verdict(card)
    views = {name: section_view(card, name) for name in card.sections}
    page: Json = {
        "front": [
            {
                "place": item.place,
                "section": item.section,
                "title": item.shown.title,
                "how": "" if isinstance(item.shown, TableView) else item.shown.brief or item.shown.caption,
                "alt": "" if isinstance(item.shown, TableView) else item.shown.alt,
                "table": _table(item.shown) if isinstance(item.shown, TableView) else None,
            }
            for item in front_items(card, views)
        ],
        "verdict": asdict(judged),
        "figures": [_figure(figure) for figure in key_figures(card)],
        "answers": [asdict(answer) for answer in answers(card)],
        "findings": [_finding(card, finding) for finding in ordered_findings(card)],
        "sections": sections,
        "labels": list(card.dataset.labels),
        "task": card.dataset.task,
        "measures": [asdict(measure) for measure in card.all_measures()],
    }
    return page, charts


def prepare_comparison(key: str, root: Path, folders: Sequence[Path]) -> Path:
    """Write what the page of a comparison needs and return where; what is there already is kept."""
    from cuecard.report.changes_page import comparison_chapter
    from cuecard.report.charts.kinds import chart_specification

    target = prepared_folder(root, f"compared-{key}")
    if (target / PAGE).is_file():
        return target
    tell("Comparing the cards")
    cards = [load_card(folder) for folder in folders]
    chapters: list[Json] = []
    charts: Json = {}
    names = [os.path.relpath(folder, root) for folder in folders]
    for number, comparison in enumerate(compare(cards, names), start=1):
        chapter = comparison_chapter(comparison, number)
        for part in chapter.parts:
            for i, chart in enumerate(part.view.charts):
                charts[f"{part.name}-{i}"] = chart_specification(chart)
        chapters.append(
            {
                "title": chapter.title,
                "severity": chapter.severity,
                "verdict": chapter.verdict,
                "detail": list(chapter.detail),
                "figures": [_figure(figure) for figure in chapter.figures],
                "parts": [
                    {
                        "name": part.name,
                        "title": part.title,
                        "quiet_title": part.quiet_title,
                        "quiet": [_table(table) for table in part.quiet.tables],
                        **_view(part.name, part.view),
                    }
                    for part in chapter.parts
                ],
            }
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".preparing-", dir=target.parent))
    try:
        (staging / CHARTS).mkdir()
        for name, specification in charts.items():
            (staging / CHARTS / f"{name}.json").write_text(json.dumps(specification), encoding="utf-8")
        (staging / PAGE).write_text(json.dumps({"chapters": chapters}), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        os.replace(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _view(name: str, view: SectionView) -> Json:
    return {
        "lead": [display_text(text, 1000) for text in view.lead],
        "figures": [_figure(figure) for figure in view.figures],
        "charts": [
            {
                "id": f"{name}-{i}",
                "title": chart.title,
                "alt": chart.alt,
                "caption": chart.caption,
                "wide": chart.wide,
            }
            for i, chart in enumerate(view.charts)
        ],
        "samples": [_table(table) for table in view.tables],
        "notes": [display_text(text, 1000) for text in view.notes],
    }


def _figure(figure: KeyFigure) -> dict[str, str]:
    return asdict(figure)


def _table(table: TableView) -> Json:
    return {
        "title": table.title,
        "caption": table.caption,
        "total": table.total,
        "source": Path(table.source).stem if table.source else "",
        "columns": [
            {"title": column.title, "numeric": column.numeric, "kind": column.kind, "hint": column.hint}
            for column in table.columns
        ],
        "rows": [
            [
                {"shown": column.write(value), "sort": value if wording.is_number(value) else None}
                for column, value in zip(table.columns, row, strict=True)
            ]
            for row in table.rows
        ],
    }


def _finding(card: Card, finding: Finding) -> Json:
    line = meter(finding)
    return {
        "id": finding.id,
        "section": finding.section,
        "severity": finding.severity,
        "title": display_text(finding.title),
        "text": display_text(finding.text, 2000),
        "parts": other_ways(finding),
        "meter": asdict(line) if line is not None else None,
        "facts": facts(finding),
        "cue": finding.cue,
        "command": finding.command,
        "examples": [
            {
                "id": one.example_id,
                "split": one.split,
                "label": one.label,
                "premise": _pieces(card, finding, "premise", one.premise, one.highlight),
                "hypothesis": _pieces(card, finding, "hypothesis", one.hypothesis, one.highlight),
            }
            for one in finding.evidence[:3]
        ],
    }


def _pieces(card: Card, finding: Finding, field: str, text: str, words: Sequence[str]) -> list[Json]:
    pieces: list[Piece] = highlight(text, words if looked_at(card, finding, field) else ())
    return [asdict(piece) for piece in pieces]


#: Cues whose examples are indexed, the strongest first.
MOST_CUES = 3_000


class TextIndexError(Exception):
    """The texts of a card cannot be shown; the message says why, and `outside` names files that lie elsewhere."""

    def __init__(self, message: str, outside: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.outside = list(outside)


def write_index(card: Card, card_folder: Path, folder: Path, root: Path) -> Json:
    """Write the texts, the columns to filter by and the examples of every cue, and return what is there."""
    data = read_again(card, card_folder, root)
    examples = card.tables["examples"]
    texts = example_texts(data)
    if texts.height != examples.height:
        raise TextIndexError("the card is about another part of this dataset")
    write_texts(texts, folder)
    light = examples if "label" in examples.columns else examples.with_columns(texts["label"])
    light.write_parquet(folder / EXAMPLES)
    write_rows(light, stored_table(folder, "examples"))
    cues = cue_rows(card, data)
    if cues is not None:
        write_cue_rows(cues, folder)
    return {"texts": True, "reason": "", "columns": light.columns, "cues": cues is not None}


def read_again(card: Card, card_folder: Path, root: Path) -> Instances:
    """Return the dataset of a card from its files, if they are below the root and have not changed."""
    reading = reading_of_card(card.provenance.command, card_folder)
    if reading is None:
        raise TextIndexError("the card does not say how its data was read")
    outside = [path for path in reading.files if stand_in(root, path) is None]
    if outside:
        one = len(outside) == 1
        raise TextIndexError(
            f"{listed(outside)} {'is' if one else 'are'} not below the folder that the app was started with",
            [shlex.quote(path) for path in outside],
        )
    try:
        data = load_reading(reading, root)
    except CueCardError as error:
        raise TextIndexError(f"the data cannot be read again: {error}") from None
    if data.fingerprint != card.dataset.fingerprint:
        raise TextIndexError("the data files have changed since the audit")
    return data


def stand_in(root: Path, path: str) -> Path | None:
    """Return a file below the root, or a copy of one elsewhere, by its name, in the root or its folder `data`.

    Whether a copy holds the same rows is checked by the fingerprint of the card.
    """
    name = Path(path).name
    for one in (path, name, f"data/{name}"):
        place = inside(root, one)
        if place is not None and place.exists() and place != root.resolve():
            return place
    return None


def load_reading(reading: Reading, root: Path) -> Instances:
    """Return the instances that a command reads."""
    options: dict[str, Any] = dict(reading.options)
    label_files = [str(stand_in(root, value)) for name, value in reading.options if name == "--label-file"]
    typed: dict[str, Any] = {
        "test": str(stand_in(root, options["--test"])) if "--test" in options else None,
        "columns": parse_columns(options["--columns"]) if "--columns" in options else None,
        "label_file": label_files or None,
        "keep_unlabelled": "--keep-unlabelled" in reading.flags or None,
        "holdout": float(options["--holdout"]) if "--holdout" in options else None,
        "seed": int(options["--seed"]) if "--seed" in options else None,
        "max_skipped": float(options["--max-skipped"]) if "--max-skipped" in options else None,
        **{name: options.get(f"--{name}") for name in ("task", "labels", "header", "cluster")},
        "on_error": options.get("--on-error"),
    }
    return load(
        str(stand_in(root, reading.train)),
        **{name: value for name, value in typed.items() if value is not None},
    )


def example_texts(data: Instances) -> pl.DataFrame:
    """Return one row per example: id, split, gold label, premise, and the text or the choices."""
    table = data.table.select(
        "example_id",
        pl.col("split").cast(pl.String),
        pl.col("label").cast(pl.String),
        "premise",
        "hypothesis",
    )
    if not data.grouped:
        return table.with_columns(texts=pl.concat_list("hypothesis")).drop("hypothesis")
    right = (pl.col("label") == data.labels[0]).arg_max()
    return table.group_by("example_id", "split", maintain_order=True).agg(
        (right + 1).cast(pl.String).alias("label"),
        pl.col("premise").first(),
        pl.col("hypothesis").alias("texts"),
    )


def cue_rows(card: Card, data: Instances) -> pl.DataFrame | None:
    """Return which examples have each of the strongest cues: family, feature, total, rows (numbers of examples)."""
    section = card.sections.get("cues")
    if section is None or section.status != "done" or "cues" not in card.tables:
        return None
    strongest = (
        card.tables["cues"]
        .filter(pl.col("significant"))
        .sort(pl.col("z").abs(), descending=True, maintain_order=True)
        .head(MOST_CUES)
    )
    settings = {k: v for k, v in section.parameters.items() if v is not None} | {
        name: value for name, value in section.settled.items() if name in ("tokens", "language")
    }
    settings["features"] = tuple(settings["features"]) if "features" in settings else None
    settings["regex"] = tuple((str(name), str(pattern)) for name, pattern in settings.get("regex", ()))
    encoded, families = Cues(**settings).prepared(data)
    example = _example_numbers(encoded.instances)
    rows = []
    for family in families:
        names = strongest.filter(pl.col("family") == family.name)["feature"].to_list()
        if not names:
            continue
        try:
            presence = family.presence(encoded)
        except CueCardError:
            continue
        numbered = pl.DataFrame({"feature": presence.names}).with_row_index("number")
        wanted = numbered.filter(pl.col("feature").is_in(names))
        part = presence.columns(wanted["number"].cast(pl.Int64).to_numpy())
        by_feature = part.matrix().tocsc()
        for i, name in enumerate(part.names.to_list()):
            where = np.unique(example[by_feature.indices[by_feature.indptr[i] : by_feature.indptr[i + 1]]])
            rows.append((family.name, name, len(where), spread(where).tolist()))
    schema = {"family": pl.String, "feature": pl.String, "total": pl.Int64, "rows": pl.List(pl.UInt32)}
    return pl.DataFrame(rows, schema=schema, orient="row")  # type: ignore[arg-type]


def write_cue_rows(cues: pl.DataFrame, folder: Path) -> None:
    """Write which examples have each cue, sorted, so that a reader skips the parts without the one it needs."""
    cues.sort("family", "feature").write_parquet(folder / CUE_ROWS, row_group_size=64, statistics=True)


def _example_numbers(data: Instances) -> npt.NDArray[np.int64]:
    """Return the number of every instance's example, in the order of the dataset."""
    keys = data.table.select("example_id", pl.col("split").cast(pl.String))
    changed = keys.select(
        (pl.struct("example_id", "split") != pl.struct("example_id", "split").shift()).fill_null(True)
    )
    if not data.grouped:
        return np.arange(keys.height, dtype=np.int64)
    return np.cumsum(changed.to_series().to_numpy()).astype(np.int64) - 1


def main() -> int:
    """Prepare the card that the command line names."""
    try:
        if sys.argv[1] == "--compare":
            key, root, *folders = sys.argv[2:]
            prepare_comparison(key, Path(root), [*map(Path, folders)])
        else:
            prepare(*map(Path, sys.argv[1:3]))
    except CueCardError as error:
        print(f"cuecard: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
