"""Word pieces of texts: what is cut from rows that are too long, and what the model is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cuecard.models import Transformer
from cuecard.models.huggingface import read_tokenizer
from cuecard.models.neural.transformer import PieceRows
from cuecard.models.neural.word_vectors import HYPOTHESIS, PREMISE
from planted_cues import cue_choices, cue_pairs
from small_sets import choice_instances
from tiny_checkpoint import tiny_checkpoint

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return read_tokenizer(tiny_checkpoint(tmp_path_factory.mktemp("tiny")))


def cut(tokenizer: Any, premise: str, hypothesis: str, most: int) -> tuple[list[str], list[str]]:
    rows = PieceRows.of(pl.Series([premise]), pl.Series([hypothesis]), tokenizer, most, keep_end=True)
    assert rows.lengths[0, 0] <= most
    return rows.pieces(0, PREMISE), rows.pieces(0, HYPOTHESIS)


def test_a_question_keeps_its_end_and_an_answer_its_beginning(tokenizer: Any) -> None:
    long = "red " * 50 + "dog"
    assert cut(tokenizer, long, "cat runs", 10) == (["red"] * 4 + ["dog"], ["cat", "runs"])
    assert cut(tokenizer, long, "cat " + "blue " * 50, 9) == (["red", "red", "dog"], ["cat", "blue", "blue"])
    assert cut(tokenizer, "dog", "cat " + "blue " * 50, 9) == (["dog"], ["cat"] + ["blue"] * 4)
    assert cut(tokenizer, "", "cat " + "blue " * 50, 6) == ([], ["cat", "blue", "blue"])


def test_what_fits_is_read_the_same_whichever_end_would_be_cut(tokenizer: Any) -> None:
    data = cue_pairs(12).table
    texts = data["premise"], data["hypothesis"]
    ends, begins = (PieceRows.of(*texts, tokenizer, 64, keep_end=end) for end in (True, False))
    batches = [rows.collate(np.arange(12)) for rows in (ends, begins)]
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        assert batches[0][name].tolist() == batches[1][name].tolist()
    assert batches[0]["segments"][0].tolist() == batches[1]["segments"][0].tolist()


def test_a_fitted_model_reads_the_end_of_a_long_question(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path)
    model = Transformer(pretrained=str(folder), epochs=1, learning_rate=0.01, most_tokens=16).fit(
        cue_choices(20)
    )
    data = choice_instances(
        [("test", "red " * 40 + end, ["cat", "dog runs"], 0) for end in ("tree", "house")]
    )
    premises, hypotheses = model.token_texts(data)
    assert [row[-1] for row in premises] == ["tree", "tree", "house", "house"]
    assert hypotheses == [["cat"], ["dog", "runs"]] * 2
    assert [len(row) for row in premises] == model.saliency(data).premise_lengths.tolist()
    first, second = model.predict_proba(data).reshape(2, 2)
    assert first.tolist() != second.tolist()
