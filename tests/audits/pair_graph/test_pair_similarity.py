"""How alike two texts are: cosine of embeddings, and Word Mover's Distance against a linear program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from cuecard.audits.pair_graph.tables import cosine_similarity, has_transport, word_movers_distance

FIRST = pl.Series(["a dog runs", "a cat sleeps", "the sun shines", ""])
SECOND = pl.Series(["a dog runs", "the sun sleeps", "a dog runs", "a dog"])


def test_equal_texts_have_the_cosine_one_and_texts_without_a_word_none() -> None:
    similarity = cosine_similarity(FIRST, SECOND)
    assert similarity[0] == pytest.approx(1, abs=1e-5)
    assert similarity[0] > similarity[1] > similarity[2]
    assert similarity[3] == 0


def test_an_encoder_of_a_folder_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"config|checkpoint|safetensors|models"):
        cosine_similarity(FIRST, SECOND, str(tmp_path))


@pytest.mark.skipif(not has_transport(), reason="needs the extra transport")
def test_word_movers_distance_is_the_optimum_of_its_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    import ot

    solved = []
    emd2 = ot.emd2

    def watched(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> float:
        found = float(emd2(a, b, cost))
        solved.append((a, b, cost, found))
        return found

    monkeypatch.setattr(ot, "emd2", watched)
    distance = word_movers_distance(FIRST, SECOND)
    assert distance[0] == pytest.approx(0, abs=1e-6)
    assert np.isnan(distance[3])
    assert distance[2] > distance[1] > 0
    for a, b, cost, found in solved:
        leaving = np.kron(np.eye(len(a)), np.ones(len(b)))
        arriving = np.kron(np.ones(len(a)), np.eye(len(b)))
        best = linprog(cost.ravel(), A_eq=np.vstack([leaving, arriving]), b_eq=np.concatenate([a, b]))
        assert found == pytest.approx(best.fun, abs=1e-8)


@pytest.mark.skipif(not has_transport(), reason="needs the extra transport")
def test_texts_without_any_words_have_no_distance() -> None:
    assert np.isnan(word_movers_distance(pl.Series(["", "?"]), pl.Series(["!", ""]))).all()
