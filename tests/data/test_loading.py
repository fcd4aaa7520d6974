"""Anything a user points at becomes instances."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cuecard.data import COLUMNS, load
from cuecard.data.loading import dataset_name
from cuecard.errors import InputError, UsageError

PAIRS = pl.DataFrame(
    {
        "premise": ["a man sleeps", "a dog runs", "rain"],
        "hypothesis": ["he is awake", "an animal", ""],
        "label": ["no", "yes", "no"],
        "genre": ["fiction", "travel", None],
    }
)


def test_a_pair_is_one_instance():
    data = load(PAIRS)
    assert data.task == "pair"
    assert data.table.schema == {
        "example_id": pl.String,
        "position": pl.Int32,
        "split": pl.String,
        "premise": pl.String,
        "hypothesis": pl.String,
        "label": pl.Enum(["no", "yes"]),
        "genre": pl.String,
    }
    assert data.table.row(1) == ("2", 0, "train", "a dog runs", "an animal", "yes", "travel")
    assert data.report.recognised == {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}


def test_a_choice_is_one_instance_per_choice():
    frame = pl.DataFrame(
        {
            "context": ["It rained.", ""],
            "question": ["Why?", "Who?"],
            "choices": [["clouds", "sun", "moon"], ["me", "you"]],
            "answer": [0, 1],
            "topic": ["weather", "people"],
        }
    )
    data = load(frame)
    assert data.labels == ("right", "wrong")
    assert data.n_examples == 2
    assert data.table.select("example_id", "position", "premise", "hypothesis", "label", "topic").rows() == [
        ("1", 0, "It rained. Why?", "clouds", "right", "weather"),
        ("1", 1, "It rained. Why?", "sun", "wrong", "weather"),
        ("1", 2, "It rained. Why?", "moon", "wrong", "weather"),
        ("2", 0, "Who?", "me", "wrong", "people"),
        ("2", 1, "Who?", "you", "right", "people"),
    ]


def test_choices_in_columns_may_be_fewer_in_some_rows():
    frame = pl.DataFrame(
        {"question": ["p", "q"], "A": ["a", "d"], "B": ["b", "e"], "C": ["c", None], "answer": ["C", "B"]}
    )
    data = load(frame)
    assert data.table["hypothesis"].to_list() == ["a", "b", "c", "d", "e"]
    assert data.table["label"].to_list() == ["wrong", "wrong", "right", "wrong", "right"]


def test_a_gap_among_the_columns_of_choices_moves_no_answer():
    frame = pl.DataFrame(
        {"question": ["p", "q"], "A": ["a", "e"], "B": [None, "f"], "C": ["c", "g"], "D": ["d", "h"]}
    ).with_columns(answer=pl.Series(["C", "D"]))
    right = load(frame).table.filter(pl.col("label") == "right")
    assert right.select("position", "hypothesis").rows() == [(1, "c"), (3, "h")]


def test_nulls_that_pad_a_list_are_no_choices_but_an_empty_text_is_one():
    lists = [["a", "b", None, None], ["c", None, "e", "f"], ["g", "", "i", None]]
    frame = pl.DataFrame({"question": list("pqr"), "choices": lists, "answer": [1, 3, 1]})
    padded = frame.with_columns(pl.col("choices").cast(pl.Array(pl.String, 4)))
    for source in (frame, padded):
        table = load(source).table
        assert table["hypothesis"].to_list() == ["a", "b", "c", "e", "f", "g", "", "i"]
        assert table.filter(pl.col("label") == "right")["hypothesis"].to_list() == ["b", "f", ""]


def test_an_answer_that_names_a_missing_choice_is_an_error():
    frame = pl.DataFrame({"question": ["p", "q"], "choices": [["a", None, "c"], ["d", "e", "f"]]})
    with pytest.raises(
        InputError, match=r"Row 1 of the given table has the answer 'B'.*none of its 2 choices"
    ):
        load(frame.with_columns(answer=pl.Series(["B", "C"])))


def test_choices_inside_a_question_object_are_found(tmp_path):
    row = {
        "answerKey": "B",
        "id": "x1",
        "question": {
            "stem": "Where?",
            "choices": [{"label": "A", "text": "here"}, {"label": "B", "text": "there"}],
        },
    }
    path = tmp_path / "dev.jsonl"
    path.write_text(json.dumps(row) + "\n")
    table = load(path).table
    assert table["premise"].to_list() == ["Where?", "Where?"]
    assert table.filter(pl.col("label") == "right")["hypothesis"].to_list() == ["there"]


def test_a_preference_is_two_instances():
    data = load([{"prompt": "hi", "chosen": "hello", "rejected": "go away", "source": 3}])
    assert data.labels == ("chosen", "rejected")
    assert data.table.rows() == [
        ("1", 0, "train", "hi", "hello", "chosen", 3),
        ("1", 1, "train", "hi", "go away", "rejected", 3),
    ]


def test_of_conversations_the_last_message_is_the_answer():
    chosen = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    rejected = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "what"}]
    data = load([{"prompt": "hi", "chosen": chosen, "rejected": rejected}])
    assert data.table["hypothesis"].to_list() == ["hello", "what"]


def test_a_text_has_an_empty_premise():
    data = load({"text": ["good", "bad"], "label": [1, 0]}, labels={"0": "negative", "1": "positive"})
    assert data.labels == ("negative", "positive")
    assert data.table["premise"].to_list() == ["", ""]
    assert data.table["label"].to_list() == ["positive", "negative"]


def test_tables_of_other_libraries_are_read_alike():
    pandas = pytest.importorskip("pandas")
    arrow = PAIRS.to_arrow()
    expected = load(PAIRS).fingerprint
    for source in (arrow, pandas.DataFrame(PAIRS.to_dict(as_series=False)), PAIRS.lazy(), PAIRS.to_dicts()):
        assert load(source).fingerprint == expected
    assert load(pa.table({"text": ["a", "b"], "label": [0, 1]})).labels == ("0", "1")


def test_splits_stand_in_order_and_share_their_labels():
    test = pl.DataFrame(
        {"sentence1": ["x", "y"], "sentence2": ["x", "y"], "label": ["maybe", "yes"], "source": [1, 2]}
    )
    data = load(PAIRS, test=test, dev=PAIRS.head(1))
    assert data.splits == ("train", "dev", "test")
    assert data.labels == ("maybe", "no", "yes")
    assert data.test is not None
    assert data.test.table["premise"].to_list() == ["x", "y"]
    assert data.test.table["genre"].to_list() == [None, None]
    assert data.table["source"].to_list() == [None] * 4 + [1, 2]


def test_rows_without_a_label_are_dropped_and_counted_or_kept_as_a_class():
    frame = pl.DataFrame({"text": list("abcd"), "label": ["x", "-", None, "y"]})
    data = load(frame)
    assert data.table["example_id"].to_list() == ["1", "4"]
    assert data.report.dropped == {"missing label": 2}
    kept = load(frame, keep_unlabelled=True)
    assert kept.labels == ("x", "y", "unlabelled")
    assert kept.table["label"].to_list() == ["x", "unlabelled", "unlabelled", "y"]


def test_examples_without_an_answer_are_dropped_whole():
    frame = pl.DataFrame({"question": ["p", "q"], "choices": [["a", "b"], ["c", "d"]], "answer": ["A", ""]})
    data = load(frame)
    assert (data.n_examples, data.report.dropped) == (1, {"missing answer": 1})


@pytest.mark.parametrize(
    "columns",
    [
        {"question": ["p", "q"], "choices": [["a", "b"], ["c", "d"]], "answer": ["A", ""]},
        {"prompt": ["p", "q"], "chosen": ["a", "b"], "rejected": ["c", "d"]},
    ],
)
def test_choices_have_no_class_for_unlabelled_examples(columns):
    with pytest.raises(UsageError, match="--keep-unlabelled only applies to"):
        load(pl.DataFrame(columns), keep_unlabelled=True)


def test_a_value_that_a_mapping_does_not_name_is_refused_with_what_leaves_it_out():
    frame = pl.DataFrame({"text": list("abcd"), "label": ["0", "1", "2", ""]})
    with pytest.raises(InputError, match="has '2', which --labels does not name") as caught:
        load(frame, labels={"0": "no", "1": "yes"})
    option = str(caught.value).rpartition("--labels ")[2].removesuffix(".")
    data = load(frame, labels=option)
    assert data.labels == ("no", "yes")
    assert data.report.dropped == {"missing label": 2}


def test_labels_that_look_alike_are_noted_once():
    frame = pl.DataFrame({"text": list("abc"), "label": ["Yes", "yes", "no"]})
    data = load(frame, test=frame)
    assert len(data.report.notes) == 1
    assert "'Yes', 'yes' differ only in case" in data.report.notes[0]


def test_missing_texts_are_empty_and_noted():
    data = load(pl.DataFrame({"text": ["a", None], "label": ["x", "y"]}))
    assert data.table["hypothesis"].to_list() == ["a", ""]
    assert data.report.notes == (
        "Column 'text' of the given table is empty in 1 row; it is read as empty text.",
    )


def test_an_id_column_that_names_groups_is_kept_and_rows_are_numbered():
    passages = [f"passage {i // 4}" for i in range(40)]
    frame = pl.DataFrame({"id": passages, "text": [f"t{i}" for i in range(40)], "label": ["x", "y"] * 20})
    data = load(frame)
    assert data.table["example_id"].to_list() == [str(i) for i in range(1, 41)]
    assert data.table["id"].to_list() == passages
    assert "read as a group id" in data.report.notes[0]
    assert "id" not in data.report.recognised


def test_extra_columns_with_names_that_instances_need_get_a_prefix():
    frame = PAIRS.with_columns(split=pl.lit("x"), position=pl.lit(9), gold_label=pl.col("label"))
    data = load(frame)
    assert set(data.table.columns) == {
        *COLUMNS,
        "genre",
        "original_split",
        "original_position",
        "original_label",
    }
    assert data.table["split"].unique().to_list() == ["train"]


def test_no_extra_column_is_lost_to_another_of_its_name():
    frame = PAIRS.with_columns(gold_label=pl.col("label"), original_label=pl.Series(["p", "q", "r"]))
    data = load(frame)
    assert data.table["original_label"].to_list() == ["p", "q", "r"]
    assert data.table["original_original_label"].to_list() == PAIRS["label"].to_list()


def test_extra_columns_of_questions_may_have_any_name():
    frame = pl.DataFrame({"question": ["p", "q"], "choices": [["a", "b"], ["c", "d", "e"]], "answer": [0, 1]})
    extras = {"_right": ["x", "y"], "right": [5, 6], "row": [7, 8]}
    table = load(frame.with_columns(**{name: pl.Series(values) for name, values in extras.items()})).table
    for name, (first, second) in extras.items():
        assert table[name].to_list() == [first] * 2 + [second] * 3
    assert table["label"].to_list() == ["right", "wrong", "wrong", "right", "wrong"]


def test_limit_takes_the_first_rows_of_each_split(tmp_path):
    PAIRS.write_parquet(tmp_path / "x.parquet")
    PAIRS.write_csv(tmp_path / "x.csv")
    for name in ("x.parquet", "x.csv"):
        data = load(tmp_path / name, test=PAIRS, limit=2)
        assert data.table["split"].to_list() == ["train", "train", "test", "test"]


def test_a_folder_or_glob_is_one_table(tmp_path):
    PAIRS.head(2).write_parquet(tmp_path / "part-0.parquet")
    PAIRS.tail(1).with_columns(more=pl.lit(1)).write_csv(tmp_path / "part-1.csv")
    (tmp_path / "README.md").write_text("not data")
    for source in (tmp_path, str(tmp_path / "part-*")):
        data = load(source)
        assert data.table["premise"].to_list() == PAIRS["premise"].to_list()
        assert "have different columns" in data.report.notes[1]
        assert [Path(f).name for f in data.report.files] == ["part-0.parquet", "part-1.csv"]


def test_a_folder_whose_files_name_splits_fills_them(tmp_path):
    PAIRS.write_parquet(tmp_path / "train-00000-of-00001.parquet")
    PAIRS.head(2).write_parquet(tmp_path / "validation-00000-of-00001.parquet")
    assert load(tmp_path).splits == ("train", "test")
    PAIRS.head(2).write_parquet(tmp_path / "test.parquet")
    data = load(tmp_path, name="mine")
    assert (data.splits, data.name) == (("train", "dev", "test"), "mine")


def test_a_found_test_split_with_hidden_labels_gives_way_to_the_development_split(tmp_path):
    PAIRS.write_parquet(tmp_path / "train.parquet")
    PAIRS.head(2).write_parquet(tmp_path / "dev.parquet")
    PAIRS.with_columns(label=pl.lit("-")).write_parquet(tmp_path / "test.parquet")
    data = load(tmp_path)
    assert data.splits == ("train", "test")
    assert data.test is not None
    assert len(data.test) == 2
    assert any("development split replaces it" in note for note in data.report.notes)


def test_a_dataset_is_named_after_its_file_or_folder(tmp_path):
    (tmp_path / "weather").mkdir()
    for name in ("weather/train.csv", "weather/storms.csv.gz"):
        path = tmp_path / name.removesuffix(".gz")
        PAIRS.write_csv(path)
        assert load(path).name == ("weather" if "train" in name else "storms")
    assert load(PAIRS).name == "data"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a/mynli_train.csv", "mynli"),
        ("a/snli_1.0_train.jsonl", "snli_1.0"),
        ("anli/r1_dev.csv", "anli"),
        ("mnli/dev_matched.csv", "mnli"),
        ("a/train-00000-of-00001.parquet", "a"),
        ("logiqa/Eval.txt", "logiqa"),
        ("pandalm/testset.json", "pandalm"),
    ],
)
def test_the_split_in_a_file_name_is_no_part_of_the_name_of_the_dataset(file, name):
    assert dataset_name(file, None) == name


def test_the_fingerprint_depends_on_content_not_on_the_format(tmp_path):
    PAIRS.write_parquet(tmp_path / "x.parquet")
    PAIRS.write_csv(tmp_path / "x.csv")
    PAIRS.write_ndjson(tmp_path / "x.jsonl")
    prints = {load(tmp_path / f"x.{kind}").fingerprint for kind in ("parquet", "csv", "jsonl")}
    assert len(prints) == 1
    changed = PAIRS.with_columns(premise=pl.col("premise").str.replace("dog", "cat"))
    assert load(changed).fingerprint not in prints
    assert load(PAIRS.reverse()).fingerprint not in prints


def test_instances_number_their_examples_in_order():
    frame = pl.DataFrame({"question": ["p", "q"], "choices": [["a", "b"], ["c", "d", "e"]], "answer": [0, 1]})
    data = load(frame, test=frame)
    assert data.example_codes.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
    assert np.array_equal(data.label_codes, [0, 1, 1, 0, 1] * 2)


REAL = [
    ("snli/test.parquet", "pair", ("contradiction", "entailment", "neutral"), 9824),
    ("sick/dev.parquet", "pair", ("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), 500),
    ("anli/r1_dev.parquet", "pair", ("contradiction", "entailment", "neutral"), 1000),
    ("caugnli/original_test.parquet", "pair", ("contradiction", "entailment", "neutral"), 400),
    ("fever_symmetric/dev.parquet", "pair", ("contradiction", "entailment"), 708),
    ("mnli/dev_matched.parquet", "pair", ("contradiction", "entailment", "neutral"), 9815),
    ("ocnli/dev.parquet", "pair", ("contradiction", "entailment", "neutral"), 2950),
    ("vitaminc/bigbench_sample.parquet", "pair", ("contradiction", "entailment", "neutral"), 54668),
    ("xnli/dev_zh.parquet", "pair", ("contradiction", "entailment", "neutral"), 2490),
    ("msrp/dev.parquet", "pair", ("not_paraphrase", "paraphrase"), 500),
    ("quora/dev.parquet", "pair", ("duplicate", "not_duplicate"), 10000),
    ("arc_challenge/train.parquet", "choice", ("right", "wrong"), 1119),
    ("arct/dev.parquet", "choice", ("right", "wrong"), 316),
    ("arct_adversarial/dev_adv_negated.parquet", "choice", ("right", "wrong"), 632),
    ("copa/dev.parquet", "choice", ("right", "wrong"), 500),
    ("balanced_copa/dev_all.parquet", "choice", ("right", "wrong"), 1000),
    ("commonsenseqa/dev.parquet", "choice", ("right", "wrong"), 1221),
    ("mmlu/val.parquet", "choice", ("right", "wrong"), 1529),
    ("openbookqa/dev.parquet", "choice", ("right", "wrong"), 500),
    ("race/test_middle.parquet", "choice", ("right", "wrong"), 1436),
    ("reclor/val.parquet", "choice", ("right", "wrong"), 500),
    ("auto_j_pairwise/test.parquet", "preference", ("chosen", "rejected"), 1019),
    ("hh_rlhf_harmless_base/test.parquet", "preference", ("chosen", "rejected"), 2312),
    ("llmbar/test.parquet", "preference", ("chosen", "rejected"), 419),
    ("sst2/dev.parquet", "text", ("0", "1"), 872),
]


@pytest.mark.parametrize(("file", "task", "labels", "examples"), REAL, ids=[r[0] for r in REAL])
def test_real_files_load_with_no_option(real_data, file, task, labels, examples):
    data = load(real_data(file))
    assert (data.task, data.labels, data.n_examples) == (task, labels, examples)
    assert data.report.dropped == {}
    if data.grouped:
        first = "right" if task == "choice" else "chosen"
        assert data.table.filter(pl.col("label") == first).height == examples
    if file.startswith("sick"):
        assert data.table["relatedness_score"].dtype == pl.Float64
