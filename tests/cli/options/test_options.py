"""Options mean the same in every verb, are declared once, and say their defaults as the analyses have them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.main import get_command

import cuecard as cc
from cuecard.cli.main import app
from cuecard.cli.options.shared import explicit_options, grouped
from cuecard_papers import SelectionExperiment, StubbornExperiment


def verbs(command=None, prefix=()):
    command = command or get_command(app)
    for name, verb in command.commands.items():
        if hasattr(verb, "commands"):
            yield from verbs(verb, (*prefix, name))
        else:
            yield " ".join((*prefix, name)), verb


VERBS = dict(verbs())


def options(verb):
    return {n: parameter for parameter in VERBS[verb].params for n in parameter.opts if n.startswith("-")}


def test_a_group_stands_for_its_fields_and_arrives_as_an_object():
    @dataclass(frozen=True)
    class Size:
        width: Annotated[int, typer.Option("--width")]
        height: Annotated[int, typer.Option("--height")] = 2

    calls = []
    group = typer.Typer()
    group.command()(grouped(draw_with(calls, Size)))
    get_command(group).main(["--width", "3", "--name", "x"], standalone_mode=False)
    assert calls == [(Size(3, 2), "x")]


def draw_with(calls, size_type):
    def draw(size, name="y"):
        """Draw."""
        calls.append((size, name))

    draw.__annotations__ = {"size": size_type, "name": str, "return": None}
    return draw


def test_only_what_was_typed_is_passed_on():
    assert explicit_options(a=None, b=0, c=False, d=()) == {"b": 0, "c": False, "d": ()}


#: Verb → what its options are parameters of.
ANALYSES = {
    "audit": (cc.Cues, cc.Clusters, cc.PartialInput),
    "probe": (cc.Cues, cc.PermutationTest),
    "explain": (cc.Cues,),
    "debias": (cc.LexicalWeights,),
    "correct": (cc.Correction,),
    "papers stubborn": (StubbornExperiment,),
    "papers selection": (SelectionExperiment,),
}
#: Parameters that are called otherwise on the command line.
CALLED = {"schemes": "weights"}


@pytest.mark.parametrize("verb", ANALYSES)
def test_defaults_in_the_help_are_those_of_the_analyses(verb):
    checked = 0
    for parameter in VERBS[verb].params:
        shown = parameter.show_default
        name = CALLED.get(parameter.name, parameter.name)
        declared = [field.default for kind in ANALYSES[verb] for field in fields(kind) if field.name == name]
        if not declared or parameter.name == "seed":
            continue
        assert parameter.default is None or parameter.is_flag or parameter.default == declared[0]
        default = declared[0]
        if default is not None and isinstance(shown, str) and not re.search("[; -]", shown):
            assert shown == (",".join(default) if isinstance(default, tuple) else str(default)), name
            checked += 1
    assert checked or verb in ("explain", "debias", "papers selection")


#: Options whose help differs between verbs because it names what each verb does with them: their one meaning.
MEANINGS = {
    "--cues": "cues that the work of the verb is about",
    "--columns": "which column has which role",
    "--debias": "how models are kept from using cues",
    "--dev": "the validation split",
    "--endpoint": "the model that is asked, or the addresses that jobs may ask",
    "--expert": "what the bias expert reads",
    "--features": "feature families to work on",
    "--format": "the format that the result is written in",
    "--key-variable": "the environment variables that may hold a key",
    "--labels": "names for label values",
    "--method": "the procedure that does the work of the verb",
    "--min-count": "fewest training instances of a feature",
    "--model": "the model to train or to ask",
    "--open": "show the result in a browser",
    "--out": "where the result of the verb is written",
    "--page": "the page that shows the result",
    "--per-label": "number of words of highest z per label",
    "--policy": "the file of the policy",
    "--predictions": "a model's predictions",
    "--root": "the folder that nothing leaves",
    "--sample": "number of random examples to work on",
    "--sort": "what a table is sorted by",
    "--strength": "strength of the method",
    "--task": "the task of the dataset",
}
#: Of these, options whose value differs in kind: a folder or a file comes out, a model has a name or a folder.
DIFFERING_VALUES = {"--out", "--model", "--debias"}


def test_an_option_has_one_meaning_in_all_verbs():
    helps, values = defaultdict(set), defaultdict(set)
    for verb in VERBS:
        for name, parameter in options(verb).items():
            if name.startswith("--"):
                helps[name].add(parameter.help)
                values[name].add(parameter.metavar)
    assert {name for name, texts in helps.items() if len(texts) > 1} == set(MEANINGS)
    assert {name for name, kinds in values.items() if len(kinds) > 1} == DIFFERING_VALUES
    assert helps["--weights"] == {"Column with the weight of each example, such as `cuecard debias` writes."}


def test_a_file_of_weights_where_a_column_is_expected_says_what_to_type(cuecard, tmp_path):
    ran = cuecard("train", "train.csv", "--weights", "weighted.parquet", "--out", tmp_path / "run")
    assert ran.code == 2
    assert "--weights-from weighted.parquet" in ran.err


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_readable_on_80_columns(cuecard, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = cuecard(*verb.split(), "--help-all")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    for name in options(verb):
        assert any(f" {name}" in line for line in lines), name
    # An explanation has at least half of the width.
    for line in lines:
        if line.startswith("│ --"):
            assert len(line[2:].split("  ")[0]) <= 40, line
    assert ran.out.index("─ Options ─") < ran.out.index("─ Output ─") if "─ Output ─" in ran.out else True


@pytest.mark.parametrize("verb", ["", "papers", "compare", "board"])
def test_help_names_no_types_of_python(cuecard, verb):
    shown = cuecard(*verb.split(), "--help").out
    assert "--help" in shown
    assert not re.search(r"<(bool|str|path|list)\b", shown)


def test_everyday_options_come_first(cuecard):
    shown = cuecard("audit", "--help-all").out
    panels = [line.split("─ ")[1].split(" ─")[0] for line in shown.splitlines() if line.startswith("╭─")]
    assert panels == [
        "Arguments", "Options", "Weights", "Features", "Clusters", "Trained models", "Reading data", "Output"
    ]  # fmt: skip


@pytest.mark.parametrize("verb", ["audit", "debias", "train", "ask"])
def test_the_help_lists_everyday_options_and_names_what_lists_the_rest(cuecard, verb):
    shown, every = cuecard(verb, "--help").out, cuecard(verb, "--help-all").out
    rows, all_rows = (re.findall(r"^│ (?:-\w, )?(--[\w-]+)", text, re.MULTILINE) for text in (shown, every))
    assert len(rows) <= 20 < len(all_rows)
    left_out = int(re.search(r"--help-all +Show (\d+) more options", shown)[1])
    assert len(all_rows) == len(rows) - 1 + left_out
    assert {*rows} - {"--help-all"} < {*all_rows}
    panels = [line.split("─ ")[1].split(" ─")[0] for line in shown.splitlines() if line.startswith("╭─")]
    assert panels == ["Arguments", "Options"]


def test_wrong_options_are_told_before_any_data_is_read(cuecard):
    for arguments, said in (
        (("audit", "nowhere.csv", "--only", "ceus"), "Did you mean 'cues'"),
        (("audit", "nowhere.csv", "--set", "cues.prior=flat"), "--set cues.prior"),
        (("probe", "nowhere.csv"), "nothing to probe"),
        (("probe", "nowhere.csv", "--only", "reliance"), "reliance needs the predictions of a model"),
        (("probe", "nowhere.csv", "--model", "lineer"), "Did you mean 'linear'"),
        (("debias", "nowhere.csv", "--features", "wrod", "--out", "w.csv"), "Did you mean 'word'"),
        (("ask", "nowhere.csv", "--endpoint", "http://h/v1", "--model", "m", "--prompt", "shrt", "--out", "a.csv"),
         "Did you mean 'short'"),
    ):  # fmt: skip
        ran = cuecard(*arguments)
        assert ran.code == 2
        assert said in ran.err
