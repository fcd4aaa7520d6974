"""Raw labels become named classes in a stable order."""

from __future__ import annotations

import shlex

import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.layout.columns import parse_labels
from cuecard.data.layout.labels import label_texts, learn_labels
from cuecard.errors import InputError


def learn(values, **options):
    return learn_labels(values, where="x.csv", column="label", **options)


def test_names_are_sorted_and_their_case_is_kept():
    assert learn(["b", "A", "a", None, "", "-"]).names == ("A", "a", "b")


def test_whole_numbers_are_sorted_as_numbers_and_minus_one_is_no_label():
    assert learn(["10", "2", "-1"]).names == ("2", "10")


def test_minus_one_is_a_label_beside_names_and_where_it_is_mapped():
    assert learn(["-1", "yes"]).names == ("-1", "yes")
    assert learn(["-1", "1"], mapping={"-1": "bad", "1": "good"}).names == ("bad", "good")


def test_a_mapping_gives_names_and_order_and_refuses_what_it_does_not_name():
    mapping = {"1": "left", "0": "right"}
    with pytest.raises(
        InputError, match=r"has '2', which --labels does not name.*--labels 0=right,1=left,2=\.$"
    ):
        learn(["0", "1", "2", "left"], mapping=mapping)
    scheme = learn(["0", "1", "2", "left"], mapping={**mapping, "2": ""})
    assert scheme.names == ("left", "right")
    encoded = scheme.encode(pl.Series(["0", "1", "2", "left", None]))
    assert encoded.cast(pl.String).to_list() == ["right", "left", None, "left", None]


def test_a_loose_mapping_keeps_what_it_does_not_know():
    assert learn(["0", "other"], mapping={"0": "zero"}, strict=False).names == ("zero", "other")


def test_a_value_mapped_to_nothing_is_a_missing_label():
    scheme = learn(["a", "b", "hidden"], mapping={"a": "a", "b": "b", "hidden": ""})
    assert scheme.encode(pl.Series(["hidden", "a"])).to_list() == [None, "a"]


def test_unlabelled_rows_can_be_a_class_of_their_own():
    assert learn(["b", "a", "-"], keep_unlabelled=True).names == ("a", "b", "unlabelled")
    assert learn(["b", "a", None], keep_unlabelled=True).names == ("a", "b", "unlabelled")
    mapped = {"mapping": {"a": "x", "b": "y", "c": None}, "keep_unlabelled": True}
    assert learn(["b", "a", "c"], **mapped).names == ("x", "y", "unlabelled")


def test_without_unlabelled_rows_there_is_no_class_for_them():
    assert learn(["b", "a"], keep_unlabelled=True).names == ("a", "b")
    assert learn(["0", "1"], mapping={"0": "x", "1": "y"}, keep_unlabelled=True).names == ("x", "y")


def test_labels_that_differ_only_in_case_or_spaces_are_noted_with_what_joins_them():
    values = ["Yes", "yes", "no"]
    (note,) = learn(values).notes
    assert "The labels 'Yes', 'yes' differ only in case or spaces" in note
    option = note.rpartition("--labels ")[2].removesuffix(".")
    joined = learn(values, mapping=parse_labels(option))
    assert (joined.names, joined.notes) == (("yes", "no"), ())
    assert "use one spelling in the file" in learn(["a", "a ", "b"]).notes[0]
    assert learn(["a", "b", "ab"]).notes == ()


def test_a_label_whose_name_the_tables_of_a_card_need_is_refused_with_what_renames_it():
    values = ["count", "measure", "name"]
    with pytest.raises(InputError, match=r"x\.csv has a label 'count'") as caught:
        learn(values)
    option = str(caught.value).rpartition("--labels ")[2].removesuffix(".").replace("NAME", "number")
    renamed = learn(values, mapping=parse_labels(option))
    assert renamed.names == ("number", "measure", "name")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["same"], {}, "only one class, 'same'"),
        ([None, "-", ""], {}, "missing or unknown: give labelled rows"),
        (["x", "y"], {"mapping": {"0": "a"}}, "'x', 'y', which --labels does not name"),
        ([str(i) + "x" for i in range(2000)], {}, "2,000 different values"),
    ],
)
def test_labels_nothing_can_be_learned_from_are_refused(values, options, message):
    with pytest.raises(InputError, match=message) as caught:
        learn(values, **options)
    assert "x.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pl.Series([1, 0, None]), ["1", "0", None]),
        (pl.Series([1.0, 0.0, None, float("nan")]), ["1", "0", None, None]),
        (pl.Series([0.5, 1.0]), ["0.5", "1.0"]),
        (pl.Series([True, False]), ["true", "false"]),
        (pl.Series(["x"], dtype=pl.Categorical), ["x"]),
    ],
)
def test_label_values_become_text(values, texts):
    assert label_texts(values).to_list() == texts


def test_minus_one_beside_whole_numbers_is_noted_with_what_makes_it_a_class():
    (note,) = learn(["-1", "0", "1"]).notes
    option = note.rpartition("--labels ")[2].removesuffix(".")
    named = learn(
        ["-1", "0", "1"], mapping=parse_labels(option.replace("1=NAME", "1=x").replace("NAME", "y"))
    )
    assert (named.names, named.notes) == (("x", "y"), ())
    with pytest.raises(InputError, match="--labels -1=NAME,1=NAME if it is a class"):
        learn(["-1", "1"])


def test_numbers_written_in_two_ways_are_noted_with_what_joins_them():
    values = ["0.0", "1.0", "0", "1"]
    (note,) = learn(values).notes
    joined = learn(values, mapping=parse_labels(note.rpartition("--labels ")[2].removesuffix(".")))
    assert (joined.names, joined.notes) == (("0", "1"), ())
    assert learn(["1.5", "1", "2.0"]).notes == ()


def test_many_numbers_with_fractions_are_scores_and_not_classes():
    texts = {"premise": [f"p {i}" for i in range(60)], "hypothesis": [f"h {i}" for i in range(60)]}
    scores = pl.DataFrame(texts | {"score": [i / 10 for i in range(60)]})
    with pytest.raises(InputError, match=r"60 different numbers.*these are scores.*--labels 'score>3'"):
        load(scores, columns={"label": "score"})
    assert len(load(scores, labels="score>3").labels) == 2
    halves = pl.DataFrame(texts | {"label": [(i % 3) / 2 for i in range(60)]})
    assert load(halves).labels == ("0.0", "0.5", "1.0")


def split_files(folder, train, test, n=30):
    for name, labels in (("train", train), ("test", test)):
        rows = [(f"{name} {i} says", label) for i in range(n) for label in labels]
        pl.DataFrame(rows, schema=["text", "label"], orient="row").write_csv(folder / f"{name}.csv")
    return folder / "train.csv", folder / "test.csv"


@pytest.mark.parametrize(
    ("train", "test", "joined"),
    [
        (
            ("no", "Unknown", "yes"),
            ("no", "Uncertain", "yes"),
            "Uncertain=Unknown,Unknown=Unknown,no=no,yes=yes",
        ),
        (
            ("not good", "good", "bad"),
            ("Not Good", "good", "Bad"),
            "'Bad=bad,Not Good=not good,bad=bad,good=good,",
        ),
        (("yes", "no"), ("1", "0"), "0=NAME,1=NAME,no=no,yes=yes"),
    ],
)
def test_labels_that_two_splits_name_differently_stop_with_what_joins_them(tmp_path, train, test, joined):
    files = split_files(tmp_path, train, test)
    with pytest.raises(InputError, match="if they mean the same, join them with --labels") as stopped:
        load(files[0], test=files[1])
    assert f"--labels {joined}" in str(stopped.value)
    typed = shlex.split(str(stopped.value).partition("join them with ")[2].partition("; otherwise")[0])[1]
    if "NAME" not in typed:
        data = load(files[0], test=files[1], labels=typed)
        assert set(data.labels) == set(train)
        assert data.test.table.height == len(test) * 30
    apart = shlex.split(str(stopped.value).partition("otherwise type ")[2].removesuffix("."))[1]
    assert set(load(files[0], test=files[1], labels=apart).labels) == {*train, *test}


def test_a_label_that_only_one_split_has_or_a_rare_one_does_not_stop(tmp_path):
    files = split_files(tmp_path, ("a", "b", "c"), ("a", "b"))
    assert load(files[0], test=files[1]).labels == ("a", "b", "c")
    rare = [(pl.read_csv(file), file, label) for file, label in zip(files, ("d", "e"), strict=True)]
    for frame, file, label in rare:
        pl.concat([frame, pl.DataFrame({"text": ["rare one"] * 3, "label": [label] * 3})]).write_csv(file)
    assert len(load(files[0], test=files[1]).labels) == 5
