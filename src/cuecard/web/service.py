"""What the pages and the API do: everything the app knows, behind functions without HTTP in them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from cuecard import wording
from cuecard._lazy import PYTHON
from cuecard.analysis import Measure
from cuecard.data.reading.formats import files_below
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.web.explorer import Explorer
from cuecard.web.forms import NOT_OF_TRAINING, Reading, all_forms, names_in, reading_of_card, shown_command
from cuecard.web.jobs import Jobs
from cuecard.web.library import Entry, Library
from cuecard.web.requests.bodies import (
    AskBody,
    AuditBody,
    DataBody,
    DebiasBody,
    Json,
    PlanBody,
    ProbeBody,
    field_title,
)
from cuecard.web.requests.places import Places, inside, own_file
from cuecard.web.requests.uploads import ENDINGS, stem_of
from cuecard.web.state import AppSettings, Job, State, Upload
from cuecard.web.tables import PAGE, prepared_folder

PREVIEW_SECONDS = 60.0
#: Processes that look at files at the same time; further previews wait.
PREVIEWS = 2
MOST_FILES = 2_000
UPLOAD = "upload:"


class Service:
    """The app without its pages."""

    def __init__(self, settings: AppSettings) -> None:
        self.settings = settings
        self.places = Places(settings)
        self.places.target(settings.own)
        self._previews = asyncio.Semaphore(PREVIEWS)
        self.state = State(settings.own / "app.sqlite3")
        self.library = Library(settings, self.state)
        self.jobs = Jobs(settings, self.state, self.library)
        self.explorer = Explorer(settings.root, self.library)

    # Files

    def data_files(self) -> list[str]:
        """Return the data files below the root, by their path from there."""
        names: list[str] = []
        for folder, folders, files in os.walk(self.settings.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "tables")
            for name in sorted(files):
                place = Path(folder, name)
                if name.startswith(".") or name == "card.json" or not name.lower().endswith(ENDINGS):
                    continue
                if own_file(self.settings.root, place):
                    names.append(place.relative_to(self.settings.root).as_posix())
                if len(names) >= MOST_FILES:
                    return names
        return names

    def path_of(self, source: str, field: str = "") -> str:
        """Return the whole path of a file that a page names in a field: an upload, or a path below the root."""
        if source.startswith(UPLOAD):
            return str(self.settings.root / self._upload(source).file)
        return str(self.places.existing(source, field_title(field) if field else ""))

    def _upload(self, source: str) -> Upload:
        try:
            return self.state.upload(source.removeprefix(UPLOAD))
        except KeyError:
            raise InputError("The uploaded file no longer exists: upload it again.") from None

    def reading(self, data: DataBody) -> Reading:
        """Return how a dataset is read, its paths checked."""
        options = [("--test", self.path_of(data.test, "test"))] if data.test else []
        for name, value in (
            ("--task", data.task),
            ("--columns", data.columns),
            ("--labels", data.labels),
            ("--header", data.header),
            ("--cluster", data.cluster),
        ):
            options += [(name, value)] if value else []
        options += [("--on-error", data.on_error)] if data.on_error != "stop" else []
        return Reading(self.path_of(data.train, "train"), tuple(options))

    async def preview(self, data: DataBody) -> Json:
        """Return the first rows of a dataset and how its columns are understood."""
        reading = self.reading(data)
        request = {
            "train": reading.train,
            "test": reading.test,
            "task": data.task or None,
            "columns": data.columns or None,
            "labels": data.labels or None,
            "header": data.header or None,
        }
        async with self._previews:
            output = await self._previewed(json.dumps(request).encode())
        try:
            answer: dict[str, Any] = json.loads(output)
        except ValueError:
            raise InputError("The file cannot be read: it may be damaged.") from None
        answer["problem"] = self.without_root(answer.get("problem", ""))
        answer["command"] = shown_command("audit", reading.arguments(), self.settings.root)
        return answer

    async def _previewed(self, request: bytes) -> bytes:
        """Return what a process says that looks at a file."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(*PYTHON, "-m", "cuecard.web.requests.uploads"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise InputError(f"The file cannot be previewed now ({error.strerror}): try again.") from None
        try:
            output, _ = await asyncio.wait_for(process.communicate(request), timeout=PREVIEW_SECONDS)
        except TimeoutError:
            raise InputError(f"The file could not be previewed within {PREVIEW_SECONDS:g} seconds.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return output

    def without_root(self, text: str) -> str:
        """Return a message with paths as the user knows them, and uploads by the names that they had."""
        return self.jobs.without_root(text)

    def side_by_side(self, entries: Sequence[Entry]) -> list[Json]:
        """Return a row per measure that a card has, with a cell per card: written out, and the bare number."""
        cards = [self.library.card(entry.id) for entry in entries]
        by_name = [{measure.name: measure for measure in card.all_measures()} for card in cards]
        names = list(dict.fromkeys(name for measures in by_name for name in measures))
        rows: list[Json] = []
        for name in names:
            present = [measures.get(name) for measures in by_name]
            first = next(measure for measure in present if measure is not None)
            cells = [None if m is None else _cell(m) for m in present]
            rows.append({"name": name, "label": first.label or name, "worse": first.worse, "cells": cells})
        return rows

    # Jobs

    def audit(self, body: AuditBody) -> Job:
        """Queue an audit."""
        for name in body.only:
            if name not in names_in("audits"):
                raise unknown_name("audit", name, names_in("audits"))
        self.places.check_settings(body.settings)
        reading = self.reading(body.data)
        name = body.name or self._dataset_name(body.data.train)
        arguments = reading.arguments()
        arguments += ["--name", name] if name else []
        arguments += ["--only", ",".join(body.only)] if body.only else []
        arguments += _settings(body.settings)
        arguments += ["--seed", str(body.seed)] if body.seed else []
        folder = self._new_folder(name, reading)
        title = f"Audit of {name or Path(reading.train).name}"
        return self._queue("audit", title, [*arguments, "--out", str(folder)], folder)

    def _dataset_name(self, source: str) -> str:
        """Return what a dataset is called whose file was uploaded: by the user's name of it, if that says anything."""
        if not source.startswith(UPLOAD):
            return ""
        stem = re.sub(
            r"[-_. ]?(train|dev|test)$", "", stem_of(self._upload(source).name), flags=re.IGNORECASE
        )
        return stem or "upload"

    def demo(self) -> Job:
        """Queue a demo: a card with planted cues to play with."""
        for job in self.state.jobs("queued", "running"):
            if job.kind == "demo":
                return job
        folder = self._free(self.settings.runs, "demo")
        return self._queue("demo", "A card to play with", ["--rows", "4000", "--out", str(folder)], folder)

    def again(self, job: Job) -> Job:
        """Queue a job again that failed or was cancelled, or return the one of the same work that waits or runs."""
        if job.status not in ("failed", "cancelled"):
            return job
        for other in self.state.jobs("queued", "running"):
            if (other.kind, other.out) == (job.kind, job.out):
                return other
        if len(self.state.jobs("queued")) >= self.settings.limits.queued_jobs:
            raise UsageError("The queue is full: wait until a job has ended, or cancel one.")
        return self.state.add_job(
            job.kind, job.title, job.arguments, job.command, Path(job.out), job.fingerprint
        )

    def probe(self, entry: Entry, body: ProbeBody) -> Job:
        """Queue a probe of models on the dataset of a card."""
        if not body.predictions and not body.models:
            raise UsageError("There is nothing to probe: upload predictions or choose a model.")
        self.places.check_settings(body.settings)
        reading = self._reading_of(entry)
        if body.test:
            options = [(n, v) for n, v in reading.options if n not in NOT_OF_TRAINING]
            reading = Reading(
                reading.train, (("--test", self.path_of(body.test, "test")), *options), reading.flags
            )
        arguments = reading.arguments()
        for source in body.predictions:
            named = f"{stem_of(self._upload(source).name)}=" if source.startswith(UPLOAD) else ""
            arguments += ["--predictions", f"{named}{self.path_of(source, 'predictions')}"]
        for model in body.models:
            arguments += ["--model", model if model in names_in("models") else self.path_of(model, "models")]
        arguments += ["--cues", ",".join(body.cues)] if body.cues else []
        arguments += _settings(body.settings)
        folder = self._new_folder(body.name or f"{entry.name}-models", reading)
        return self._queue("probe", f"Models on {entry.name}", [*arguments, "--out", str(folder)], folder)

    def ask(self, entry: Entry, body: AskBody) -> Job:
        """Queue questions to a language model; its answers become a predictions file below the root."""
        reading = self._reading_of(entry)
        if body.endpoint.rstrip("/") not in {one.rstrip("/") for one in self.settings.endpoints}:
            raise UsageError(
                "Endpoint: only addresses that the server was started with are asked. Start it again with "
                "`cuecard serve --endpoint URL`."
            )
        key_variable = body.key_variable or self.settings.key_variables[0]
        if key_variable not in self.settings.key_variables:
            raise UsageError(
                "Variable that holds the key: only those that the server was started with are read. Start it again "
                "with `cuecard serve --key-variable NAME`."
            )
        possible = all_forms()["inputs"].get(entry.task, [])
        if wrong := [name for name in body.inputs if name not in possible]:
            raise UsageError(f"Parts of the input: {wrong[0]!r} is none; possible are {', '.join(possible)}.")
        out = self._free(self.settings.predictions, f"{_word(body.model)}.jsonl")
        if body.dry_run:  # writes nothing
            out = self.settings.predictions / "counted.jsonl"
        arguments = [*reading.arguments(), "--endpoint", body.endpoint, "--model", body.model]
        for prompt in body.prompts:
            arguments += [
                "--prompt",
                prompt if prompt in names_in("prompts") else self.path_of(prompt, "prompts"),
            ]
        for name, value in (
            ("--input", ",".join(body.inputs)), ("--permute", body.permute), ("--stress", body.stress),
            ("--sample", body.sample), ("--max-requests", body.max_requests), ("--max-cost", body.max_cost),
        ):  # fmt: skip
            arguments += [name, f"{value}"] if value else []
        arguments += ["--structured"] if body.structured else []
        arguments += ["--key-variable", key_variable] if key_variable != "OPENAI_API_KEY" else []
        arguments += ["--dry-run"] if body.dry_run else []
        title = f"Requests to {body.model}, counted" if body.dry_run else f"Answers of {body.model}"
        return self._queue("ask", title, [*arguments, "--out", str(out)], out)

    def answers(self, entry: Entry) -> list[Json]:
        """Return the answers of language models to the test examples of a card, the newest first."""
        reading = reading_of_card(entry.command, entry.folder)
        place = None if reading is None else inside(self.settings.root, reading.train)
        found: list[Json] = []
        for job in self.state.jobs("done"):
            out = Path(job.out)
            if (
                job.kind != "ask"
                or job.arguments[:1] != (str(place),)
                or not own_file(self.settings.root, out)
            ):
                continue
            options = dict(pairwise(job.arguments))
            path = out.relative_to(self.settings.root.resolve()).as_posix()
            found.append({"path": path, "title": job.title, "stress": options.get("--stress", "")})
        return found

    def debias(self, entry: Entry, body: DebiasBody) -> Job:
        """Queue a remedy; its weighted rows and its card are written below the root."""
        if body.method not in names_in("remedies"):
            raise unknown_name("remedy", body.method, names_in("remedies"))
        self.places.check_settings(body.settings)
        reading = self._reading_of(entry)
        folder = self._new_folder(body.name or f"{entry.name}-weights", reading)
        ending = "".join(Path(reading.train).suffixes[-2:]) if Path(reading.train).is_file() else ""
        kind = ending if ending in (".csv", ".tsv", ".jsonl") else ".parquet"
        arguments = reading.arguments(without=NOT_OF_TRAINING)
        arguments += ["--method", body.method, *_settings(body.settings)]
        rows = self.settings.weights / f"{folder.name}{kind}"
        self.places.target(rows.parent)
        arguments += ["--out", str(rows), "--report", str(folder)]
        return self._queue("debias", f"Weights for {entry.name}", arguments, folder)

    def plan(self, entry: Entry, body: PlanBody) -> Job:
        """Queue a plan of which examples to change; its worksheet is written below the root."""
        reading = self._reading_of(entry)
        out = self._free(self.settings.worksheets, f"{entry.folder.name}-plan.csv")
        arguments = reading.arguments(without=("--name",))
        arguments += [part for goal in body.goals for part in ("--goal", goal)]
        arguments += ["--change", body.change] if body.change != "drop" else []
        arguments += ["--method", body.method] if body.method else []
        arguments += ["--budget", str(body.budget)] if body.budget else []
        return self._queue("plan", f"Plan for {entry.name}", [*arguments, "--out", str(out)], out, ["--json"])

    def plans(self, entry: Entry) -> list[Job]:
        """Return the plans that were made for a card."""
        prefix = f"{entry.folder.name}-plan"
        return [
            job for job in self.state.jobs() if job.kind == "plan" and Path(job.out).name.startswith(prefix)
        ]

    def prepare(self, entry: Entry) -> Job:
        """Queue the preparation of a card's pages, once."""
        for job in self.state.jobs("queued", "running"):
            if job.kind == "prepare" and job.out == str(entry.folder):
                return job
        arguments = [str(entry.folder), str(self.settings.root)]
        return self.state.add_job("prepare", f"Pages of {entry.name}", arguments, "", entry.folder)

    def look_again(self, entry: Entry) -> Job:
        """Prepare a card's pages again, such as after its data were copied below the root."""
        folder = prepared_folder(self.settings.root, entry.key)
        if (folder / PAGE).is_file():
            (folder / PAGE).unlink()
        return self.prepare(entry)

    def comparison(self, entries: Sequence[Entry]) -> Path | Job:
        """Return where the comparison of cards is prepared, or the job that prepares it."""
        root = self.settings.root
        key = hashlib.sha256(" ".join(entry.key for entry in entries).encode()).hexdigest()[:24]
        folder = prepared_folder(root, f"compared-{key}")
        if (folder / PAGE).is_file():
            return folder
        for job in self.state.jobs("queued", "running"):
            if job.kind == "prepare" and job.out == str(folder):
                return job
        arguments = ["--compare", key, str(root), *(str(entry.folder) for entry in entries)]
        return self.state.add_job("prepare", "Comparison", arguments, "", folder)

    def _queue(
        self, verb: str, title: str, arguments: Sequence[str], out: Path, unseen: Sequence[str] = ()
    ) -> Job:
        """Queue a command, or return the job of the same command on the same files that waits, runs or is done.

        `unseen` are arguments by which the app reads what the command prints; users need not type them.
        """
        fingerprint = _fingerprint(verb, arguments)
        same = self.state.same_job(fingerprint)
        if same is not None and (same.status != "done" or Path(same.out).exists()):
            return same
        if len(self.state.jobs("queued")) >= self.settings.limits.queued_jobs:
            raise UsageError("The queue is full: wait until a job has ended, or cancel one.")
        command = shown_command(verb, arguments, self.settings.root)
        return self.state.add_job(verb, title, [*arguments, *unseen], command, out, fingerprint)

    def _reading_of(self, entry: Entry) -> Reading:
        reading = reading_of_card(entry.command, entry.folder)
        if reading is None:
            raise InputError("The card does not say how its data was read: audit the data again from here.")
        whole: dict[str, Path] = {}
        for path in reading.files:
            place = inside(self.settings.root, path)
            if place is None or not place.exists():
                raise InputError(
                    f"{self.without_root(path)} of this card is not below the folder of the app."
                )
            whole[path] = place
        options = tuple(
            (name, str(whole[value]) if name in ("--test", "--label-file") else value)
            for name, value in reading.options
        )
        return Reading(str(whole[reading.train]), options, reading.flags)

    def _new_folder(self, name: str, reading: Reading) -> Path:
        file = Path(reading.train)
        stem = re.sub(r"(\.[a-z]+)+$", "", file.name)
        plain = stem if stem.lower() not in ("train", "dev", "test", "data") else file.parent.name
        return self._free(self.settings.runs, _word(name or plain))

    def _free(self, parent: Path, name: str) -> Path:
        """Return a path that no file and no job has, in a folder of the root that is made where it is absent."""
        self.places.target(parent)
        taken = {job.out for job in self.state.jobs(limit=1000)}
        stem, dot, ending = name.partition(".")
        for i in range(1, 10_000):
            place = parent / (name if i == 1 else f"{stem}-{i}{dot}{ending}")
            if not place.exists() and str(place) not in taken:
                return place
        return parent / f"{stem}-{secrets.token_hex(4)}{dot}{ending}"


def _cell(measure: Measure) -> Json:
    write = partial(wording.in_unit, unit=measure.unit)
    interval = (
        ""
        if measure.low is None or measure.high is None
        else f"{write(measure.low)} to {write(measure.high)}"
    )
    chance = "" if measure.chance is None else f"chance {write(measure.chance)}"
    return {"shown": write(measure.value), "value": measure.value, "interval": interval, "chance": chance}


def _fingerprint(verb: str, arguments: Sequence[str]) -> str:
    """Return what tells a piece of work from others: its command but for where it writes, and its files' state."""
    places = {i + 1 for i, word in enumerate(arguments) if word in ("--out", "--report")}
    words = [word for i, word in enumerate(arguments) if i not in places]
    named = [Path(part) for word in words for part in (word, word.partition("=")[2])]  # PATH, or NAME=PATH
    read = [file for path in named if path.is_absolute() and path.exists() for file in files_below(path)]
    states = [(str(file), os.stat(file).st_mtime_ns, os.stat(file).st_size) for file in read]
    return hashlib.sha256(json.dumps([verb, words, states]).encode()).hexdigest()


def _settings(settings: Mapping[str, str]) -> list[str]:
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def _word(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60] or "card"
