"""Several chosen and as many rejected responses of a row are all pairs, which weigh as much as one example."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from cuecard.audits.clusters import Clusters
from cuecard.data import load
from cuecard.data.loading import DatasetSpec
from cuecard.data.output import rows_with_weights
from cuecard.data.weights import unequal_weights


def row(i: int, n: int, n_rejected: int | None = None) -> dict[str, object]:
    """Return a prompt with n chosen and as many rejected responses, or another number of these."""
    rejected = [f"bad {i} {j}" for j in range(n if n_rejected is None else n_rejected)]
    return {
        "id": f"i{i}",
        "prompt": f"p {i}",
        "chosen": [f"good {i} {j}" for j in range(n)],
        "rejected": rejected,
    }


def test_every_chosen_response_is_compared_with_every_rejected_one():
    data = load([row(0, 2), row(1, 3)], test=[row(2, 1), row(3, 2)])
    pairs = data.table.group_by("example_id", maintain_order=True).agg("hypothesis")
    assert pairs["hypothesis"].to_list()[:4] == [
        [f"good 0 {a}", f"bad 0 {b}"] for a in (0, 1) for b in (0, 1)
    ]
    assert pairs["example_id"].to_list()[3:5] == ["i0 pair 4", "i1 pair 1"]
    assert (data.train.n_examples, data.test.n_examples) == (4 + 9, 1 + 4)
    assert any("18 pairs of 4 rows" in note for note in data.report.notes)


def test_pairs_of_a_row_weigh_as_much_as_one_example_and_are_one_observation():
    data = load([row(0, 2), row(1, 3), row(2, 1)])
    weights = unequal_weights(data, None)
    assert weights is not None
    rows = data.units("choices")
    np.testing.assert_allclose(np.bincount(rows, weights), weights.sum() / 3)
    assert len(set(rows.tolist())) == 3
    assert np.array_equal(rows, data.units("hypothesis"))


def test_equal_numbers_of_pairs_need_no_weights():
    data = load([row(i, 3) for i in range(4)])
    assert unequal_weights(data, None) is None
    assert data.cluster == "row_of_pair"


def test_weights_of_a_column_are_shared_among_the_pairs_of_a_row():
    rows = [row(i, n) | {"weight": w} for i, (n, w) in enumerate([(1, 1.0), (2, 3.0)])]
    data = load(rows)
    weights = unequal_weights(data, "weight")
    assert weights is not None
    sums = np.bincount(data.units("choices"), weights)
    assert sums[1] / sums[0] == pytest.approx(3)
    assert weights.mean() == pytest.approx(1)


def test_a_column_of_clusters_goes_before_the_row():
    data = load([row(i, 2) | {"writer": f"w{i % 2}"} for i in range(6)], cluster="writer")
    assert len(set(data.units("choices").tolist())) == 2


def test_without_ids_pairs_are_called_by_the_number_of_their_row():
    rows = [{k: v for k, v in row(i, 2).items() if k != "id"} for i in range(2)]
    assert load(rows).table["example_id"].unique(maintain_order=True).to_list()[3:5] == [
        "1 pair 4",
        "2 pair 1",
    ]


def test_conversations_and_passages_are_paired_too():
    user = {"role": "user", "content": "What is larger?"}
    talks = [
        [user, {"role": "assistant", "content": text}]
        for text in ("9.9", "It is 9.9.", "9.11", "It is 9.11.")
    ]
    data = load([{"chosen": talks[:2], "rejected": talks[2:]}])
    assert data.table["hypothesis"].to_list()[:4] == ["9.9", "9.11", "9.9", "It is 9.11."]
    assert "What is larger?" in data.table["premise"][0]
    passages = [{"docid": str(i), "text": f"passage {i}"} for i in range(4)]
    found = load([{"query": "q", "positive_passages": passages[:2], "negative_passages": passages[2:]}])
    assert found.n_examples == 4


def test_of_other_numbers_of_responses_one_chosen_is_compared_with_all_rejected():
    data = load([row(0, 2, 3), row(1, 2)])
    assert data.n_examples == 2
    assert data.cluster is None
    assert any("not as many rejected" in note for note in data.report.notes)


def test_a_row_that_has_no_response_is_named(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in (row(0, 2), row(1, 2) | {"chosen": []})))
    with pytest.raises(Exception, match=r"Row 2 of .* has no response in column 'chosen'"):
        load(path)


def test_a_written_row_has_the_mean_weight_of_its_pairs(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps(row(i, i + 1)) for i in range(3)))
    loaded = DatasetSpec(path).with_rows()
    weights = np.repeat([0.5, 1.0, 2.0], [1, 4, 9])
    written = rows_with_weights(loaded, weights)
    assert written["weight"].to_list() == [0.5, 1.0, 2.0]
    assert written["id"].to_list() == ["i0", "i1", "i2"]


def test_clusters_of_responses_without_a_cue_are_not_significant_though_responses_repeat():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(300)])

    def responses() -> list[str]:
        return [" ".join(rng.choice(words, 15)) for _ in range(3)]

    rows = [{"prompt": f"Say {i}", "chosen": responses(), "rejected": responses()} for i in range(150)]
    result = Clusters().run(load(pl.DataFrame(rows)))
    assert result.summary["p_value"] > 0.05
