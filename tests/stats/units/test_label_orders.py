from __future__ import annotations

import numpy as np

from cuecard.stats.clusters.peco import SampleDesign, peco_null
from cuecard.stats.units import group_units, has_repeats, label_orders


def test_copies_of_a_question_are_shuffled_alike() -> None:
    groups = np.repeat(np.arange(6), 3)
    # Questions 0, 2 and 4 are copies with their choices in another order; the others stand alone.
    units = np.array([0, 1, 2, 3, 4, 5, 2, 0, 1, 6, 7, 8, 1, 2, 0, 9, 10, 11])
    for order in label_orders(18, 30, np.random.default_rng(0), groups=groups, units=units):
        assert (groups[order] == groups).all()
        taken = {(groups[i], units[i]): units[order[i]] for i in range(18)}
        for unit in (0, 1, 2):
            assert taken[0, unit] == taken[2, unit] == taken[4, unit]


def test_units_of_single_rows_change_nothing() -> None:
    groups = np.repeat(np.arange(5), 2)
    for among in (None, groups):
        plain, units = (
            [
                order.tolist()
                for order in label_orders(10, 3, np.random.default_rng(1), groups=among, units=codes)
            ]
            for codes in (None, np.arange(10))
        )
        assert plain == units


def test_repeats_within_one_question_are_no_repeats() -> None:
    assert not has_repeats([0, 0, 1], groups=[0, 0, 1])
    assert group_units([0, 0, 1], [0, 0, 1]).tolist() == [0, 0, 1]


def test_the_null_of_peco_holds_for_copies() -> None:
    rng = np.random.default_rng(7)
    p_values = {"units": [], "rows": []}
    for seed in range(60):
        texts = 120
        copies = rng.integers(1, 12, texts)
        units = np.repeat(np.arange(texts), copies)
        labels = rng.integers(0, 2, texts)[units]  # a coin for every text
        clusters = rng.integers(0, 10, texts)[units]
        for name, codes in (("units", units), ("rows", None)):
            p_values[name].append(
                peco_null(
                    labels, clusters, design=SampleDesign(units=codes), permutations=99, seed=seed
                ).p_value
            )
    rejected = {name: np.mean(np.array(values) <= 0.05) for name, values in p_values.items()}
    assert rejected["units"] <= 0.12
    assert rejected["rows"] >= 0.6
