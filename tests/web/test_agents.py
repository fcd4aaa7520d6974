"""Agents audit, explain, check, compare and read cards below one folder, with the official client."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp import Client, StdioServerParameters, stdio_client

from cuecard.web.agents import create_server

POLICY = '[rules]\n"partial_input.hypothesis_only.accuracy" = "<= 0.5"\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents") / "root"
    folder.mkdir()
    rows = []
    for i in range(240):
        who, label = ("nobody", "contradiction") if i % 2 else ("somebody", "entailment")
        rows.append(
            {
                "premise": f"Scene {i} with people",
                "hypothesis": f"{who} sees item {i * 7 % 91}",
                "label": label,
            }
        )
    pl.DataFrame(rows).write_csv(folder / "train.csv")
    (folder / "cuecard.toml").write_text(POLICY)
    (folder.parent / "secret.csv").write_text("premise,hypothesis,label\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    return folder


def call(root: Path, tool: str, **arguments: Any) -> Any:
    async def once() -> Any:
        async with Client(create_server(root)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(once())


@pytest.fixture(scope="module")
def audited(root: Path) -> Any:
    return call(root, "audit", train="train.csv", only=["cues", "partial_input"], out="card")


def test_every_tool_has_a_typed_schema_and_says_what_it_returns(root):
    tools = asyncio.run(create_server(root).list_tools())
    assert {tool.name for tool in tools} == {"audit", "explain", "check", "compare", "read_card"}
    for tool in tools:
        assert tool.description
        assert all("title" in schema for schema in tool.input_schema["properties"].values())


def test_an_audit_returns_the_card_that_it_writes(root, audited):
    assert not audited.is_error
    card = audited.structured_content
    assert card["sections"]["cues"]["status"] == "done"
    assert any("nobody" in finding["title"] for finding in card["findings"])
    written = call(root, "read_card", card="card", part="all").structured_content
    assert written["findings"] == card["findings"]
    assert (root / "card" / "report.html").is_file()


def test_cards_are_read_checked_compared_and_cues_explained(root, audited):
    assert call(root, "read_card", card="card").structured_content["findings"]
    checked = call(root, "check", data="card", policy="cuecard.toml").structured_content
    assert checked["passes"] is False
    compared = call(root, "compare", cards=["card", "card"]).structured_content
    assert len(compared["result"]) == 1
    explained = call(root, "explain", cue="nobody", train="train.csv").structured_content
    assert explained["feature"] == "nobody"


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/passwd", "link.csv", "hf:glue:train", "a\0b"])
def test_nothing_outside_the_folder_is_read(root, path):
    answer = call(root, "audit", train=path)
    assert answer.is_error
    assert "label" not in answer.content[0].text


def test_nothing_outside_the_folder_is_written(root):
    answer = call(root, "audit", train="train.csv", only=["overview"], out="../elsewhere")
    assert answer.is_error
    assert "is outside" in answer.content[0].text
    assert not (root.parent / "elsewhere").exists()


def test_bad_input_is_one_sentence(root):
    answer = call(root, "audit", train="train.csv", only=["clues"])
    assert answer.is_error
    assert "cues" in answer.content[0].text
    assert "Traceback" not in answer.content[0].text


def test_the_command_speaks_the_protocol_and_reports_progress(root):
    steps: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async def talk() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "cuecard", "mcp", "--root", str(root)], env=dict(os.environ)
        )
        async with Client(stdio_client(server)) as client:
            arguments = {"train": "train.csv", "only": ["overview", "cues"]}
            return await client.call_tool("audit", arguments, progress_callback=note)

    answer = asyncio.run(talk())
    assert not answer.is_error
    assert steps == ["Step 1 of 2: Overview", "Step 2 of 2: Cues"]
