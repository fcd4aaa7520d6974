"""Every preset reads a tiny table of the shape it documents."""

from __future__ import annotations

from typing import Any

import pytest

from cuecard.data import get_preset, list_presets, load
from cuecard.data.presets import split_preset
from cuecard.data.reading.remote import hub_readings, preset_sources
from cuecard.errors import MissingExtraError, UsageError

THREE = ["entailment", "neutral", "contradiction"]


def _pair(first: str, second: str, label: str, values: list[Any], **more: Any) -> dict[str, list[Any]]:
    n = len(values)
    texts = {first: [f"one {i}" for i in range(n)], second: [f"two {i}" for i in range(n)], label: values}
    return {**texts, **{key: [value] * n for key, value in more.items()}}


#: Preset → (columns as its release or its Hub copy has them, labels expected).
SHAPES: dict[str, tuple[dict[str, list[Any]], list[str]]] = {
    "sick": (
        _pair(
            "sentence_A",
            "sentence_B",
            "entailment_judgment",
            ["ENTAILMENT", "NEUTRAL"],
            relatedness_score=3.6,
        ),
        THREE[:2],
    ),
    "sick-relatedness": (
        _pair("sentence_A", "sentence_B", "relatedness_score", [3.7, 3.6]),
        ["duplicate", "not_duplicate"],
    ),
    "snli": (_pair("premise", "hypothesis", "label", [0, 1, 2, -1]), THREE),
    "mnli": (_pair("sentence1", "sentence2", "gold_label", [*THREE, "-"], label1="neutral"), THREE),
    "mnli-mismatched": (_pair("premise", "hypothesis", "label", [0, 1, 2]), THREE),
    "debiased-nli": (_pair("premise", "hypothesis", "label", [0, 1, 2]), THREE),
    "xnli": (_pair("premise", "hypothesis", "label", [0, 1, 2]), THREE),
    "fever-nli": (_pair("context", "query", "label", ["SUPPORTS", "NOT ENOUGH INFO", "REFUTES"]), THREE),
    "anli": (_pair("context", "hypothesis", "label", ["e", "n", "c"], model_label="e"), THREE),
    "ocnli": (
        _pair("sentence1", "sentence2", "label", [0, 1, 2, -1]),
        ["neutral", "entailment", "contradiction"],
    ),
    "caugnli": (_pair("sentence1", "sentence2", "gold_label", THREE), THREE),
    "qnli": (_pair("question", "sentence", "label", [0, 1]), ["entailment", "not_entailment"]),
    "qqp": (_pair("question1", "question2", "is_duplicate", ["0", "1"]), ["not_duplicate", "duplicate"]),
    "msrp": (_pair("#1 String", "#2 String", "Quality", ["0", "1"]), ["not_paraphrase", "paraphrase"]),
    "bytedance": (
        _pair("title1_en", "title2_en", "label", ["agreed", "disagreed", "unrelated"], title1_zh="标题"),
        ["agreed", "disagreed", "unrelated"],
    ),
    "swag": (
        {
            "startphrase": ["He", "She"],
            "sent1": ["He", "She"],
            "sent2": ["", ""],
            "label": [0, 3],
            **{f"ending{i}": [f"e{i}", f"f{i}"] for i in range(4)},
        },
        ["right", "wrong"],
    ),
    "race": (
        {
            "example_id": ["high1.txt", "high2.txt"],
            "article": ["a", "b"],
            "question": ["q", "r"],
            "options": [list("wxyz")] * 2,
            "answer": ["A", "D"],
        },
        ["right", "wrong"],
    ),
    "reclor": (
        {
            "context": ["a", "b"],
            "question": ["q", "r"],
            "answers": [list("wxyz")] * 2,
            "label": [0, 3],
            "id_string": ["1", "2"],
        },
        ["right", "wrong"],
    ),
    "arct": (
        {
            "#id": ["1", "2"],
            "warrant0": ["a", "b"],
            "warrant1": ["c", "d"],
            "correctLabelW0orW1": ["0", "1"],
            "reason": ["r", "s"],
            "claim": ["c", "d"],
        },
        ["right", "wrong"],
    ),
    "copa": (
        {
            "premise": ["a", "b"],
            "choice1": ["c", "d"],
            "choice2": ["e", "f"],
            "question": ["cause", "effect"],
            "idx": [0, 1],
            "label": [0, 1],
        },
        ["right", "wrong"],
    ),
    "roc-cloze": (
        {
            "InputStoryid": ["x", "y"],
            **{f"InputSentence{i}": ["s", "t"] for i in range(1, 5)},
            "RandomFifthSentenceQuiz1": ["a", "b"],
            "RandomFifthSentenceQuiz2": ["c", "d"],
            "AnswerRightEnding": [1, 1],
        },
        ["right", "wrong"],
    ),
    "mmlu": (
        {"question": ["q", "r"], "subject": ["law", "law"], "choices": [list("wxyz")] * 2, "answer": [0, 3]},
        ["right", "wrong"],
    ),
    "commonsenseqa": (
        {
            "id": ["1", "2"],
            "question": ["q", "r"],
            "choices": [{"label": list("ABC"), "text": list("xyz")}] * 2,
            "answerKey": ["A", "C"],
        },
        ["right", "wrong"],
    ),
    "arc": (
        {
            "id": ["1", "2"],
            "question": ["q", "r"],
            "choices": [
                {"label": list("ABC"), "text": list("xyz")},
                {"label": list("123"), "text": list("uvw")},
            ],
            "answerKey": ["A", "3"],
        },
        ["right", "wrong"],
    ),
    "hellaswag": (
        {
            "ind": [4, 5],
            "ctx": ["a", "b"],
            "ctx_a": ["a", "b"],
            "endings": [list("wxyz")] * 2,
            "split": ["train", "train"],
            "label": ["0", "3"],
        },
        ["right", "wrong"],
    ),
    "hh-rlhf": (
        {
            "chosen": [
                "\n\nHuman: hi\n\nAssistant: hello",
                "\n\nHuman: a\n\nAssistant: b\n\nHuman: c\n\nAssistant: d",
            ],
            "rejected": ["\n\nHuman: hi\n\nAssistant: go", "\n\nHuman: a\n\nAssistant: x"],
        },
        ["chosen", "rejected"],
    ),
}


def test_every_preset_has_a_shape_here():
    assert sorted(SHAPES) == sorted(p.name for p in list_presets())


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_table_of_the_documented_shape_is_read(name, tmp_path):
    import polars as pl

    columns, labels = SHAPES[name]
    path = tmp_path / "some.parquet"
    pl.DataFrame(columns).write_parquet(path)
    data = load(f"preset:{name}@{path}")
    assert data.name == name
    assert data.task == get_preset(name).task
    assert list(data.labels) == labels
    assert data.report.dropped.get("missing label", 0) == (1 if len(next(iter(columns.values()))) == 4 else 0)
    if data.task == "choice":
        right = data.table.filter(pl.col("label") == "right")
        last = data.table["position"].max()
        assert right["position"].to_list() == ([0, 0] if name == "roc-cloze" else [0, last])


def test_answers_of_the_story_cloze_count_from_1(tmp_path):
    import polars as pl

    shape = {**SHAPES["roc-cloze"][0], "AnswerRightEnding": [1, 2]}
    path = tmp_path / "x.parquet"
    pl.DataFrame(shape).write_parquet(path)
    right = load(f"preset:roc-cloze@{path}").table.filter(pl.col("label") == "right")
    assert right["hypothesis"].to_list() == ["a", "d"]
    assert right["premise"].to_list() == ["s s s s", "t t t t"]


def test_dialogues_are_cut_where_their_answers_begin(tmp_path):
    import polars as pl

    path = tmp_path / "x.parquet"
    pl.DataFrame(SHAPES["hh-rlhf"][0]).write_parquet(path)
    data = load(f"preset:hh-rlhf@{path}")
    assert (
        data.table["premise"].to_list()
        == ["\n\nHuman: hi\n\nAssistant:"] * 2 + ["\n\nHuman: a\n\nAssistant:"] * 2
    )
    assert data.table["hypothesis"].to_list() == [" hello", " go", " b\n\nHuman: c\n\nAssistant: d", " x"]


def test_presets_describe_themselves_in_full():
    for preset in list_presets():
        assert preset.description.endswith(".")
        assert preset.licence
        assert preset.hf or preset.url
        assert not preset.hf or set(preset.splits) == {"train", "test"}
        assert set(preset.papers) <= {"ICQ", "Stubborn", "Selection", "PECO"}


def test_a_wrong_name_gets_the_nearest_one():
    with pytest.raises(UsageError, match="Did you mean 'hellaswag'"):
        get_preset("helaswag")
    assert get_preset("HH_RLHF").name == "hh-rlhf"


def test_configuration_and_path_are_taken_apart():
    preset, path = split_preset("preset:xnli/fr@some/folder")
    assert (preset.config, path) == ("fr", "some/folder")
    assert preset_sources(preset)["test"] == "hf:facebook/xnli/fr:test"
    with pytest.raises(UsageError, match="has no path"):
        split_preset("preset:snli@")


def test_a_dataset_that_is_not_on_the_hub_says_where_to_get_it():
    with pytest.raises(UsageError, match=r"kaggle.*preset:bytedance@PATH"):
        load("preset:bytedance")


def test_hub_names_are_taken_apart():
    assert hub_readings("hf:snli:train") == ([("snli", None)], "train")
    assert hub_readings("hf:glue/qnli:test") == ([("glue/qnli", None), ("glue", "qnli")], "test")
    assert hub_readings("hf:nyu-mll/glue/qnli:test") == ([("nyu-mll/glue", "qnli")], "test")
    for bad in ("hf:snli", "hf::train", "hf:a/b/c/d:train", "hf:snli:"):
        with pytest.raises(UsageError, match="hf:NAME:SPLIT"):
            hub_readings(bad)


def test_without_the_package_the_line_that_installs_it_is_shown(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[hf\]'"):
        load("hf:snli:train")
