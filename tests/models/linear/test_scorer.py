"""A model that knows the features it has met alone predicts as one that knows all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cuecard.data.space import MEMORY, Space
from cuecard.models import LinearModel
from cuecard.models.linear.learner import Scorer, parts_of


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return sparse.random(300, 80, density=0.05, random_state=rng, format="csr")


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_margins_are_those_of_the_whole_model_to_the_last_bit(features, grouped, on_disk, tmp_path):
    rng, learn = np.random.default_rng(1), np.arange(90)
    y = np.tile([0, 1, 0], 30) if grouped else rng.integers(0, 3, 90)
    groups = np.arange(90) // 3 if grouped else None
    whole = LinearModel(seed=3).fit(features[learn], y, groups=groups)
    space = Space(tmp_path) if on_disk else MEMORY
    own = Scorer.fitted(LinearModel(seed=3), features[learn], y, groups=groups, space=space)
    assert len(own.weights) < features.shape[1] or len(np.unique(features[learn].indices)) == 80
    rows = rng.permutation(300)[:50]
    margins = own.margins(parts_of(features, np.arange(300)), rows)
    assert np.array_equal(margins, whole.decision_function(features[rows]))
    assert np.array_equal(own.margins(parts_of(features, rows), np.arange(50)), margins)


def test_blocks_side_by_side_are_one_matrix(features):
    y = np.arange(300) % 3
    scorer = Scorer.fitted(LinearModel(), sparse.hstack([features, 0.25 * features], format="csr"), y)
    both = scorer.margins([(features, 1.0), (features, 0.25)], np.arange(300))
    joined = sparse.hstack([features, 0.25 * features], format="csr")
    assert np.array_equal(both, scorer.margins(parts_of(joined, np.arange(300)), np.arange(300)))
