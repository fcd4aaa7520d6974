"""Many labels: only the most frequent features are counted by label, exactly, and the card says so."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.data import Instances, load
from cuecard.features import counts as frequent


@pytest.fixture
def many_labels() -> Instances:
    rows = [
        {"text": f"topic{i % 70} word{i % 13} word{i % 29} shared text number{i}", "label": f"label{i % 70}"}
        for i in range(2_100)
    ]
    return load(pl.DataFrame(rows))


def test_a_limit_of_memory_keeps_the_most_frequent_features_and_their_numbers(
    many_labels: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Cues(features=("word",))
    everything = audit.run(many_labels)
    monkeypatch.setattr(frequent, "MAXIMUM_CELLS", 140 * 50)
    limited = audit.run(many_labels)
    words = limited.tables["cues"]
    threshold = limited.summary["families"]["word"]["min_count"]
    assert 0 < words.height <= 50 < everything.tables["cues"].height
    assert words["train_count"].min() >= threshold > audit.min_count
    columns = ["feature", "train_count", "label", "share", "z"]
    same = everything.tables["cues"].join(words.select("feature"), on="feature", how="semi")
    assert words.select(columns).sort("feature").equals(same.select(columns).sort("feature"))
    said = [finding for finding in limited.findings if finding.key == "rare-features"]
    assert f"at least {threshold} training instances" in said[0].text
    assert "--min-count" in said[0].text
    assert not [finding for finding in everything.findings if finding.key == "rare-features"]
