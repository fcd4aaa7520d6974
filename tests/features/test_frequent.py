"""Features of datasets with many labels are counted in total first; what is counted by label is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cuecard.data.demo import demo_nli
from cuecard.features import Bigrams, Lengths, Words, count_cues
from cuecard.features.family import FeatureCounts
from cuecard.text import encode, presence_counts


@pytest.mark.parametrize("scope", ["hypothesis", "both"])
def test_counts_by_label_are_the_same_with_and_without_counting_in_total_first(
    scope: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = encode(demo_nli(300, seed=1).instances, scope=scope)
    families = [Words(), Bigrams(), Lengths()]
    at_once = count_cues(data, families, minimum=5)
    monkeypatch.setattr("cuecard.features.counts.MAXIMUM_CLASSES", 1)
    in_steps = count_cues(data, families, minimum=5)
    assert at_once.features.height > 50
    assert in_steps.features.equals(at_once.features)


def test_only_frequent_features_are_counted_by_label_where_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cuecard.features.counts.MAXIMUM_CLASSES", 1)
    counted: list[Sequence[int]] = []
    count = presence_counts

    def counting(tokens: Any, classes: Any, n_classes: int, **options: Any) -> Any:
        counts = count(tokens, classes, n_classes, **options)
        counted.append(counts.shape)
        return counts

    monkeypatch.setattr("cuecard.features.counts.presence_counts", counting)
    data = encode(demo_nli(300, seed=1).instances)
    labels = len(data.instances.labels)
    features = count_cues(data, [Bigrams()], minimum=5).features
    assert counted == [(features.height, 2 * labels)]


def test_a_family_that_only_counts_is_counted_by_label_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnlyCounts(Words):
        def counts(self, data: Any, classes: Any, n_classes: int) -> FeatureCounts:
            full = super().counts(data, classes, n_classes)
            return FeatureCounts(full.names, full.counts)

    data = encode(demo_nli(300, seed=1).instances)
    expected = count_cues(data, [Words()], minimum=5)
    monkeypatch.setattr("cuecard.features.counts.MAXIMUM_CLASSES", 1)
    counts = count_cues(data, [OnlyCounts()], minimum=5)
    assert np.array_equal(counts.features.to_numpy(), expected.features.to_numpy())
