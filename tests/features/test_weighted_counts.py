from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.audits.cues.statistics import cue_tables
from cuecard.data import Instances
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.errors import CueCardError
from cuecard.features import Bigrams, Lengths, Words, count_cues
from cuecard.text import encode


def small(kind: str) -> Instances:
    return (demo_nli if kind == "nli" else demo_choice)(300, seed=1).instances


@pytest.mark.parametrize("kind", ["nli", "choice"])
def test_equal_weights_give_what_no_weights_give(kind):
    encoded = encode(small(kind))
    families = [Words(), Bigrams(), Lengths()]
    plain = cue_tables(count_cues(encoded, families, minimum=5), min_count=5)
    counts = count_cues(encoded, families, minimum=5, weights=np.ones(len(encoded.instances)))
    weighted = cue_tables(counts, min_count=5)
    for name in plain.cues.columns:
        left, right = plain.cues[name], weighted.cues[name]
        if left.dtype.is_float():
            np.testing.assert_allclose(right.to_numpy(), left.to_numpy(), rtol=1e-9, atol=1e-9)
        else:
            assert left.to_list() == right.to_list(), name


def test_weights_within_examples_are_added_up_in_one_order():
    data = small("choice")
    weights = np.random.default_rng(0).pareto(1.5, data.n_examples)[data.example_codes] + 1
    encoded = encode(data)
    first, *others = (count_cues(encoded, [Words(), Bigrams()], weights=weights) for _ in range(5))
    for other in others:
        assert first.features.equals(other.features)
        assert first.within.equals(other.within)


def test_a_whole_weight_counts_an_instance_that_many_times():
    data = small("nli").train
    rng = np.random.default_rng(0)
    times = rng.integers(1, 4, len(data))
    repeated = Instances(data.table[np.repeat(np.arange(len(data)), times)], "pair", data.labels)
    often = cue_tables(count_cues(encode(repeated), [Words()]), min_count=1).cues
    weighted = count_cues(encode(data), [Words()], weights=times.astype(float))
    cues = cue_tables(weighted, min_count=1).cues.join(often, on=["family", "feature"], suffix="_often")
    assert cues.height == often.height
    label = data.labels[0]
    for name in (f"train_{label}", "train_count", "cueness", "mutual_information"):
        np.testing.assert_allclose(cues[name].to_numpy(), cues[f"{name}_often"].to_numpy(), atol=1e-6)


def test_uneven_weights_make_a_cue_less_certain_but_not_smaller():
    rng = np.random.default_rng(1)
    n = 4000
    label = rng.random(n) < 0.5
    has = rng.random(n) < np.where(label, 0.3, 0.25)
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "position": pl.Series([0] * n, dtype=pl.Int32),
            "split": ["train"] * n,
            "premise": [""] * n,
            "hypothesis": [f"cue here {i}" if cue else f"nothing {i}" for i, cue in enumerate(has)],
            "label": pl.Series(np.where(label, "b", "a").tolist(), dtype=pl.Enum(["a", "b"])),
        }
    )
    weights = rng.lognormal(0, 1, n)
    data = Instances(table, "text", ("a", "b")).with_columns(w=weights)
    plain, weighted = (
        Cues(features=("word",), weights=w).run(data).tables["cues"].filter(feature="cue").row(0, named=True)
        for w in (None, "w")
    )
    assert weighted["share"] == pytest.approx(plain["share"], abs=0.03)
    width = weighted["share_high"] - weighted["share_low"]
    assert width > 1.3 * (plain["share_high"] - plain["share_low"])


def test_weighted_significance_keeps_its_level_on_random_labels():
    """P-values on effective counts keep their level for random features; on sums of weights they do not."""
    rng = np.random.default_rng(2)
    n, features = 3000, 600
    presence = rng.random((n, features)) < 0.05
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in presence]
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "position": pl.Series([0] * n, dtype=pl.Int32),
            "split": ["train"] * n,
            "premise": [""] * n,
            "hypothesis": texts,
            "label": pl.Series(rng.choice(["a", "b"], n).tolist(), dtype=pl.Enum(["a", "b"])),
        }
    )
    data = Instances(table, "text", ("a", "b")).with_columns(w=rng.gamma(1.5, 1.0, n))
    p = Cues(features=("word",), weights="w").run(data).tables["cues"]["p_value"].to_numpy()
    assert 0.02 <= (p <= 0.05).mean() <= 0.05
    counted = count_cues(encode(data), [Words()], weights=data.table["w"].to_numpy())
    whole = counted.features.with_columns(pl.col("train_a", "train_b").round().cast(pl.Int64))
    as_if_equal = whole.with_columns(train_squares=(pl.col("train_a") + pl.col("train_b")).cast(pl.Float64))
    totals = counted.totals.round().astype(np.int64)
    careless = cue_tables(replace(counted, features=as_if_equal, totals=totals, shuffled=None), min_count=1)
    assert (careless.cues["p_value"] <= 0.05).mean() > 0.08


@pytest.mark.parametrize(
    ("column", "values", "complaint"),
    [
        ("weights", None, "Unknown column of weights 'weights'. Did you mean 'weight'"),
        ("weight", "text", "not weights"),
        ("weight", -1.0, "not negative"),
        ("weight", float("nan"), "not negative"),
        ("weight", 0.0, "no weight above 0 in the train split"),
    ],
)
def test_a_column_that_holds_no_weights_is_one_clear_sentence(column, values, complaint):
    data = small("nli")
    table = data.table.with_columns(weight=pl.lit(1.0 if values is None else values))
    with pytest.raises(CueCardError, match=complaint):
        Cues(features=("word",), weights=column).run(Instances(table, "pair", data.labels))
