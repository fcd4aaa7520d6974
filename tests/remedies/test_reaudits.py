from __future__ import annotations

import numpy as np
import pytest

from cuecard.errors import UsageError
from cuecard.remedies import LexicalWeights, NeutralWeights
from cuecard.remedies.reaudits import audits_before_and_after, chosen_audits
from small_sets import choice_instances, pair_instances


def leaning_pairs(n: int = 600):
    """Pairs in which the hypothesis word "not" goes with the label no, and no sentence decides it."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n):
        label = str(rng.choice(["no", "yes"]))
        cue = "not" if rng.random() < (0.7 if label == "no" else 0.2) else "so"
        rows.append(
            (
                "train",
                f"p{rng.integers(0, 50)}",
                f"h{rng.integers(0, 60)} {cue} g{rng.integers(0, 60)}",
                label,
            )
        )
    return pair_instances(rows)


def test_every_audit_is_repeated_and_what_the_word_told_is_gone():
    result = LexicalWeights(min_count=20, reaudit=("all",), shuffles=3).run(leaning_pairs())
    table = result.tables["reaudit"]
    assert set(table["audit"]) == {"overview", "partial_input", "columns", "pair_graph", "clusters"}
    alone = table.filter(measure="partial_input.hypothesis_only.accuracy").row(0, named=True)
    assert alone["low_before"] > alone["chance_before"]
    assert alone["value_after"] < alone["value_before"] - 0.1
    assert alone["low_after"] <= alone["chance_after"] + 0.02
    assert alone["expected_after"] < alone["chance_after"]
    assert alone["p_after"] > 0.05
    assert result.summary["cues"]["before"]["significant"] > result.summary["cues"]["after"]["significant"]
    told = [f for f in result.findings if f.title == "Hypothesis-only accuracy after reweighting"]
    assert len(told) == 1
    assert told[0].chance == pytest.approx(alone["chance_after"])


def test_equal_weights_change_no_figure():
    data = leaning_pairs(200)
    audited = audits_before_and_after(data, np.ones(200), ["overview", "partial_input", "clusters"])
    for what in ("value", "low", "high", "chance"):
        assert audited.table[f"{what}_before"].to_list() == audited.table[f"{what}_after"].to_list()


def test_an_audit_that_does_not_apply_is_named_with_its_reason():
    data = choice_instances([("train", "same", ["a b", "c d"], i % 2) for i in range(30)])
    audited = audits_before_and_after(data, np.linspace(0.5, 1.5, 30), ["pair_graph"])
    assert audited.table.is_empty()
    assert "two distinct premises" in audited.skipped["pair_graph"]


def test_names_are_checked_at_once_and_none_means_none():
    assert chosen_audits(["none"]) == ()
    assert "cues" in chosen_audits(["all"])
    with pytest.raises(UsageError, match="partial_input"):
        LexicalWeights(reaudit=("partial",))
    with pytest.raises(UsageError, match="shuffles must be 0 or at least 2, not 1"):
        LexicalWeights(shuffles=1)
    with pytest.raises(UsageError, match="cues"):
        NeutralWeights(reaudit=("cue",))


def test_leakage_weights_can_be_audited_too():
    result = NeutralWeights(folds=5, trees=20, reaudit=("pair_graph",), shuffles=2).run(leaning_pairs(300))
    assert "pair_graph.leakage.accuracy" in result.tables["reaudit"]["measure"].to_list()
    assert set(result.tables["reaudit"]["audit"]) == {"pair_graph"}
