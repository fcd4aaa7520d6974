"""Jobs: commands that run beside the server, a process each, with progress, cancel and a reason when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuecard._lazy import PYTHON
from cuecard.errors import in_form
from cuecard.web.forms import reading_of_card
from cuecard.web.library import Library
from cuecard.web.requests.bodies import Json
from cuecard.web.requests.guard import LOG, without_message
from cuecard.web.requests.places import inside, own_file
from cuecard.web.requests.uploads import remove_unfinished
from cuecard.web.state import ENDED, AppSettings, Job, State

#: Kinds of jobs that write a card.
WITH_CARD = frozenset({"audit", "probe", "debias", "demo"})
#: Kinds of jobs that write a file to download, and what they print is the answer.
WITH_FILE = frozenset({"plan", "ask"})
#: A job that the end of the server interrupted is started again at most this often.
MOST_ATTEMPTS = 3
#: Characters of a message that are kept.
MOST_REASON = 600
MOST_SAID = 8_000
#: How far the priority of jobs is below that of the server, whose pages people wait for.
NICENESS = 15
_POLL = 0.3
_GRACE = 5.0


class Jobs:
    """Runs what is in the queue, `workers` at a time."""

    def __init__(self, settings: AppSettings, state: State, library: Library) -> None:
        self.settings, self.state, self.library = settings, state, library
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take up what an earlier server left, and begin to run the queue."""
        self.settings.jobs.mkdir(parents=True, exist_ok=True)
        remove_unfinished(self.settings, self.state)
        for folder in self.settings.prepared.glob(".preparing-*"):
            shutil.rmtree(folder, ignore_errors=True)
        for job in self.state.jobs("running", limit=1_000):
            _end_leftover(job)
            if job.attempts < MOST_ATTEMPTS:
                self.state.requeue(job.id)
            else:
                self.state.end_job(job.id, "failed", "The server stopped several times while this ran.")
        self._loop = asyncio.create_task(self._run_queue())

    async def stop(self) -> None:
        """End all processes; what was running is queued again at the next start."""
        if self._loop is not None:
            self._loop.cancel()
        for task in list(self._running.values()):
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def cancel(self, job_id: str) -> None:
        """End a job that waits or runs."""
        if self.state.end_job(job_id, "cancelled", "Cancelled.") and job_id in self._running:
            self._running[job_id].cancel()

    def progress(self, job: Job) -> list[dict[str, Any]]:
        """Return the steps that a job has begun: title and time of each."""
        try:
            lines = self._progress_file(job.id).read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        steps = []
        for line in lines[-200:]:
            with contextlib.suppress(ValueError):
                steps.append(json.loads(line))
        return [step for step in steps if isinstance(step, dict)]

    def seen(self, job: Job) -> Json:
        """Return a job as the API shows it."""
        steps = self.progress(job)
        return {
            "id": job.id,
            "kind": job.kind,
            "title": job.title,
            "command": job.command,
            "status": job.status,
            "reason": job.reason,
            "created": job.created,
            "started": job.started,
            "ended": job.ended,
            "steps": [str(step.get("stage", ""))[:200] for step in steps],
            "said": self._said(job) if job.kind == "ask" and job.status in ENDED else "",
            "plan": self._plan(job) if job.kind == "plan" and job.status == "done" else None,
            "source": self._source(job),
            "file": Path(job.out).name
            if job.status == "done" and job.kind in WITH_FILE and own_file(self.settings.root, Path(job.out))
            else None,
            "card": self.library.id_of(Path(job.out))
            if job.status == "done" and job.kind in WITH_CARD
            else None,
        }

    async def events(self, job_id: str) -> AsyncIterator[str]:
        """Give what changes about a job, as server-sent events, until it has ended."""
        last = ""
        for _ in range(int(self.settings.limits.job_seconds / _POLL)):
            job = await asyncio.to_thread(self.state.job, job_id)
            now = json.dumps(self.seen(job))
            if now != last:
                yield f"data: {now}\n\n"
                last = now
            if job.status in ENDED:
                return
            await asyncio.sleep(_POLL)

    async def _run_queue(self) -> None:
        unsaid: dict[str, str] = {}  # how jobs ended that the database would not take
        while True:
            try:
                for job_id in [one for one in unsaid if one not in self._running]:
                    await asyncio.to_thread(self.state.end_job, job_id, "failed", unsaid[job_id])
                    del unsaid[job_id]
                while len(self._running) < self.settings.workers:
                    job = await asyncio.to_thread(self.state.next_job)
                    if job is None:
                        break
                    task = asyncio.create_task(self._run(job))
                    self._running[job.id] = task
                    task.add_done_callback(partial(self._forget, job.id, unsaid))
            except (sqlite3.Error, OSError) as error:  # a full disk, perhaps for a while
                LOG.error("%s", without_message(error))
            await asyncio.sleep(_POLL)

    def _forget(self, job_id: str, unsaid: dict[str, str], task: asyncio.Task[None]) -> None:
        self._running.pop(job_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("%s", without_message(error))
            unsaid[job_id] = "The job stopped because of an error of the app: the server's log says where."

    async def _run(self, job: Job) -> None:
        self._progress_file(job.id).unlink(missing_ok=True)
        commands = [[*PYTHON, "-m", "cuecard", job.kind, *job.arguments]]
        if job.kind == "prepare":
            commands = [[*PYTHON, "-m", "cuecard.web.preparing", *job.arguments]]
        elif job.kind in WITH_CARD:
            commands.append([*PYTHON, "-m", "cuecard.web.preparing", job.out, str(self.settings.root)])
        try:
            for command in commands:
                code, message = await asyncio.wait_for(
                    self._process(job, command), timeout=self.settings.limits.job_seconds
                )
                if code not in (0, 1):  # 1: the card is there, one of its analyses failed
                    self.state.end_job(job.id, "failed", self.without_root(_reason(code, message)))
                    return
            self.state.end_job(job.id, "done")
            self.library.refresh()
        except TimeoutError:
            hours = self.settings.limits.job_seconds / 3600
            self.state.end_job(job.id, "failed", f"The job took longer than the limit of {hours:g} hours.")
        except OSError as error:
            self.state.end_job(job.id, "failed", f"The job cannot be started ({error.strerror}).")

    async def _process(self, job: Job, command: Sequence[str]) -> tuple[int, str]:
        """Run one process to its end; cancelled, it and its children are ended too."""
        log = self.settings.jobs / f"{job.id}.log"
        environment = {**os.environ, "CUECARD_PROGRESS": str(self._progress_file(job.id)), "NO_COLOR": "1"}
        with log.open("wb") as errors, self._output_file(job.id).open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=self.settings.root,
                env=environment,
                start_new_session=True,
            )
            _give_way(process.pid)
            try:
                await asyncio.to_thread(self.state.set_pid, job.id, process.pid)
                code = await process.wait()
            except asyncio.CancelledError:
                await _end(process)
                raise
        message = log.read_text(encoding="utf-8", errors="replace")[-20_000:]
        log.unlink(missing_ok=True)
        return code, message

    def _source(self, job: Job) -> str | None:
        """Return the card whose dataset a job read, the oldest of them."""
        if job.kind != "ask" or job.status != "done":
            return None
        ended = {}
        for entry in self.library.entries():
            reading = reading_of_card(entry.command, entry.folder)
            if reading is not None and inside(self.settings.root, reading.train) == Path(job.arguments[0]):
                ended[entry.created] = entry.id
        return ended[min(ended)] if ended else None

    def _said(self, job: Job) -> str:
        """Return what a job printed, paths as the user knows them."""
        try:
            text = self._output_file(job.id).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return self.without_root(text)[-MOST_SAID:]

    def without_root(self, text: str) -> str:
        """Return a message with paths as the user knows them, and uploads by the names that they had."""
        uploads = f"{self.settings.uploads.relative_to(self.settings.root)}/"
        text = text.replace(f"{self.settings.root.resolve()}/", "")
        if uploads in text:
            for file, name in self.state.upload_names().items():
                text = text.replace(file, name)
        return text

    def _plan(self, job: Job) -> Json | None:
        """Return what a plan reaches, why it changes which examples, and the first of them."""
        try:
            plan: Json = json.loads(self._output_file(job.id).read_text(encoding="utf-8"))
            if Path(job.out).suffix == ".csv" and own_file(self.settings.root, Path(job.out)):
                with Path(job.out).open(encoding="utf-8", newline="") as file:
                    rows = list(csv.DictReader(file))
                reasons = Counter(part.strip() for row in rows for part in (row["why"] or "").split(";"))
                plan["why"] = [{"why": why, "examples": n} for why, n in reasons.most_common(20)]
                plan["rows"] = [
                    {name: row[name] for name in ("premise", "text", "label", "why")} for row in rows[:5]
                ]
        except (OSError, ValueError, KeyError, csv.Error):
            return None
        return plan

    def _output_file(self, job_id: str) -> Path:
        return self.settings.jobs / f"{job_id}.out"

    def _progress_file(self, job_id: str) -> Path:
        return self.settings.jobs / f"{job_id}.progress"


def _give_way(pid: int) -> None:
    """Let a process that has just begun, and what it starts, wait for the server whenever both need a processor."""
    with contextlib.suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and its children, first asking."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), timeout=_GRACE)
            return


def _end_leftover(job: Job) -> None:
    """End the process of a job whose server was killed; a number that now belongs to another process is left alone."""
    if job.pid is None:
        return
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{job.pid}/cmdline").read_bytes().split(b"\0")
        if job.out.encode() in words:
            os.killpg(job.pid, signal.SIGKILL)


def _reason(code: int, message: str) -> str:
    """Return why a process failed, in a sentence: what it printed last, or how it ended."""
    if code < 0:
        names = {signal.SIGKILL: "was killed; it may have needed more memory than there is"}
        return f"The job {names.get(signal.Signals(-code), f'was ended by {signal.Signals(-code).name}')}."
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return f"The job ended with exit code {code}."
    text = " ".join(lines) if code == 2 else lines[-1]
    return in_form(text.removeprefix("cuecard: "))[:MOST_REASON]
