"""Texts as the word pieces of a Hugging Face tokenizer, padded into batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.word_rows import HYPOTHESIS, PREMISE

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Rows of word pieces: a sentence pair in one sequence, or the one text that may be read."""

    encoded: Any
    padding: int
    first: int  # the segment that the tokenizer's first sequence is

    @classmethod
    def of(
        cls, premise: pl.Series | None, hypothesis: pl.Series | None, tokenizer: Any, most_tokens: int
    ) -> PieceRows:
        """Return rows of texts; None is a text that the model may not read. Long ones are cut."""
        texts = [text.fill_null("").to_list() for text in (premise, hypothesis) if text is not None]
        first = PREMISE if premise is not None else HYPOTHESIS
        longest = min(most_tokens, tokenizer.model_max_length)
        encoded = (
            tokenizer(*texts, truncation=True, max_length=longest, return_attention_mask=False)
            if texts[0]
            else {}
        )
        return cls(encoded, tokenizer.pad_token_id, first)

    @cached_property
    def lengths(self) -> Ints:
        """Rows × 1: number of pieces."""
        return np.array([len(ids) for ids in self.encoded.get("input_ids", [])], dtype=np.int64).reshape(
            -1, 1
        )

    def collate(self, rows: Ints) -> Batch:
        """Return "input_ids", "attention_mask", "token_type_ids" where the model has them, and "segments"."""
        import torch

        lengths = self.lengths[rows, 0]
        inside = np.arange(int(lengths.max(initial=1))) < lengths[:, None]
        batch: Batch = {}
        for name in ("input_ids", "token_type_ids"):
            if name in self.encoded:
                filling = self.padding if name == "input_ids" else 0
                table = np.full(inside.shape, filling, dtype=np.int64)
                table[inside] = [piece for row in rows for piece in self.encoded[name][row]]
                batch[name] = torch.from_numpy(table)
        batch["attention_mask"] = torch.from_numpy(inside.astype(np.int64))
        segments = np.zeros(inside.shape, dtype=np.int64)
        segments[inside] = [
            0 if part is None else part + self.first
            for row in rows
            for part in self.encoded.encodings[row].sequence_ids
        ]
        batch["segments"] = [torch.from_numpy(segments)]
        return batch

    def pieces(self, row: int, side: int) -> list[str]:
        """Return the pieces of a row's premise or hypothesis as strings."""
        found = self.encoded.encodings[row]
        parts = zip(found.tokens, found.sequence_ids, strict=True)
        return [piece for piece, part in parts if part is not None and part + self.first == side]
