"""Write llms.txt into the built site: every page with its first sentence, for language models that read it (a hook)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_ENTRY = re.compile(r"^(\s*)- ([^:\n]+):(?: (\S+\.md))?$", re.M)


def first_sentence(page: Path) -> str:
    """Return the first sentence of a page, in one line."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    prose = next(
        part for part in paragraphs if part and not part.startswith(("#", "|", "!", "<", "*Written", "- "))
    )
    return re.split(r"(?<=[.?]) (?=[A-Z`*\[])", prose)[0].rstrip(":")


def content() -> str:
    """Return the text of the file, in the order of the documentation's navigation."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2].partition("\nplugins:")[0]
    lines = [
        "# CueCard",
        "",
        "> Finds what gives the answer away in labelled texts, whether a model uses it, and what to do about it.",
        "",
        "Start with `cuecard audit TRAIN --test TEST --json`. A cue in the data does not mean that a model uses it:",
        "`cuecard probe` tests that. Quote findings with their numbers and intervals.",
    ]
    for indent, title, page in _ENTRY.findall(nav):
        if not page:
            lines += ["", f"## {title}", ""]
        else:
            if not indent.strip("\n")[2:] and not lines[-1].startswith("- "):
                lines.append("")
            lines.append(f"- [{title}]({page}): {first_sentence(DOCS / page)}")
    return "\n".join(lines) + "\n"


def on_post_build(config: dict[str, str]) -> None:
    """Write the file, and the pages in Markdown that it links to, beside those of the site: MkDocs calls this."""
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text(content(), encoding="utf-8")
    for page in DOCS.glob("*.md"):
        shutil.copy(page, site)
