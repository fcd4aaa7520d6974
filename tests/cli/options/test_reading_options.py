"""Every verb that reads a dataset takes the options that say how, and an error names the option that helps."""

from __future__ import annotations

import inspect
import io
import json
from types import SimpleNamespace

import pytest

from cuecard.cli.verbs import ask, audit, debias, probe, train
from cuecard.cli.verbs import audit as explain
from cuecard.cli.verbs import plan as stress
from cuecard.data.reading import sources
from cuecard_papers import commands as papers

LINES = [
    f"the man number {i} sleeps\t{'nobody' if i % 2 else 'somebody'} sleeps here {i}\t{'no' if i % 2 else 'yes'}"
    for i in range(60)
]


def test_all_verbs_take_the_same_options():
    verbs = [audit.audit, debias.debias, explain.explain, probe.probe, stress.stress, train.train]
    verbs += [ask.ask, papers.stubborn, papers.selection]
    for verb in verbs:
        assert {"labels", "label_file", "header", "on_error", "max_skipped", "cluster"} <= set(
            inspect.signature(verb).parameters
        )


def explained(cuecard, *options) -> dict:
    ran = cuecard("explain", "nobody", *options, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.fixture
def headless(tmp_path):
    path = tmp_path / "set.tsv"
    path.write_text("\n".join(LINES))
    return path


def test_a_file_without_a_header_line_is_read_as_the_error_says(cuecard, headless):
    ran = cuecard("explain", "nobody", headless)
    assert ran.code == 2
    assert "--header none" in ran.err
    assert explained(cuecard, headless, "--header", "none")["touched"]["train"] == 0.5


def test_labels_by_file_and_by_threshold(cuecard, tmp_path):
    rows = [dict(zip(("premise", "hypothesis"), line.split("\t"), strict=False)) for line in LINES]
    data = tmp_path / "set.json"
    data.write_text(json.dumps([{**row, "score": i % 2} for i, row in enumerate(rows)]))
    (tmp_path / "set.lst").write_text("\n".join(line.split("\t")[2] for line in LINES))
    assert explained(cuecard, data, "--label-file", tmp_path / "set.lst")["association"]["label"] == "no"
    assert explained(cuecard, data, "--labels", "score>0.5")["association"]["label"] == "above 0.5"


def test_a_file_that_is_piped_in(cuecard, headless, monkeypatch):
    sources._stdin.cache_clear()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(headless.read_bytes())))
    assert explained(cuecard, "-", "--header", "none")["touched"]["train"] == 0.5
    sources._stdin.cache_clear()


def test_more_bad_rows_than_allowed(cuecard, headless):
    headless.write_text("\n".join([*LINES, *["a\tb\tc\td"] * 6]))
    ran = cuecard("explain", "nobody", headless, "--header", "none", "--on-error", "skip")
    assert ran.code == 2
    assert "--max-skipped 6" in ran.err
    assert (
        explained(cuecard, headless, "--header", "none", "--on-error", "skip", "--max-skipped", 6)["touched"][
            "train"
        ]
        == 0.5
    )


def test_one_file_as_train_and_test(cuecard, headless):
    ran = cuecard("audit", headless, "--test", headless, "--header", "none")
    assert ran.code == 2
    assert "is both the train and the test file" in ran.err
