from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import InputError
from cuecard.probes import UNANSWERED, check_test, distinctly_named, read_predictions

RIGHT = ["contradiction", "entailment", "neutral"] * 2


def frame(predictions=RIGHT, ids="abcdef", **more):
    return pl.DataFrame({"id": list(ids), "prediction": predictions, **more})


def accuracy(source, data, **options):
    (read,) = read_predictions(source, data, **options)
    return float(read.correct(check_test(data)).mean())


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_are_matched_by_id_whatever_their_order(pairs, tmp_path, kind):
    path = tmp_path / f"model.{kind}"
    shuffled = frame().sample(fraction=1, shuffle=True, seed=1)
    {"csv": shuffled.write_csv, "jsonl": shuffled.write_ndjson, "parquet": shuffled.write_parquet}[kind](path)
    (read,) = read_predictions(path, pairs)
    assert read.model == "model"
    assert read.correct(check_test(pairs)).all()


def test_without_ids_rows_are_matched_by_order_and_the_gold_column_checks_it(pairs):
    table = frame(gold=RIGHT).drop("id")
    assert accuracy(table, pairs) == 1
    with pytest.raises(InputError, match="right answers differ from the data for 4 of 6 test examples"):
        read_predictions(
            table.reverse().with_columns(gold=pl.Series(RIGHT).gather([1, 0, 2, 3, 5, 4])), pairs
        )


def test_predictions_for_all_rows_of_a_file_with_unlabelled_ones_are_matched_by_row_number(numbered_pairs):
    by_row = ["contradiction", "entailment", "neutral", "neutral", "contradiction", "entailment", "neutral"]
    (read,) = read_predictions(pl.DataFrame({"prediction": by_row}), numbered_pairs)
    assert read.correct(check_test(numbered_pairs)).all()
    assert "1 prediction about rows that were left out" in read.notes[0]


def test_ids_that_do_not_match_are_counted_and_shown(pairs):
    with pytest.raises(InputError, match=r"4 of 6 ids are not in the test split .*'w', 'x', 'y'"):
        read_predictions(frame(ids="abwxyz"), pairs)


def test_ids_of_the_test_file_count_though_train_has_none(tmp_path):
    rows = [{"premise": f"p{i}", "hypothesis": f"h{i}", "label": RIGHT[i % 3]} for i in range(15)]
    test = [{**row, "id": name} for row, name in zip(rows[9:], "abcdef", strict=True)]
    data = cc.load(rows[:9], test=test)
    assert accuracy(frame().reverse(), data) == 1
    with pytest.raises(InputError, match="2 of 6 ids are not in the test split"):
        read_predictions(frame(ids="abcdxy"), data)
    numbered = cc.load(rows[:9], test=test, columns={"id": None})
    assert check_test(numbered).ids.to_list() == list("123456")


def test_an_answer_without_a_column_of_probabilities_is_named(pairs):
    table = pl.DataFrame({"id": list("abcdef"), "p_contradiction": [0.5] * 6, "p_entailment": [0.5] * 6})
    with pytest.raises(InputError, match="has p_contradiction and p_entailment but not p_neutral"):
        read_predictions(table, pairs)


def test_one_missing_example_is_named(pairs):
    with pytest.raises(InputError, match=r"no prediction for 1 of 6 test examples \(such as 'f'\)"):
        read_predictions(frame().head(5), pairs)


def test_a_repeated_id_is_an_error(pairs):
    with pytest.raises(InputError, match=r"1 id occur in several rows \(such as 'a'\)"):
        read_predictions(pl.concat([frame(), frame().head(1)]), pairs)


def test_a_wrong_number_of_rows_without_ids_is_an_error(pairs):
    with pytest.raises(InputError, match="5 predictions for 6 test examples"):
        read_predictions(frame().drop("id").head(5), pairs)


def test_a_label_unknown_to_the_data_is_an_error(pairs):
    with pytest.raises(
        InputError, match=r"1 prediction such as 'maybe' is no label of the data \(contradiction"
    ):
        read_predictions(frame([*RIGHT[:5], "maybe"]), pairs)


def test_a_right_answer_that_is_no_label_is_named_alone_and_a_missing_one_checks_nothing(pairs):
    with pytest.raises(InputError, match="1 right answer such as 'maybe' is no label of the data"):
        read_predictions(frame(gold=[*RIGHT[:5], "maybe"]), pairs)
    assert accuracy(frame(gold=[*RIGHT[:5], None]), pairs) == 1


@pytest.mark.parametrize("missing", [None, "", "NaN"])
def test_a_missing_prediction_is_an_error_that_names_the_row(pairs, missing):
    with pytest.raises(InputError, match="row 3 has no prediction"):
        read_predictions(frame([*RIGHT[:2], missing, *RIGHT[3:]]), pairs)


def test_probabilities_give_the_prediction_where_there_is_none(pairs):
    matrix = np.full((6, 3), 0.2)
    matrix[np.arange(6), [0, 1, 2] * 2] = 0.6
    columns = {f"p_{label}": matrix[:, i] for i, label in enumerate(sorted(set(RIGHT)))}
    table = pl.DataFrame({"id": list("abcdef"), **columns})
    (read,) = read_predictions(table, pairs)
    assert read.correct(check_test(pairs)).all()
    assert read.probabilities is not None
    with pytest.raises(InputError, match=r"probabilities of row 2 sum to 1\.3"):
        read_predictions(table.with_columns(p_neutral=pl.Series([0.2, 0.5, 0.6, 0.2, 0.2, 0.6])), pairs)
    with pytest.raises(InputError, match="row 4 has a probability that is missing or not a number"):
        read_predictions(table.with_columns(p_neutral=pl.Series([0.2, 0.2, 0.6, np.nan, 0.2, 0.6])), pairs)


def test_probabilities_beyond_all_numbers_are_said_without_a_warning(pairs, recwarn):
    frame = pl.DataFrame({"id": list("abcdef")}).with_columns(
        pl.lit(1e308).alias(f"p_{label}") for label in pairs.labels
    )
    with pytest.raises(InputError, match="the probabilities of row 1 sum to inf"):
        read_predictions(frame, pairs)
    assert not recwarn.list


def test_a_negative_probability_is_called_so(pairs):
    columns = {f"p_{label}": [0.5, 0.25] * 3 for label in sorted(set(RIGHT))}
    table = pl.DataFrame({"id": list("abcdef"), **columns}).with_columns(p_neutral=pl.Series([0.0, 0.5] * 3))
    below = table.with_columns(p_neutral=pl.Series([0.0, -0.5, 0.0, 0.5, 0.0, 0.5]))
    assert read_predictions(table, pairs)[0].probabilities is not None
    with pytest.raises(InputError, match=r"row 2 has the negative probability -0\.5 \(1 row in all\)"):
        read_predictions(below, pairs)


def test_a_column_answer_is_the_prediction_unless_it_is_the_right_answers(pairs):
    wrong = pl.DataFrame({"id": list("abcdef"), "answer": ["neutral", *RIGHT[1:]]})
    (read,) = read_predictions(wrong, pairs)
    assert read.read_as == "id = id, prediction = answer"
    assert read.correct(check_test(pairs)).tolist() == [False] + [True] * 5
    with pytest.raises(InputError, match="'answer' holds the right answers"):
        read_predictions(pl.DataFrame({"id": list("abcdef"), "answer": RIGHT}), pairs)
    perfect = pl.DataFrame({"id": list("abcdef"), "answer": RIGHT})
    (read,) = read_predictions(perfect, pairs, columns={"prediction": "answer"})
    assert read.correct(check_test(pairs)).all()


def test_what_was_recognised_says_how_rows_were_matched(pairs):
    (read,) = read_predictions(pl.DataFrame({"pred": RIGHT, "gold": RIGHT}), pairs)
    assert read.read_as == "prediction = pred, gold = gold, matched by row order"


def test_scores_need_not_sum_to_one(pairs):
    scores = {
        f"score_{label}": np.eye(3)[[0, 1, 2] * 2][:, i] * 7 for i, label in enumerate(sorted(set(RIGHT)))
    }
    assert accuracy(pl.DataFrame({"id": list("abcdef"), **scores}), pairs) == 1


def test_numbers_need_a_meaning_which_a_mapping_or_the_gold_column_gives(pairs):
    codes = [2, 0, 1] * 2
    with pytest.raises(InputError, match="--labels 0=NAME"):
        read_predictions(frame(codes), pairs)
    names = {"2": "contradiction", "0": "entailment", "1": "neutral"}
    assert accuracy(frame(codes), pairs, labels=names) == 1
    assert accuracy(frame(codes, gold=codes), pairs) == 1


def test_a_column_of_models_gives_several_and_names_are_made_distinct(pairs):
    both = pl.concat([frame().with_columns(model=pl.lit(name)) for name in ("one", "two")])
    read = read_predictions(both, pairs)
    assert [part.model for part in read] == ["one", "two"]
    assert [part.model for part in distinctly_named([*read, read[0]])] == ["one (1)", "two", "one (2)"]


def test_columns_can_be_named_and_a_file_without_predictions_is_an_error(pairs):
    table = frame().rename({"prediction": "guess"})
    assert accuracy(table, pairs, columns={"prediction": "guess"}) == 1
    with pytest.raises(InputError, match="no column of predictions among id, guess"):
        read_predictions(table, pairs)


@pytest.mark.parametrize(
    "picks", [[0, 1, 2, 3], ["A", "B", "C", "D"], ["c40", "c51", "c62", "c73"], ["(a)", "(b)", "(c)", "(d)"]]
)
def test_choices_are_picked_by_position_letter_or_text(questions, picks):
    table = pl.DataFrame({"id": ["q4", "q5", "q6", "q7"], "prediction": picks}, strict=False)
    assert accuracy(table, questions) == 1


def test_a_pick_that_is_no_choice_is_an_error(questions):
    table = pl.DataFrame({"id": ["q4", "q5", "q6", "q7"], "prediction": ["A", "B", "C", "F"]})
    with pytest.raises(InputError, match="'F' is none of the example's choices"):
        read_predictions(table, questions)


@pytest.mark.parametrize("letters", ["ABCD", "abcd"])
def test_probabilities_of_choices_may_be_called_by_letter(questions, letters):
    columns = {f"p_{letter}": np.eye(4)[:, i] for i, letter in enumerate(letters)}
    assert accuracy(pl.DataFrame({"id": ["q4", "q5", "q6", "q7"], **columns}), questions) == 1


def test_probabilities_of_choices(questions):
    eye = np.eye(4) * 0.7 + 0.075
    columns = {f"p_{k}": eye[:, k] for k in range(4)}
    assert accuracy(pl.DataFrame({"id": ["q4", "q5", "q6", "q7"], **columns}), questions) == 1


@pytest.mark.parametrize("prefix", ["p_", "score_"])
def test_probabilities_of_questions_with_few_and_many_choices_are_read_in_any_order(prefix):
    def question(i, k):
        return {
            "id": f"q{i}",
            "question": f"why {i}?",
            "choices": [f"c{i}{j}" for j in range(k)],
            "answer": k - 1,
        }

    data = cc.load([question(i, 3) for i in range(3)], test=[question(3, 3), question(4, 5), question(5, 3)])
    few, many = [0.1, 0.2, 0.7, None, None], [0.1, 0.1, 0.1, 0.1, 0.6]
    columns = [f"{prefix}{k}" for k in range(5)]
    table = pl.DataFrame([many, few, few], schema=columns, orient="row").with_columns(
        id=pl.Series(["q4", "q5", "q3"])
    )
    (read,) = read_predictions(table, data)
    assert read.answers.tolist() == [2, 4, 2]
    broken = table.with_columns(pl.Series(f"{prefix}2", [0.1, 0.7, None]))
    with pytest.raises(InputError, match=r"row 3 has a .* that is missing or not a number"):
        read_predictions(broken, data)


def test_a_function_is_called_with_the_texts(pairs, questions):
    def by_number(premises, hypotheses):
        assert len(premises) == len(hypotheses) == 6
        return [sorted(set(RIGHT))[int(h[1:]) % 3] for h in hypotheses]

    assert accuracy(by_number, pairs) == 1
    assert accuracy(lambda asked, choices: np.eye(4), questions) == 1
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        read_predictions(lambda p, h: np.ones((2, 3)), pairs)


def harness_sample(doc_id, target, likelihoods, **more):
    responses = [[str(value), "False"] for value in likelihoods]
    return {
        "doc_id": doc_id,
        "doc": {"premise": "p"},
        "target": str(target),
        "arguments": {"gen_args_0": {"arg_0": "p", "arg_1": " True"}},
        "resps": [[r] for r in responses],
        "filtered_resps": responses,
        "filter": "none",
        "acc": 1.0,
        **more,
    }


def write_lines(path, samples):
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return path


def test_harness_logs_by_likelihood_learn_what_their_answers_mean_from_the_targets(numbered_pairs, tmp_path):
    # Rows 0…6 of the file, of which row 2 has no label; the log's answers are numbered e, n, c.
    labels = ["contradiction", "entailment", "-", "neutral", "contradiction", "entailment", "neutral"]
    code = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": 0}
    folder = tmp_path / "org__model-7b"
    folder.mkdir()
    samples = [
        harness_sample(i, code[label], [-1.0 if k == code[label] else -2.0 for k in range(3)])
        for i, label in enumerate(labels)
    ]
    path = write_lines(folder / "samples_nli_2024.jsonl", [samples[4], *samples[:4], *samples[5:]])
    (read,) = read_predictions(path, numbered_pairs)
    assert read.model == "org/model-7b"
    assert read.correct(check_test(numbered_pairs)).all()


def test_harness_logs_of_generated_text_count_what_no_filter_could_read(questions, tmp_path):
    texts = ["A", "[invalid]", "C", "D"]
    samples = [
        harness_sample(i, letter, [], doc={"id": f"q{i + 4}"}, filtered_resps=[text], filter=name)
        for name in ("strict", "flexible")
        for i, (letter, text) in enumerate(zip("ABCD", texts, strict=True))
    ]
    data = questions
    (read,) = read_predictions(write_lines(tmp_path / "samples_qa.jsonl", samples), data)
    assert read.answers.tolist() == [0, UNANSWERED, 2, 3]
    assert read.unanswered == 1
    assert "'strict' are used" in read.notes[0]


def test_a_broken_harness_log_names_the_line(pairs, tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", [harness_sample(0, 0, [-1.0, -2.0])])
    path.write_text(path.read_text() + "{broken\n")
    with pytest.raises(InputError, match=r"line 2 is not valid JSON .*column 2"):
        read_predictions(path, pairs)


def inspect_log(samples, **more):
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "openai/m"},
        "samples": samples,
        **more,
    }


def test_inspect_logs_read_the_scorers_answer(pairs, questions, tmp_path):
    samples = [
        {
            "id": name,
            "epoch": epoch,
            "input": "…",
            "choices": ["entailment", "neutral", "contradiction"],
            "target": {"entailment": "A", "neutral": "B", "contradiction": "C"}[label],
            "scores": {"choice": {"value": "C", "answer": {"entailment": "A", "neutral": "B"}.get(label)}},
        }
        for epoch in (1, 2)
        for name, label in zip("abcdef", RIGHT, strict=True)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(samples)))
    (read,) = read_predictions(path, pairs)
    assert read.model == "openai/m"
    assert read.answers.tolist() == [UNANSWERED, 1, 2] * 2
    assert "2 epochs" in read.notes[0]

    asked = [{"id": f"q{i + 4}", "target": c, "scores": {"s": {"answer": c}}} for i, c in enumerate("ABCD")]
    path.write_text(json.dumps(inspect_log(asked)))
    assert accuracy(path, questions) == 1


def test_a_file_that_is_no_inspect_log_is_an_error(pairs, tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"samples": []}')
    with pytest.raises(InputError, match="not an Inspect log with samples"):
        read_predictions(path, pairs)
    (tmp_path / "log.eval").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"inspect log convert|is damaged or cut short"):
        read_predictions(tmp_path / "log.eval", pairs)
    with pytest.raises(InputError, match="does not exist"):
        read_predictions(tmp_path / "nowhere.csv", pairs)


def test_data_without_a_test_split_is_an_error(pairs):
    with pytest.raises(InputError, match="no test split"):
        read_predictions(frame(), pairs.train)
