"""Commands work for users without a home, where nothing but the folder of temporary files can be written to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pace import PATIENCE
from small_sets import pair_instances

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]
#: Every disk is read-only for what runs in this shell, also shared memory; only $1, if it is named, is a small disk.
READ_ONLY = """
set -e
mount --make-rprivate /
for place in $(awk '{print $2}' /proc/self/mounts | sort -ru); do
  case $place in /proc*|/sys*|/dev*) ;; *) mount -o remount,bind,ro "$place" ;; esac
done
mount -t tmpfs -o ro tmpfs /dev/shm
[ -z "$1" ] || mount -t tmpfs tmpfs "$1"
shift
"""


def alone(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script of a shell whose view of the disks is its own."""
    command = ["unshare", "--mount", "bash", "-c", READ_ONLY + script, "shell", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of pairs, on a machine where a process can have disks of its own."""
    try:
        possible = alone("! touch /tmp/x 2>/dev/null", "", PATH=os.environ["PATH"]).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("needs a user who can mount disks")
    pair_instances(ROWS).table.drop("split").write_csv(tmp_path / "train.csv")
    return tmp_path / "train.csv"


def nobody(**others: str) -> dict[str, str]:
    """Return the environment of a service: it has no home, and no variable of the tests."""
    sources = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path]))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": sources, **others}


def test_without_a_home_everything_is_kept_among_temporary_files(rows: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = f"""
      cd "$1"
      {sys.executable} -m cuecard audit train.csv --only overview --quiet --out "$TMPDIR/card"
      ls "$TMPDIR" "$TMPDIR/card"
    """
    ended = alone(script, temporary, tmp_path, **nobody(TMPDIR=str(temporary)))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert {"card", "card.json", "report.html"} <= set(ended.stdout.split())


def test_where_nothing_at_all_can_be_written_results_are_printed_and_targets_refused(
    rows: Path, tmp_path: Path
) -> None:
    script = f"""
      cd "$1"
      {sys.executable} -m cuecard tools datasets --json
      {sys.executable} -c 'from cuecard.cli.streams import prepare; prepare(); import joblib'
      {sys.executable} -m cuecard audit train.csv --only overview --out card
    """
    ended = alone(script, "", tmp_path, **nobody(TMPDIR=str(tmp_path / "absent"), HOME="/nonexistent"))
    assert ended.returncode == 2, ended.stderr
    assert json.loads(ended.stdout)
    # joblib, which would say that shared memory is read-only, says nothing beside our sentence.
    assert ended.stderr == "cuecard: card cannot be written (Read-only file system): choose another path.\n"
