"""Collect the files of changes/ into a dated section of CHANGELOG.md.

python scripts/collect_changes.py            # print the section
python scripts/collect_changes.py --write    # put it into CHANGELOG.md, and remove the files
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGES = ROOT / "changes"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = ROOT / "src" / "cuecard" / "_version.py"
KINDS = {"added": "What is new", "changed": "What changed", "fixed": "What is fixed"}
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")
LONGEST = 240


def fragments() -> list[Path]:
    """Return the files of the changes since the last version."""
    return sorted(path for path in CHANGES.iterdir() if path.name != "README.md")


def mistakes(path: Path) -> list[str]:
    """Return what is wrong with a file, in words."""
    wrong = []
    if not NAME.fullmatch(path.name):
        wrong.append(f"{path.name} is not named NAME.KIND.md with KIND one of {', '.join(KINDS)}")
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) != 1 or not 20 <= len(lines[0]) <= LONGEST or not lines[0].endswith((".", ")")):
        wrong.append(f"{path.name} does not hold one sentence on one line of 20 to {LONGEST} characters")
    return wrong


def section(version: str, day: str) -> str:
    """Return the changes as a section of the changelog."""
    lines = [f"## {version} ({day})", ""]
    for kind, title in KINDS.items():
        said = [
            path.read_text(encoding="utf-8").strip()
            for path in fragments()
            if path.name.endswith(f".{kind}.md")
        ]
        if said:
            lines += [f"### {title}", "", *(f"- {line}" for line in said), ""]
    return "\n".join(lines)


def main() -> None:
    """Print the section, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="put the section into CHANGELOG.md")
    options = parser.parse_args()
    version = re.search(r'__version__ = "(.+)"', VERSION.read_text(encoding="utf-8")).group(1)  # type: ignore[union-attr]
    text = section(version, datetime.date.today().isoformat())
    if not options.write:
        print(text)
        return
    if wrong := [mistake for path in fragments() for mistake in mistakes(path)]:
        raise SystemExit("\n".join(wrong))
    before = CHANGELOG.read_text(encoding="utf-8")
    if re.search(rf"^## {re.escape(version)} \(", before, re.M):
        raise SystemExit(
            f"CHANGELOG.md has a section for {version}: set the next version in {VERSION} first."
        )
    CHANGELOG.write_text(before.replace("\n## ", f"\n{text}\n## ", 1), encoding="utf-8")
    for path in fragments():
        path.unlink()


if __name__ == "__main__":
    main()
