"""Tools for agents: what `cuecard mcp` offers over the Model Context Protocol, below one folder (extra `mcp`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from anyio import from_thread, to_thread
from anyio.lowlevel import current_token
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from cuecard._version import __version__
from cuecard.card import Card, load_card, staged_card
from cuecard.card import compare as compare_cards
from cuecard.data import Instances, load
from cuecard.data.instances import Task
from cuecard.errors import CueCardError
from cuecard.limits import check_folder
from cuecard.report import explanation_json, render_html
from cuecard.run import audit as run_audit
from cuecard.run import check as run_check
from cuecard.web.requests.places import inside

T = TypeVar("T")
Json = dict[str, object]
INSTRUCTIONS = (
    "CueCard finds what gives the answer away in labelled text datasets. Call audit on a file first; it returns the "
    "card: findings with numbers and intervals, measures, and the status of every section. A cue in the data does not "
    "mean that a model uses it. Then explain a cue, check the data against a policy, or compare two cards. All paths "
    "lie below the folder that the server was started with."
)


def create_server(root: Path | str) -> MCPServer[object]:
    """Return a server whose tools read and write below a folder alone."""
    server: MCPServer[object] = MCPServer("cuecard", version=__version__, instructions=INSTRUCTIONS)
    below = Path(root).resolve()

    @server.tool()
    async def audit(
        train: str,
        ctx: Context,
        test: str | None = None,
        task: Task | None = None,
        columns: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        only: list[str] | None = None,
        out: str | None = None,
        seed: int = 0,
    ) -> Json:
        """Audit a labelled dataset: what predicts the label without the text as a whole? Returns the card as JSON.

        Args:
            train: file or folder below the root: .parquet, .csv, .tsv, .jsonl, .json.
            test: file of the test split.
            task: pair, choice, preference or text; recognised by default.
            columns: roles to column names, such as {"premise": "a", "label": "gold"}, where they are not recognised.
            labels: values of the label column to names, such as {"0": "entailment"}.
            only: names of the audits to run, such as ["cues", "partial_input"]; all by default.
            out: folder below the root to write the card, its tables and report.html to.
            seed: seed of whatever is drawn at random.
        """

        def work(progress: Callable[[str], AbstractContextManager[None]]) -> Json:
            target = _inside(below, out) if out is not None else None
            data = _loaded(below, train, test, task=task, columns=columns, labels=labels)
            card = run_audit(
                data, only=only, progress=progress, command=_command("audit", train, test), seed=seed
            )
            if target is not None:
                check_folder(target)
                with staged_card(card, target, render_html(card, target)):
                    pass
            return _card_json(card)

        return await _in_thread(ctx, work)

    @server.tool()
    async def explain(
        cue: str,
        train: str,
        ctx: Context,
        test: str | None = None,
        columns: dict[str, str] | None = None,
        examples: int = 3,
    ) -> Json:
        """Show one cue in depth: counts, interval, examples, words it occurs with.

        Args:
            cue: a word, several words, or FAMILY:FEATURE such as length:longest.
            train: file or folder below the root.
            test: file of the test split.
            columns: roles to column names, where they are not recognised.
            examples: number of examples per label.
        """
        from cuecard.audits.cues.explain import explain as explain_cue

        def work(progress: Callable[[str], AbstractContextManager[None]]) -> Json:
            with progress("Looking"):
                explanation = explain_cue(
                    _loaded(below, train, test, columns=columns), cue, examples=examples
                )
            return _object(explanation_json(explanation))

        return await _in_thread(ctx, work)

    @server.tool()
    async def check(data: str, policy: str, ctx: Context, test: str | None = None) -> Json:
        """Check a dataset, or the folder of a card, against a policy: every rule passes, fails or is undecided.

        Args:
            data: file of the training set, or the folder of a card.
            policy: TOML file with the rules.
            test: file of the test split, where data is a file.
        """

        def work(progress: Callable[[str], AbstractContextManager[None]]) -> Json:
            checked = run_check(
                str(_inside(below, data)),
                _inside(below, policy),
                test=str(_inside(below, test)) if test is not None else None,
                progress=progress,
                command=_command("check", data, test),
            )
            return {**checked.as_dict(), "passes": checked.passes()}

        return await _in_thread(ctx, work)

    @server.tool()
    async def compare(cards: list[str], ctx: Context) -> list[Json]:
        """Compare cards, oldest first: measures and cues that moved beyond noise.

        Args:
            cards: folders of at least two cards.
        """

        def work(_: Callable[[str], AbstractContextManager[None]]) -> list[Json]:
            loaded = [load_card(_inside(below, card)) for card in cards]
            return [comparison.as_dict() for comparison in compare_cards(loaded, cards)]

        return await _in_thread(ctx, work)

    @server.tool()
    async def read_card(
        card: str, ctx: Context, part: Literal["findings", "measures", "sections", "all"] = "findings"
    ) -> Json:
        """Read a saved card, or a part of it.

        Args:
            card: folder of the card.
            part: findings, measures, sections, or all of it.
        """

        def work(_: Callable[[str], AbstractContextManager[None]]) -> Json:
            document = _card_json(load_card(_inside(below, card)))
            return document if part == "all" else {part: document[part], "dataset": document["dataset"]}

        return await _in_thread(ctx, work)

    return server


async def _in_thread(ctx: Context, work: Callable[[Callable[[str], AbstractContextManager[None]]], T]) -> T:
    """Run what takes long beside the server, and report each step that begins."""
    steps = 0
    token = current_token()  # sections run in threads of their own

    @contextmanager
    def progress(title: str) -> Iterator[None]:
        nonlocal steps
        steps += 1
        from_thread.run(ctx.report_progress, float(steps), None, title, token=token)
        yield

    try:
        return await to_thread.run_sync(work, progress)
    except CueCardError as error:
        raise ToolError(str(error)) from None


def _inside(root: Path, path: str) -> Path:
    found = inside(root, path)
    if found is None:
        raise CueCardError(f"{path!r} is outside {root}: name a file or folder below it.")
    return found


def _loaded(
    root: Path,
    train: str,
    test: str | None,
    *,
    task: Task | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Instances:
    return load(
        _inside(root, train),
        test=_inside(root, test) if test is not None else None,
        task=task,
        columns=dict(columns) if columns else None,
        labels=labels,
    )


def _command(verb: str, train: str, test: str | None) -> str:
    from shlex import join

    words: Sequence[str] = ["cuecard", verb, train, *(["--test", test] if test is not None else [])]
    return join(words)


def _card_json(card: Card) -> Json:
    return _object(card.model_dump_json())


def _object(text: str) -> Json:
    document = json.loads(text)
    assert isinstance(document, dict)
    return document
