"""Logs of evaluations, item by item, in the forms that tools write them.

| tool | what is read |
|---|---|
| Inspect | a `.json` or `.eval` log: the first scorer of every sample, first epoch |
| lm-evaluation-harness | `samples_*.jsonl`: the first metric of every document |
| HELM | the folder of a run: `display_predictions.json` or `per_instance_stats.json`, and `instances.json` |
| promptfoo | `--output results.json` or `.jsonl`: `success` of every test |
| DeepEval | a saved test run (`testCases`) or `EvaluationResult` (`test_results`): `success` |
| Every Eval Ever | instance-level `.jsonl`: `evaluation.is_correct` |
| tables | `item`, `correct`, and `model`, `answer`, `key`, `unit` where they are known |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data.reading.files import read_file
from cuecard.data.reading.formats import content, format_of, typed_path
from cuecard.documents import parse_json
from cuecard.errors import InputError
from cuecard.probes.formats.logs import inspect_document
from cuecard.wording import plural

#: One row per item: what a log says of it. `correct` is there for every item, the others where the log has them.
LOG_COLUMNS: dict[str, Any] = {
    "item": pl.String,
    "correct": pl.Boolean,
    "answer": pl.String,
    "key": pl.String,
    "choices": pl.List(pl.String),
    "unit": pl.String,
    "text": pl.String,
}
#: Metrics that say whether an answer is right, in order of preference.
_METRICS = (
    "acc", "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "em",
    "acc_norm", "accuracy", "correct", "chain_of_thought_correctness", "final_number_exact_match",
)  # fmt: skip
#: Scores as words: Inspect's correct, incorrect and no answer, and those of tables.
_WORDS = {
    "c": 1,
    "i": 0,
    "n": 0,
    "1": 1,
    "0": 0,
    "1.0": 1,
    "0.0": 0,
    "true": 1,
    "false": 0,
    "yes": 1,
    "no": 0,
}
_ROLES = {
    "item": ("item", "item_id", "id", "example_id", "sample_id", "question_id", "doc_id", "instance_id"),
    "correct": ("correct", "is_correct", "right", "passed", "success", "score", "acc", "exact_match"),
    "model": ("model", "model_name", "model_id", "system"),
    "answer": ("answer", "prediction", "predicted", "response"),
    "key": ("key", "gold", "target", "label", "expected"),
    "unit": ("unit", "cluster", "group", "passage", "passage_id", "context_id"),
    "text": ("question", "text", "input", "prompt"),
}
_GIVE = (
    "give a log of Inspect, lm-evaluation-harness, HELM, promptfoo, DeepEval or Every Eval Ever, or a table with the "
    "columns item, correct and model"
)
_HELM = ("per_instance_stats.json", "display_predictions.json")
Item = dict[str, Any]


@dataclass(frozen=True, eq=False)
class RunLog:
    """What one model did on every item of a benchmark; columns as in `LOG_COLUMNS`."""

    model: str
    table: pl.DataFrame
    source: str
    benchmark: str = "runs"
    notes: tuple[str, ...] = ()


def read_runs(name: str | None, source: str | Path | pl.DataFrame) -> list[RunLog]:
    """Return the runs that a log, a table or a folder of logs holds, one per model.

    The user's own name is that of a source about one model.
    """
    if isinstance(source, pl.DataFrame):
        logs = _of_table(source, name or "the table of runs", name or "runs")
    else:
        logs = list(_of_path(typed_path(source)))
    if name and len(logs) == 1:
        return [replace(logs[0], model=name)]
    return logs


def _of_path(path: Path) -> Iterator[RunLog]:
    if not path.exists():
        raise InputError(f"{path} does not exist; {_GIVE}.")
    if not path.is_dir():
        yield from _helm(path.parent) if path.name in _HELM else _of_file(path)
        return
    if any((path / file).exists() for file in _HELM):
        yield from _helm(path)
        return
    inside = sorted(
        part
        for part in path.iterdir()
        if (part.is_dir() and any((part / file).exists() for file in _HELM))
        or part.suffix in (".json", ".jsonl", ".eval", ".csv", ".parquet")
    )
    if not inside:
        raise InputError(f"{path} holds no log: {_GIVE}.")
    for part in inside:
        yield from _of_path(part)


def _of_file(path: Path) -> list[RunLog]:
    if path.suffix == ".eval":
        return [_inspect(inspect_document(path), path)]
    if path.suffix == ".json":
        document = parse_json(content(path, "none")[0], str(path), _GIVE)
        for is_one, read in _DOCUMENTS:
            if is_one(document):
                return read(document, path)
    named = format_of(path)
    if named is not None and named[0] == "jsonl":
        lines = _first_line(path)
        for marks, read_lines in _LINES:
            if isinstance(lines, dict) and all(mark in lines for mark in marks):
                return read_lines(list(_json_lines(path)), path)
    return _of_table(read_file(path).frame, str(path), path.stem)


def _first_line(path: Path) -> Any:
    return next(_json_lines(path), None)


def _json_lines(path: Path) -> Iterator[Any]:
    named = format_of(path)
    assert named is not None
    for number, line in enumerate(content(path, named[1])[0].split(b"\n"), start=1):
        if line.strip():
            yield parse_json(line, f"{path}, line {number:,}", _GIVE)


def _log(model: str, items: Iterable[Item], source: str, benchmark: str, notes: Iterable[str] = ()) -> RunLog:
    """Return the log of a model; of an item that occurs several times, the first."""
    rows = [{column: item.get(column) for column in LOG_COLUMNS} for item in items]
    table = pl.DataFrame(rows, schema=LOG_COLUMNS, strict=False)
    unscored = table["correct"].null_count()
    table = table.filter(pl.col("correct").is_not_null())
    if not table.height:
        raise InputError(f"{source} has no item that was scored as right or wrong; {_GIVE}.")
    once = table.unique("item", keep="first", maintain_order=True)
    told = list(notes)
    if unscored:
        told.append(f"{model}: {plural(unscored, 'item')} without a score are not used.")
    if once.height < table.height:
        told.append(
            f"{model}: of {plural(table.height, 'row')}, the first of each of {once.height:,} items is used."
        )
    return RunLog(model, once, source, benchmark, tuple(told))


def _binary(value: Any) -> bool | None:
    """Return whether a score says right or wrong; None where it says neither."""
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower())
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    return None


def _text(value: Any) -> str | None:
    """Return a text as it is, and anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def _one(values: Any) -> str | None:
    """Return the only one of several values."""
    if isinstance(values, list):
        return _text(values[0]) if len(values) == 1 else None
    return _text(values)


def _is_inspect(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("samples"), list) and "eval" in document


def _inspect(document: Mapping[str, Any], path: Path) -> RunLog:
    samples = document.get("samples") or []
    first = min((sample.get("epoch", 1) for sample in samples), default=1)
    items, scorers = [], []
    for sample in samples:
        if sample.get("epoch", 1) != first:
            continue
        scores = sample.get("scores") or {}
        scorers += [name for name in scores if name not in scorers]
        score = next(iter(scores.values()), None) or {}
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(sample.get("choices") or [])]

        def named(answer: Any, sample: Mapping[str, Any] = sample, letters: str = letters) -> str | None:
            text = (_one(answer) or "").strip()
            letter = text.strip(" ().:").upper()
            return (
                sample["choices"][letters.index(letter)] if len(letter) == 1 and letter in letters else text
            )

        items.append(
            {
                "item": str(sample["id"]),
                "correct": _binary(score.get("value")),
                "answer": named(score.get("answer")) or None,
                "key": named(sample.get("target")) or None,
                "choices": sample.get("choices"),
                "text": sample.get("input") if isinstance(sample.get("input"), str) else None,
            }
        )
    evaluation = document.get("eval") or {}
    notes = []
    if len(scorers) > 1:
        notes.append(f"{path} has the scorers {', '.join(scorers)}; {scorers[0]!r} is used.")
    return _log(
        evaluation.get("model") or path.stem, items, str(path), evaluation.get("task") or "runs", notes
    )


def _harness(lines: list[Item], path: Path) -> list[RunLog]:
    filters = list(dict.fromkeys(line.get("filter", "none") for line in lines))
    metric = next((name for name in (*_METRICS, *lines[0].get("metrics", ())) if name in lines[0]), None)
    if metric is None:
        raise InputError(
            f"{path} has no metric that says whether an answer is right, such as acc or exact_match."
        )
    items = []
    for line in lines:
        if line.get("filter", "none") != filters[0]:
            continue
        responses, answer = line.get("filtered_resps"), None
        scored = [r[0] for r in responses or [] if isinstance(r, list) and r]
        if scored and len(scored) == len(responses or []):
            answer = str(max(range(len(scored)), key=lambda k: float(scored[k])))
        elif responses:
            answer = _text(responses[0] if isinstance(responses, list) else responses)
        items.append(
            {
                "item": str(line["doc_id"]),
                "correct": _binary(line.get(metric)),
                "answer": answer,
                "key": _one(line.get("target")),
                "choices": [str(k) for k in range(len(scored))] if len(scored) > 1 else None,
                "text": _text((line.get("doc") or {}).get("question")),
            }
        )
    folder = path.resolve().parent.name
    model = folder.replace("__", "/") if "__" in folder else path.stem
    return [_log(model, items, str(path), path.stem.removeprefix("samples_").split("_2")[0])]


def _helm(folder: Path) -> list[RunLog]:
    """Read a run's folder; per-instance statistics are lists of named means, or numbers by name in predictions."""

    def document(name: str) -> Any:
        path = folder / name
        return parse_json(content(path, "none")[0], str(path), _GIVE) if path.exists() else None

    predictions = document("display_predictions.json")
    rows = predictions if predictions is not None else document("per_instance_stats.json")
    specification = document("run_spec.json") or {}
    model = (specification.get("adapter_spec") or {}).get("model") or folder.name.rpartition("model=")[2]
    instances = {str(one.get("id")): one for one in document("instances.json") or ()}
    items = []
    for row in rows or ():
        if row.get("perturbation") or row.get("train_trial_index", 0) != 0:
            continue
        stats = row.get("stats") or {}
        if isinstance(stats, list):
            stats = {
                one["name"]["name"]: one.get("mean") for one in stats if not one["name"].get("perturbation")
            }
        metric = next((name for name in _METRICS if name in stats), None)
        instance = instances.get(str(row["instance_id"])) or {}
        references = instance.get("references") or []
        texts = [(one.get("output") or {}).get("text") for one in references]
        keys = [text for one, text in zip(references, texts, strict=True) if "correct" in one.get("tags", ())]
        items.append(
            {
                "item": str(row["instance_id"]),
                "correct": _binary(stats[metric]) if metric else None,
                "answer": row.get("mapped_output") or row.get("predicted_text"),
                "key": keys[0] if len(keys) == 1 else None,
                "choices": texts if len(texts) > 1 else None,
                "text": (instance.get("input") or {}).get("text"),
            }
        )
    return [_log(model or folder.name, items, str(folder), folder.name.partition(":")[0])]


def _is_promptfoo(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    results = document.get("results")
    inside = results.get("results") if isinstance(results, dict) else results
    return (
        isinstance(inside, list) and bool(inside) and isinstance(inside[0], dict) and "success" in inside[0]
    )


def _promptfoo(document: Any, path: Path) -> list[RunLog]:
    results = document["results"]
    return _promptfoo_rows(results["results"] if isinstance(results, dict) else results, path)


def _promptfoo_rows(rows: list[Item], path: Path) -> list[RunLog]:
    """Read one result per test, prompt and provider; a model is a provider, with its prompt where there are several.

    `promptIdx` counts the pairs of provider and prompt.
    """
    prompts: dict[str, list[int]] = {}
    for row in rows:
        of_provider = prompts.setdefault(_provider(row, path), [])
        if (number := row.get("promptIdx", 0)) not in of_provider:
            of_provider.append(number)
    models: dict[str, list[Item]] = {}
    for row in rows:
        name = _provider(row, path)
        if len(prompts[name]) > 1:
            name = f"{name} · prompt {prompts[name].index(row.get('promptIdx', 0)) + 1}"
        variables = row.get("vars") or (row.get("testCase") or {}).get("vars") or {}
        item = str(row["testIdx"]) if "testIdx" in row else _text(variables)
        models.setdefault(name, []).append(
            {
                "item": item,
                # An error of the endpoint is no answer.
                "correct": None if row.get("failureReason") == 2 else _binary(row.get("success")),
                "answer": _text((row.get("response") or {}).get("output")),
                "text": _text(variables.get("question") or variables.get("input")),
            }
        )
    return [_log(name, items, str(path), path.stem) for name, items in models.items()]


def _provider(row: Item, path: Path) -> str:
    provider = row.get("provider") or {}
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else str(provider)
    return name or path.stem


def _is_deepeval(document: Any) -> bool:
    return isinstance(document, dict) and any(
        isinstance(document.get(key), list) and document[key] for key in ("testCases", "test_results")
    )


def _deepeval(document: Any, path: Path) -> list[RunLog]:
    cases = document.get("testCases") or document.get("test_results")
    items = [
        {
            "item": _text(case.get("input")) or str(case.get("name")),
            "correct": _binary(case.get("success")),
            "answer": case.get("actualOutput", case.get("actual_output")),
            "key": case.get("expectedOutput", case.get("expected_output")),
            "text": _text(case.get("input")),
        }
        for case in cases
    ]
    parameters = document.get("hyperparameters") or {}
    return [_log(str(parameters.get("model") or path.stem), items, str(path), path.stem)]


def _every_eval_ever(lines: list[Item], path: Path) -> list[RunLog]:
    models: dict[str, list[Item]] = {}
    for line in lines:
        attributed = [one for one in line.get("answer_attribution") or () if one.get("is_terminal", True)]
        given = line.get("input") or {}
        models.setdefault(str(line["model_id"]), []).append(
            {
                "item": str(line["sample_id"]),
                "correct": _binary((line.get("evaluation") or {}).get("is_correct")),
                "answer": attributed[-1].get("extracted_value") if attributed else None,
                "key": _one(given.get("reference")),
                "choices": given.get("choices"),
                "text": given.get("raw"),
            }
        )
    benchmark = str(lines[0].get("evaluation_name") or path.stem)
    return [_log(model, items, str(path), benchmark) for model, items in models.items()]


def _of_table(frame: pl.DataFrame, where: str, stem: str) -> list[RunLog]:
    """Read a table with a row per item, and per model where it has a column of them."""
    columns = {name.lower(): name for name in frame.columns}
    roles = {
        role: columns[found]
        for role, names in _ROLES.items()
        if (found := next((name for name in names if name in columns), None)) is not None
    }
    for needed in ("item", "correct"):
        if needed not in roles:
            raise InputError(
                f"{where} has no column {needed!r} (its columns are {', '.join(map(repr, frame.columns[:12]))}): "
                f"{_GIVE}."
            )
    values = frame[roles["correct"]]
    right = [_binary(value) for value in values.to_list()]
    wrong = next((row for row, value in enumerate(right) if value is None and values[row] is not None), None)
    if wrong is not None:
        raise InputError(
            f"Column {values.name!r} of {where} has the value {values[wrong]!r} in row {wrong + 1:,}: write 1 or true "
            "for a right answer, 0 or false for a wrong one."
        )
    rows = frame.select(
        pl.col(column).cast(pl.String, strict=False).alias(role) for role, column in roles.items()
    )
    rows = rows.with_columns(correct=pl.Series(right, dtype=pl.Boolean))
    if "model" not in roles:
        rows = rows.with_columns(model=pl.lit(stem))
    return [
        _log(str(name), part.drop("model").iter_rows(named=True), where, stem)
        for (name,), part in rows.group_by("model", maintain_order=True)
    ]


#: How JSON documents and lines are recognised, and what reads them.
_DOCUMENTS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Path], list[RunLog]]], ...] = (
    (_is_inspect, lambda document, path: [_inspect(document, path)]),
    (_is_promptfoo, _promptfoo),
    (_is_deepeval, _deepeval),
)
_LINES: tuple[tuple[tuple[str, ...], Callable[[list[Item], Path], list[RunLog]]], ...] = (
    (("doc_id", "filtered_resps"), _harness),
    (("sample_id", "model_id", "evaluation"), _every_eval_ever),
    (("testIdx", "success"), _promptfoo_rows),
)
