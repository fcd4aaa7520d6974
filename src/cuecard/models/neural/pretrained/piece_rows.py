"""Texts as the word pieces of a Hugging Face tokenizer, padded into batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.words.word_rows import HYPOTHESIS, NEITHER, PREMISE
from cuecard.stats.arrays import Ints


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Rows of word pieces: a sentence pair in one sequence, or the one text that may be read.

    Attributes:
        encodings: of the `tokenizers` library, one per row.
        segments: of every row which text each piece is of: `PREMISE`, `HYPOTHESIS` or `NEITHER`.
        padding: number of the piece to fill short rows with.
        typed: whether the model is told which text a piece is of.
    """

    encodings: list[Any]
    segments: list[list[int]]
    padding: int
    typed: bool

    @classmethod
    def of(
        cls,
        premise: pl.Series | None,
        hypothesis: pl.Series | None,
        tokenizer: Any,
        most_tokens: int,
        *,
        keep_end: bool = False,
    ) -> PieceRows:
        """Return rows of texts; None is a text that the model may not read.

        Of rows that are too long the longer text is cut at its end, a premise at its beginning where `keep_end`
        asks for it.
        """
        texts = [text.fill_null("").to_list() for text in (premise, hypothesis) if text is not None]
        first = PREMISE if premise is not None else HYPOTHESIS
        longest = min(most_tokens, tokenizer.model_max_length)
        typed = "token_type_ids" in tokenizer.model_input_names
        if not texts[0]:
            return cls([], [], tokenizer.pad_token_id, typed)
        if keep_end and len(texts) == 2:
            return cls(*_with_ends(texts[0], texts[1], tokenizer, longest), tokenizer.pad_token_id, typed)
        encodings = tokenizer(*texts, truncation=True, max_length=longest).encodings
        segments = [
            [NEITHER if part is None else part + first for part in row.sequence_ids] for row in encodings
        ]
        return cls(encodings, segments, tokenizer.pad_token_id, typed)

    @cached_property
    def lengths(self) -> Ints:
        """Rows × 1: number of pieces."""
        return np.array([len(row) for row in self.encodings], dtype=np.int64).reshape(-1, 1)

    def collate(self, rows: Ints) -> Batch:
        """Return "input_ids", "attention_mask", "token_type_ids" where the model has them, and "segments"."""
        import torch

        lengths = self.lengths[rows, 0]
        inside = np.arange(int(lengths.max(initial=1))) < lengths[:, None]
        batch: Batch = {"input_ids": self._padded(rows, inside, "ids", self.padding)}
        if self.typed:
            batch["token_type_ids"] = self._padded(rows, inside, "type_ids", 0)
        batch["attention_mask"] = torch.from_numpy(inside.astype(np.int64))
        segments = np.zeros(inside.shape, dtype=np.int64)
        segments[inside] = [part for row in rows for part in self.segments[row]]
        batch["segments"] = [torch.from_numpy(segments)]
        return batch

    def _padded(self, rows: Ints, inside: npt.NDArray[np.bool_], name: str, filling: int) -> Any:
        import torch

        table = np.full(inside.shape, filling, dtype=np.int64)
        table[inside] = [number for row in rows for number in getattr(self.encodings[row], name)]
        return torch.from_numpy(table)

    def pieces(self, row: int, side: int) -> list[str]:
        """Return the pieces of a row's premise or hypothesis as strings."""
        parts = zip(self.encodings[row].tokens, self.segments[row], strict=True)
        return [piece for piece, part in parts if part == side]


def _with_ends(
    premises: list[str], hypotheses: list[str], tokenizer: Any, longest: int
) -> tuple[list[Any], list[list[int]]]:
    """Return pairs that fit, and the text of every piece: premises cut from the beginning, the longer text first."""
    room = max(longest - tokenizer.num_special_tokens_to_add(pair=True), 0)
    parts = [tokenizer(texts, add_special_tokens=False).encodings for texts in (premises, hypotheses)]
    joined, segments = [], []
    for premise, hypothesis in zip(*parts, strict=True):
        kept = min(len(hypothesis), max(room - len(premise), room // 2))
        hypothesis.truncate(kept)
        premise.truncate(room - kept, direction="left")
        pair = tokenizer.backend_tokenizer.post_process(premise, hypothesis)
        # Not from the pair's own `sequence_ids`: they are wrong for texts that were encoded one by one.
        texts = iter([PREMISE] * len(premise) + [HYPOTHESIS] * len(hypothesis))
        segments.append([NEITHER if special else next(texts) for special in pair.special_tokens_mask])
        joined.append(pair)
    return joined, segments
