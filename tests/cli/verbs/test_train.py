from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.run.training import calibration_error
from first_word_model import FirstWord, rain_or_sun
from small_sets import choice_instances

pytestmark = pytest.mark.usefixtures("first_word")


@pytest.fixture
def files(tmp_path):
    rain_or_sun(400, 0).write_parquet(tmp_path / "train.parquet")
    rain_or_sun(200, 1).write_parquet(tmp_path / "test.parquet")
    return tmp_path


def arguments(files, *more, out="run", model="first-word"):
    return (
        "train", files / "train.parquet", "--test", files / "test.parquet", "--model", model, "--out", files / out,
        *more,
    )  # fmt: skip


def test_a_run_writes_the_model_predictions_of_every_split_and_metrics(cuecard, files):
    ran = cuecard(*arguments(files))
    assert ran.code == 0, ran.err
    out = files / "run"
    assert {path.name for path in out.iterdir()} == {
        "model.json", "run.json", "metrics.json", "predictions_train.parquet", "predictions_test.parquet",
    }  # fmt: skip
    table = pl.read_parquet(out / "predictions_test.parquet")
    assert table.columns == ["example_id", "split", "gold", "prediction", "p_no", "p_yes"]
    test = json.loads((out / "metrics.json").read_text())["splits"]["test"]
    right = (table["gold"] == table["prediction"]).mean()
    assert test["accuracy"] == pytest.approx(right)
    assert test["low"] < right < test["high"]
    assert right > 0.7 > test["chance"]
    gold = pl.select(pl.when(table["gold"] == "no").then(table["p_no"]).otherwise(table["p_yes"])).to_series()
    assert test["log_loss"] == pytest.approx(-gold.log().mean())
    assert test["labels"]["no"]["examples"] == (table["gold"] == "no").sum()
    assert "first-word trained on 400 examples" in ran.out


def test_predictions_feed_the_probe(cuecard, files):
    cuecard(*arguments(files))
    ran = cuecard(
        "probe", files / "train.parquet", "--test", files / "test.parquet", "--predictions",
        f"mine={files / 'run' / 'predictions_test.parquet'}", "--only", "permutation_test", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)["sections"]["permutation_test"]["summary"]["models"]["mine"]
    assert (
        summary["log10_p"] < -5
    )  # it follows "rain" and "sun", and is wrong where they have the other label
    assert summary["usual_accuracy"] > 0.85


def test_a_condition_hides_the_rest_of_the_input(cuecard, files):
    rows = pl.read_parquet(files / "train.parquet").with_columns(hypothesis=pl.lit("same"))
    rows.write_parquet(files / "train.parquet")
    ran = cuecard(*arguments(files, "--condition", "hypothesis", "--json"))
    found = json.loads(ran.out)
    assert found["condition"] == "hypothesis"
    assert found["splits"]["train"]["accuracy"] == pytest.approx(found["splits"]["train"]["chance"])


def test_weights_of_debias_are_joined_and_change_the_model(cuecard, files):
    weighted = files / "weighted.parquet"
    cuecard(
        "debias",
        files / "train.parquet",
        "--out",
        weighted,
        "--min-count",
        20,
        "--scope",
        "hypothesis",
        "--quiet",
    )
    ran = cuecard(*arguments(files, "--weights-from", weighted, "--condition", "hypothesis", "--json"))
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert 0 < found["weights"]["effective_share"] < 1
    # Under the weights, "rain" and "sun" say nothing, and they are all that this model reads.
    table = pl.read_parquet(files / "run" / "predictions_test.parquet")
    assert table["p_no"].max() == pytest.approx(0.5, abs=0.01)


def test_weights_of_other_rows_are_refused(cuecard, files):
    rows = pl.read_parquet(files / "train.parquet").with_columns(weight=pl.lit(1.0))
    other = files / "other.parquet"
    for wrong, said in (
        (rows.head(300), "weights for 300 examples, but the training set has 400"),
        (rows.with_columns(label=pl.col("label").reverse()), "another label"),
        (rows.with_columns(hypothesis=pl.col("hypothesis").reverse()), "another text or label"),
        (rows.drop("weight"), "Unknown column of weights"),
    ):
        wrong.write_parquet(other)
        ran = cuecard(*arguments(files, "--weights-from", other))
        assert ran.code == 2
        assert said in ran.err
        assert not (files / "run").exists()


def test_weights_follow_ids_when_rows_are_in_another_order(cuecard, files):
    rows = pl.read_parquet(files / "train.parquet").with_row_index("id").with_columns(pl.col("id") + 7)
    rows.write_parquet(files / "train.parquet")
    pl.read_parquet(files / "test.parquet").with_row_index("id").write_parquet(files / "test.parquet")
    weighted = rows.with_columns(
        weight=pl.when(pl.col("hypothesis").str.starts_with("rain")).then(3.0).otherwise(1.0)
    )
    weighted.write_parquet(files / "weighted.parquet")
    weighted.reverse().write_parquet(files / "reversed.parquet")
    for name in ("weighted", "reversed"):
        ran = cuecard(*arguments(files, "--weights-from", files / f"{name}.parquet", out=name))
        assert ran.code == 0, ran.err
    tables = [pl.read_parquet(files / name / "predictions_test.parquet") for name in ("weighted", "reversed")]
    assert tables[0].equals(tables[1])


def test_a_killed_run_goes_on_and_ends_as_an_uninterrupted_one(cuecard, files, monkeypatch):
    assert cuecard(*arguments(files, "--epochs", 4, out="whole")).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(FirstWord, "fit", _killed_after_two(FirstWord.fit))
        assert cuecard(*arguments(files, "--epochs", 4)).code == 130
    assert not (files / "run" / "metrics.json").exists()
    trained = []
    original = FirstWord.fit

    def counted(self, *args, **kwargs):
        model = original(self, *args, **kwargs)
        trained.append(model.trained_epochs_)
        return model

    monkeypatch.setattr(FirstWord, "fit", counted)
    assert cuecard(*arguments(files, "--epochs", 4)).code == 0
    assert trained == [2]
    for split in ("train", "test"):
        tables = [pl.read_parquet(files / out / f"predictions_{split}.parquet") for out in ("whole", "run")]
        assert tables[0].equals(tables[1])
    assert not (files / "run" / "checkpoint").exists()


def _killed_after_two(fit):
    def stopped(self, *args, watch=None, **kwargs):
        def kill(step):
            if step.epoch == 2:
                raise KeyboardInterrupt

        return fit(self, *args, watch=kill, **kwargs)

    return stopped


def test_a_finished_run_says_so_and_trains_nothing(cuecard, files, monkeypatch):
    first = cuecard(*arguments(files, "--record-dynamics"))
    monkeypatch.setattr(FirstWord, "fit", None)
    again = cuecard(*arguments(files, "--record-dynamics"))
    assert again.code == 0, again.err
    assert "already complete" in again.out
    assert "already complete" not in first.out


def test_a_folder_of_another_run_is_left_alone(cuecard, files):
    cuecard(*arguments(files))
    kept = (files / "run" / "metrics.json").read_bytes()
    ran = cuecard(*arguments(files, "--epochs", 5))
    assert ran.code == 2
    assert "another run" in ran.err
    assert "epochs 2 instead of 5" in ran.err
    assert (files / "run" / "metrics.json").read_bytes() == kept
    (files / "notes").mkdir()
    (files / "notes" / "mine.txt").write_text("mine")
    assert "contains other files" in cuecard(*arguments(files, out="notes")).err


def test_dynamics_and_the_data_map_are_written_on_request(cuecard, files):
    ran = cuecard(*arguments(files, "--record-dynamics", "--epochs", 3))
    assert ran.code == 0, ran.err
    table = pl.read_parquet(files / "run" / "dynamics.parquet")
    assert table.columns == [
        "example_id", "split", "confidence", "variability", "correctness", "held_out", "epoch_1", "epoch_2", "epoch_3",
    ]  # fmt: skip
    per_epoch = table.select("epoch_1", "epoch_2", "epoch_3").to_numpy()
    assert table["confidence"].to_numpy() == pytest.approx(per_epoch.mean(axis=1), abs=1e-6)
    assert table["variability"].to_numpy() == pytest.approx(per_epoch.std(axis=1), abs=1e-6)
    page = (files / "run" / "data_map.html").read_text()
    assert "hard to learn" in page
    assert "https://cdn" not in page


def test_a_subset_is_drawn_by_the_seed(cuecard, files):
    names = []
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        ran = cuecard(*arguments(files, "--subset", 50, "--seed", seed, "--json", out=out))
        assert json.loads(ran.out)["train_examples"] == 50
        names.append(pl.read_parquet(files / out / "predictions_train.parquet")["example_id"].to_list())
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--model", "fristword"), "Unknown model 'fristword'"),
        (("--set", "epoch=3"), "Did you mean 'epochs'"),
        (("--set", "epochs=many"), "cannot be 'many'"),
        (("--set", "epochs"), "PARAMETER=VALUE"),
        (("--condition", "choices"), "condition 'choices' does not apply"),
        (("--weighting", "sampler"), "no parameter 'weighting'"),
        (("--learning-rate", "0.1"), "Unknown parameter 'learning_rate'"),
    ],
)
def test_bad_usage_is_one_sentence_and_leaves_nothing(cuecard, files, more, said):
    ran = cuecard(*arguments(files, *more))
    assert ran.code == 2
    assert said in ran.err
    assert not (files / "run").exists()


def test_weights_of_choices_are_described_as_they_are_trained_on():
    questions = [("train", f"q{i}", ["rain a", "sun b"], i % 2) for i in range(40)]
    data = choice_instances(questions)
    right = np.where(np.arange(40) % 4 == 1, 3.0, 1.0)
    weights = np.full(80, 1.0)
    weights[data.label_codes == 0] = right  # the other rows of a question say nothing of how much it counts
    found = cc.train(data, "first-word", weights=weights).metrics["weights"]
    assert found["effective_share"] == pytest.approx(right.sum() ** 2 / (right**2).sum() / 40)
    assert found["largest"] == pytest.approx(3 / right.mean())


def test_settings_name_seed_and_weighting_and_win(cuecard, files):
    ran = cuecard(*arguments(files, "--set", "seed=7", "--seed", 3, "--json"))
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["parameters"]["seed"] == 7
    more = ("--set", "weighting=sampler", "--set", "epochs=1", "--seed", 3, "--json")
    ran = cuecard(*arguments(files, *more, out="sampled", model="fasttext"))
    assert ran.code == 0, ran.err
    parameters = json.loads(ran.out)["parameters"]
    assert (parameters["weighting"], parameters["seed"]) == ("sampler", 3)


def test_a_label_unseen_in_training_is_refused(cuecard, files):
    test = pl.read_parquet(files / "test.parquet")
    test.with_columns(
        label=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("maybe")).otherwise("label")
    ).write_parquet(files / "test.parquet")
    ran = cuecard(*arguments(files))
    assert ran.code == 2
    assert "'maybe'" in ran.err
    assert not (files / "run").exists()


def test_choices_are_predicted_per_question(cuecard, tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(120):
        answer = int(rng.integers(0, 3))
        choices = [f"{'yes' if k == answer and rng.random() < 0.8 else 'no'} c{k}" for k in range(3)]
        rows.append({"question": f"q{i}", "choices": choices, "answer": answer})
    pl.DataFrame(rows[:90]).write_parquet(tmp_path / "train.parquet")
    pl.DataFrame(rows[90:]).write_parquet(tmp_path / "test.parquet")
    ran = cuecard(*arguments(tmp_path, "--condition", "choices", "--json"))
    assert ran.code == 0, ran.err
    table = pl.read_parquet(tmp_path / "run" / "predictions_test.parquet")
    assert table.columns[-3:] == ["p_0", "p_1", "p_2"]
    assert table.select(pl.sum_horizontal("p_0", "p_1", "p_2"))["p_0"].to_numpy() == pytest.approx(
        np.ones(30)
    )
    assert json.loads(ran.out)["splits"]["test"]["accuracy"] > 0.6


def test_a_missing_extra_gives_the_line_that_installs_it(cuecard, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = cuecard(*arguments(files, model="bilstm"))
    assert ran.code == 2
    assert "pip install 'cuecard[models]'" in ran.err
    assert not (files / "run").exists()


def test_python_takes_weights_as_an_array_a_column_or_a_file(files):
    data = cc.load(files / "train.parquet", test=files / "test.parquet")
    values = np.linspace(0.1, 2.0, 400)
    rows = pl.read_parquet(files / "train.parquet").with_columns(weight=pl.Series(values))
    rows.write_parquet(files / "weighted.parquet")
    with_column = cc.load(files / "weighted.parquet", test=files / "test.parquet")
    found = [
        cc.train(data, "first-word", weights=values),
        cc.train(with_column, "first-word", weights="weight"),
        cc.train(data, "first-word", weights=files / "weighted.parquet"),
    ]
    first = found[0].predictions["test"]["p_no"].to_numpy()
    for other in found[1:]:
        assert other.predictions["test"]["p_no"].to_numpy() == pytest.approx(first)
    plain = cc.train(data, "first-word").predictions["test"]["p_no"].to_numpy()
    assert np.abs(plain - first).max() > 1e-3
    with pytest.raises(cc.CueCardError, match="399 weights for 400"):
        cc.train(data, "first-word", weights=values[:399])


def test_calibration_is_perfect_where_confidence_is_accuracy():
    confidence = np.repeat([0.65, 0.85], 100)
    right = np.concatenate([np.arange(100) < 65, np.arange(100) < 85])
    probabilities = np.column_stack([confidence, 1 - confidence])
    assert calibration_error(probabilities, np.where(right, 0, 1)) == pytest.approx(0)
    assert calibration_error(probabilities, np.where(right, 1, 0)) == pytest.approx(0.5)


def test_predictions_of_choices_and_preferences_read_back_as_they_were(tmp_path):
    rng = np.random.default_rng(0)
    questions = [
        {"question": f"q{i}", "choices": ["yes a", "no b", "no c"][: 2 + i % 2], "answer": 0}
        for i in range(40)
    ]
    said = np.where(rng.random(40) < 0.7, "yes", "no")
    prompts = [{"prompt": f"p{i}", "chosen": f"{word} a", "rejected": "no b"} for i, word in enumerate(said)]
    for rows in (questions, prompts):
        data = cc.load(pl.DataFrame(rows), test=pl.DataFrame(rows[:20]))
        found = cc.train(data, "first-word", condition="choices").predictions["test"]
        found.write_parquet(tmp_path / "predictions.parquet")
        [read] = cc.read_predictions(tmp_path / "predictions.parquet", data)
        given = found.select(pl.selectors.starts_with("p_")).to_numpy()
        assert read.probabilities == pytest.approx(given)
        assert read.answers.tolist() == given.argmax(axis=1).tolist()


def test_a_finished_run_that_lost_a_file_says_so(cuecard, files):
    cuecard(*arguments(files))
    (files / "run" / "predictions_test.parquet").unlink()
    ran = cuecard(*arguments(files))
    assert ran.code == 2
    assert "cannot be read" in ran.err


def test_a_debiased_model_is_printed_with_its_gap_as_correct_prints_it(cuecard, files):
    rain_or_sun(100, 2).write_parquet(files / "dev.parquet")
    more = ("--debias", "upweight", "--dev", files / "dev.parquet", "--set", "epochs=2")
    ran = cuecard(*arguments(files, *more, model="fasttext"))
    assert ran.code == 0, ran.err
    gap = json.loads((files / "run" / "metrics.json").read_text())["gap"]
    data = cc.load(files / "train.parquet", test=files / "test.parquet", dev=files / "dev.parquet")
    before = cc.correct(data, files / "run" / "predictions_test.parquet").metrics["before"]
    assert gap == pytest.approx(before)
    assert "gap (95 % CI)" in ran.out
    assert f"{100 * gap['gap']:+.1f} (" in ran.out
    plain = cuecard(*arguments(files, out="plain"))
    assert "gap" not in plain.out
    assert json.loads((files / "plain" / "metrics.json").read_text())["gap"] is None
