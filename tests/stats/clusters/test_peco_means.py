"""Several settings scored with one set of shuffles."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.clusters.peco import SampleDesign
from cuecard.stats.clusters.peco_starts import peco_means, peco_starts


@pytest.mark.parametrize("kind", ["plain", "units", "groups", "weights"])
def test_each_setting_scores_as_it_does_by_itself(kind: str) -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 240)
    settings = [[rng.integers(0, k, 240) for _ in range(starts)] for k, starts in ((3, 1), (5, 2), (8, 2))]
    design = {
        "plain": SampleDesign(),
        "units": SampleDesign(units=np.arange(240) // 2),
        "groups": SampleDesign(groups=np.arange(240) // 4),
        "weights": SampleDesign(weights=rng.uniform(0.5, 2.0, 240)),
    }[kind]
    means = peco_means(labels, settings, permutations=30, seed=5, design=design)
    for mean, clusterings in zip(means, settings, strict=True):
        (alone,) = peco_starts(labels, clusterings, permutations=30, draws=2, seed=5, design=design)
        assert mean == (alone.score, alone.null_mean, alone.excess, alone.p_value)
    assert len({mean.score for mean in means}) == len(settings)


def test_groups_must_be_as_long_as_labels() -> None:
    with pytest.raises(ValueError, match="groups must be as long as labels"):
        peco_means([0, 1, 0], [[[0, 0, 1]]], design=SampleDesign(groups=[0, 1]))
