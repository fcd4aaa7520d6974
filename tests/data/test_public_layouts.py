"""The first rows of public datasets are read as they are distributed, or with the option that the error names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cuecard.data import load, parse_columns
from cuecard.errors import InputError

PAIR = {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}
SENTENCES = {"premise": "sentence1", "hypothesis": "sentence2"}

AT_FIRST_TRY = [
    (
        "alpaca_eval/claude.json",
        "preference",
        6,
        {"responses": "output_1 + output_2", "winner": "preference"},
    ),
    ("boolq/original.jsonl", "pair", 5, {"premise": "passage", "hypothesis": "question", "label": "answer"}),
    ("boolq/val.jsonl", "pair", 12, {"premise": "passage", "hypothesis": "question", "label": "label"}),
    ("breaking_nli/dataset.jsonl", "pair", 12, {**SENTENCES, "label": "gold_label", "id": "pairID"}),
    (
        "defeasible/dev.jsonl",
        "pair",
        12,
        {"premise": "Premise + Hypothesis", "hypothesis": "Update", "label": "UpdateType"},
    ),
    ("dream/dev.json", "choice", 5, {"question": "question", "choices": "choice", "answer": "answer"}),
    (
        "ecare/dev.jsonl",
        "choice",
        12,
        {"context": "premise", "choices": "hypothesis1 + hypothesis2", "answer": "label"},
    ),
    ("farstail/val.csv", "pair", 11, PAIR),
    ("hellaswag/val.jsonl", "choice", 12, {"context": "ctx", "choices": "endings", "answer": "label"}),
    ("imdb/test", "text", 12, {"text": "text", "label": "label"}),
    ("indonli/val.jsonl", "pair", 12, {**PAIR, "id": "pair_id"}),
    ("klue/dev.json", "pair", 8, {**PAIR, "label": "gold_label", "id": "guid"}),
    ("logiqa/Eval.txt", "choice", 4, {"context": "context", "choices": "options", "answer": "answer"}),
    (
        "pandalm/testset.json",
        "preference",
        8,
        {"prompt": "instruction + input", "responses": "response1 + response2", "winner": "annotator1"},
    ),
    ("paws/train.tsv", "pair", 11, {**SENTENCES, "label": "label", "id": "id"}),
    ("qnli/dev.tsv", "pair", 11, {"premise": "question", "hypothesis": "sentence", "label": "label"}),
    ("rte/dev.tsv", "pair", 11, {**SENTENCES, "label": "label"}),
    ("scitail/test.jsonl", "pair", 12, PAIR),
    ("social_iqa/dev.jsonl", "choice", 12, {"context": "context", "choices": "options", "answer": "answer"}),
    (
        "storycloze/val.csv",
        "choice",
        11,
        {"choices": "RandomFifthSentenceQuiz1 + RandomFifthSentenceQuiz2", "answer": "AnswerRightEnding"},
    ),
    ("winogrande/dev.jsonl", "choice", 12, {"question": "sentence", "choices": "option1 + option2"}),
    ("winogrande/other.csv", "choice", 11, {"question": "Question", "choices": "Answer + Wrong_Answer"}),
]


@pytest.mark.parametrize(("path", "task", "n", "roles"), AT_FIRST_TRY, ids=[row[0] for row in AT_FIRST_TRY])
def test_read_at_the_first_try(layouts, path, task, n, roles):
    data = load(layouts(path))
    assert (data.task, data.n_examples) == (task, n)
    assert roles.items() <= data.report.recognised.items()
    assert data.report.dropped == {}


WITH_ONE_OPTION = [
    ("pawsx/dev-en.tsv", "--header none", "pair", 12),
    ("scitail/train.tsv", "--header none", "pair", 12),
    ("piqa/valid.jsonl", "--label-file", "choice", 12),
    ("social_iqa/hub.jsonl", "--columns answer=label:1", "choice", 5),
]


@pytest.mark.parametrize(
    ("path", "option", "task", "n"), WITH_ONE_OPTION, ids=[row[0] for row in WITH_ONE_OPTION]
)
def test_read_with_the_one_option_that_the_error_names(layouts, path, option, task, n):
    file = layouts(path)
    with pytest.raises(InputError) as caught:
        load(file)
    message = str(caught.value)
    assert option in message
    typed = shlex.split(re.search(rf"{option}( ?\S*)", message)[0])
    value = typed[1].rstrip(".,")
    options = {
        "--header": lambda: {"header": value},
        "--label-file": lambda: {"label_file": value},
        "--columns": lambda: {"columns": parse_columns(value)},
    }[typed[0]]()
    data = load(file, **options)
    assert (data.task, data.n_examples) == (task, n)


def test_the_table_of_the_docs_says_how_each_of_them_is_read():
    page = Path(__file__).parents[2] / "docs" / "files.md"
    section = page.read_text(encoding="utf-8").partition("## Public datasets")[2].partition("\n## ")[0]
    documented = {
        path: cells[2].strip()
        for cells in (line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| "))
        for path in re.findall(r"`([^`]+/[^`]+)`", cells[0])
    }
    expected = {path: task for path, task, *_ in AT_FIRST_TRY} | {row[0]: row[2] for row in WITH_ONE_OPTION}
    assert documented.keys() == expected.keys()
    assert all(documented[path].startswith(task) for path, task in expected.items())
    for path, option, *_ in WITH_ONE_OPTION:
        assert option in documented[path]
    assert all("with `--" not in documented[path] for path, *_ in AT_FIRST_TRY)


def chosen(data) -> list[str]:
    return data.table.filter(data.table["label"].cast(str).is_in(["chosen", "right"]))["hypothesis"].to_list()


def test_the_answers_are_the_right_ones(layouts):
    assert chosen(load(layouts("dream/dev.json")))[:2] == ["To change her job.", "Watch TV."]
    assert chosen(load(layouts("winogrande/dev.jsonl")))[:2] == ["Maria", "Sarah"]
    assert chosen(load(layouts("winogrande/other.csv")))[:2] == ["tank", "car"]
    hub = load(layouts("social_iqa/hub.jsonl"), columns={"answer": "label:1"})
    assert chosen(hub) == chosen(load(layouts("social_iqa/dev.jsonl")))[:5]
    piqa = load(layouts("piqa/valid.jsonl"), label_file=layouts("piqa/valid-labels.lst"))
    assert chosen(piqa)[1].startswith("finish, woodgrain")
    assert chosen(load(layouts("storycloze/val.csv")))[0] == "He is happy now."
    assert (
        chosen(load(layouts("pandalm/testset.json")))[0] == "If you have any questions, please let me know."
    )
    assert chosen(load(layouts("alpaca_eval/claude.json")))[0].startswith("Here are some famous actors")
    assert chosen(load(layouts("logiqa/Eval.txt")))[0].startswith("The blood pressure of the descendants")
    boolq = load(layouts("boolq/original.jsonl")).table
    assert boolq["label"][0] == "false"
    reviews = load(layouts("imdb/test")).table
    assert reviews.filter(reviews["example_id"] == "pos/0_10")["label"].to_list() == ["pos"]
