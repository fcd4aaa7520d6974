from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc

LABELS = ("contradiction", "entailment", "neutral")
THINGS = list("书笔灯伞花球车船刀杯碗盘鞋帽琴画钟桌椅床门窗鱼鸟马牛羊狗猫猪")
USUAL = {"contradiction": "睡觉", "entailment": "户外", "neutral": "高兴"}


@pytest.fixture(scope="module")
def chinese():
    """Chinese pairs in which a word goes with each label most of the time."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(900):
        label = LABELS[i % 3]
        word = USUAL[label if rng.random() < 0.7 else LABELS[rng.integers(3)]]
        who, where = rng.choice(["男人", "女人", "孩子", "老师"]), rng.choice(["公园", "学校", "街上"])
        # Copies and near copies of a text would count as one observation of its words.
        things = "".join(rng.choice(THINGS, 6, replace=False))
        rows.append((f"一个{who}在{where}的人", f"{who}在{where}带着{things}{word}", label))
    table = pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row").to_dicts()
    return cc.load(table[:600], test=table[600:])


def test_chinese_pairs_are_probed_with_a_list_of_stop_words_of_their_own(chinese):
    gold = chinese.test.table["label"].cast(pl.String)
    rng = np.random.default_rng(1)
    predictions = [label if rng.random() < 0.7 else LABELS[rng.integers(3)] for label in gold.to_list()]
    models = cc.read_predictions(pl.DataFrame({"prediction": predictions}), chinese, model="m")
    card = cc.probe(chinese, models, language="zh", features=("word",))
    ran = {name for name, section in card.sections.items() if section.status == "done"}
    assert {"accuracy_test", "permutation_test", "distribution_test", "reliance"} <= ran
    assert card.sections["permutation_test"].summary["notes"] == []
