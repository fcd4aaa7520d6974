from __future__ import annotations

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice
from cuecard.errors import InputError
from cuecard.probes.examples import check_test
from cuecard.probes.formats.callables import called_predictions
from cuecard.probes.formats.matching import align
from cuecard.probes.formats.table import table_predictions

DEMO = demo_choice(400, seed=0, cues=None)
KEYS = DEMO.instances.test.table.filter(pl.col("label") == "right").select(
    id="example_id", prediction="position"
)


def test_positions_of_choices_count_from_0():
    card = cc.probe(DEMO.instances, {"m": KEYS}, only=["accuracy_test"], features=("word",))
    assert card["accuracy_test"].summary["models"]["m"]["accuracy"] == 1.0


def test_positions_that_count_from_1_are_refused_rather_than_guessed():
    with pytest.raises(InputError, match="position from 0"):
        cc.probe(DEMO.instances, {"m": KEYS.with_columns(pl.col("prediction") + 1)}, features=("word",))


def test_a_set_without_cues_still_tells_how_good_the_model_is():
    card = cc.probe(DEMO.instances, {"m": KEYS}, features=("word",))
    assert card["cues"].summary["significant"] == 0
    assert "failed" not in {section.status for section in card.sections.values()}
    assert card["accuracy_test"].summary["models"]["m"]["accuracy"] == 1.0


def test_choices_that_are_numbers_can_be_predicted_by_their_text():
    rows = pl.DataFrame(
        {"question": ["a", "b"], "choices": [["12", "30"], ["30", "45"]], "answer": ["12", "45"]}
    )
    data = cc.load(rows, test=rows.with_columns(question=pl.lit("c") + pl.col("question")))
    (part,) = table_predictions(pl.DataFrame({"prediction": [30, 45]}), "m.csv", data, {})
    assert align(part, data, check_test(data), {})[0].tolist() == [1, 1]


def test_a_label_called_none_is_a_prediction():
    rows = pl.DataFrame({"text": ["a b", "c d", "e f"], "label": ["favor", "against", "NONE"]})
    data = cc.load(rows, test=rows.with_columns(text=pl.lit("g ") + pl.col("text")))
    predictions = pl.DataFrame({"prediction": ["none", "favor", "NONE"]})
    (part,) = table_predictions(predictions, "m.csv", data, {})
    codes = align(part, data, check_test(data), {})[0]
    assert [data.labels[code] for code in codes] == ["NONE", "favor", "NONE"]


@pytest.mark.parametrize("returned", [None, 3, [[0.5, 0.5], [1.0]]])
def test_a_function_that_returns_no_answers_is_told_what_to_return(returned):
    with pytest.raises(InputError, match=r"the function .* returned"):
        called_predictions(lambda _questions, _choices: returned, check_test(DEMO.instances))
