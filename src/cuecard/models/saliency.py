"""Which tokens matter to a model (PECO, equation 9), and whether two models look at the same ones (TRA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.text_model import TextModel
from cuecard.stats import percentile_bootstrap, relevance_cosines
from cuecard.stats.arrays import Floats, Ints

#: Tokens of every row's premise and hypothesis; none of a text that the model may not read.
TokenTexts = tuple[list[list[str]], list[list[str]]]


@dataclass(frozen=True, eq=False)
class SaliencyMaps:
    """The relevance of the tokens of every row, which sums to 1 over both texts of a row.

    Each text has a table, rows × places, with zeros after the end of short texts; a text that the model may not
    read has no places.
    """

    premise: Floats
    hypothesis: Floats
    premise_lengths: Ints
    hypothesis_lengths: Ints

    @classmethod
    def normalised(
        cls, premise: Floats, hypothesis: Floats, premise_lengths: Ints, hypothesis_lengths: Ints
    ) -> SaliencyMaps:
        """Return maps of norms that do not sum to 1 yet; a row of zeros stays one."""
        total = premise.sum(axis=1) + hypothesis.sum(axis=1)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)[:, None]
        return cls(premise * scale, hypothesis * scale, premise_lengths, hypothesis_lengths)

    def __len__(self) -> int:
        return len(self.hypothesis)


def saliency(model: Any, data: Instances) -> SaliencyMaps:
    """Return the maps of a fitted model, or raise if its kind cannot be differentiated."""
    if not hasattr(model, "saliency"):
        raise UsageError(f"The model {model.name!r} gives no saliency maps: it has no method `saliency`.")
    maps: SaliencyMaps = model.saliency(data)
    return maps


def token_texts(model: Any, data: Instances) -> TokenTexts:
    """Return the tokens of every row that a model's maps are about, of premise and hypothesis."""
    texts: TokenTexts = model.token_texts(data)
    return texts


def check_same_tokens(first: TokenTexts, second: TokenTexts) -> None:
    """Raise if two models' maps have different tokens; one may read less of the end of a text, or nothing."""
    for first_texts, second_texts in zip(first, second, strict=True):
        for number, (left, right) in enumerate(zip(first_texts, second_texts, strict=True), start=1):
            both = min(len(left), len(right))
            if left[:both] != right[:both]:
                mine, theirs = next((a, b) for a, b in zip(left, right, strict=False) if a != b)
                raise UsageError(
                    f"The maps have different tokens (in row {number:,} {mine!r} and {theirs!r}): "
                    "train both models with the same parameters and tokeniser."
                )


def aligned(first: SaliencyMaps, second: SaliencyMaps) -> tuple[Floats, Floats]:
    """Return two models' maps as tables of one shape: premise places, then hypothesis places.

    A text that one of the two may not read, or of which it reads less, is zeros there.
    """
    if len(first) != len(second):
        raise UsageError(
            f"The maps have {len(first):,} and {len(second):,} rows: give maps of the same data."
        )
    widths = [
        max(left.shape[1], right.shape[1])
        for left, right in ((first.premise, second.premise), (first.hypothesis, second.hypothesis))
    ]
    return _widened(first, *widths), _widened(second, *widths)


def _widened(maps: SaliencyMaps, premise: int, hypothesis: int) -> Floats:
    table = np.zeros((len(maps), premise + hypothesis))
    table[:, : maps.premise.shape[1]] = maps.premise
    table[:, premise : premise + maps.hypothesis.shape[1]] = maps.hypothesis
    return table


def in_table(values: npt.NDArray[Any], inside: npt.NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Return the values at some places of every row, moved to the row's beginning, and how many there are."""
    lengths = inside.sum(axis=1).astype(np.int64)
    table = np.zeros((len(inside), int(lengths.max(initial=0))))
    table[np.arange(table.shape[1]) < lengths[:, None]] = values[inside]
    return table, lengths


#: Which examples to show: spread over the cosines, the least alike, or the most alike.
Shown = Literal["spread", "least", "most"]


@dataclass(frozen=True, eq=False)
class RelevanceAgreement:
    """Token relevance agreement of two models on some examples.

    Attributes:
        tra: mean cosine of the two maps over the examples; NaN where no example has both maps.
        low, high: its 95 % interval, from resampled examples.
        cosines: of every example (of grouped data, the mean over its rows); NaN where a map is all zeros.
        left_out: examples without an angle.
        even: mean cosine if each model looked at all tokens it reads alike; what the lengths alone give.
        full, partial: the maps of either model, by row.
    """

    tra: float
    low: float
    high: float
    cosines: Floats
    left_out: int
    even: float
    full: SaliencyMaps
    partial: SaliencyMaps


def relevance_agreement(
    full: TextModel, partial: TextModel, data: Instances, *, draws: int = 2000, seed: int = 0
) -> RelevanceAgreement:
    """Return how far two models of one kind look at the same tokens of the data.

    Args:
        full: the model that reads everything (PSC).
        partial: the one that reads a part of it (SSC).
        data: instances to compare them on, such as `data.test`.
        draws: resamples for the interval.
        seed: of the resamples.
    """
    if full.name != partial.name:
        raise UsageError(
            f"The maps of {full.name!r} and {partial.name!r} have different tokens: compare models of the same kind."
        )
    tokens = token_texts(full, data), token_texts(partial, data)
    maps = saliency(full, data), saliency(partial, data)
    return agreement_of_maps(*maps, data, tokens=tokens, draws=draws, seed=seed)


def agreement_of_maps(
    full: SaliencyMaps,
    partial: SaliencyMaps,
    data: Instances,
    *,
    tokens: tuple[TokenTexts, TokenTexts],
    draws: int = 2000,
    seed: int = 0,
) -> RelevanceAgreement:
    """Return the same from maps that are at hand, with the tokens they are of."""
    check_same_tokens(*tokens)
    rows = relevance_cosines(*aligned(full, partial))
    cosines = _by_example(rows, data) if data.grouped else rows
    defined = cosines[~np.isnan(cosines)]
    tra, low, high = float("nan"), float("nan"), float("nan")
    if len(defined):
        ends: Any = percentile_bootstrap(defined, lambda drawn: drawn.mean(axis=1), draws=draws, seed=seed)
        tra, low, high = float(defined.mean()), float(ends[0]), float(ends[1])
    even = _even(full, partial)
    return RelevanceAgreement(tra, low, high, cosines, len(cosines) - len(defined), even, full, partial)


def saliency_table(
    agreement: RelevanceAgreement,
    data: Instances,
    tokens: TokenTexts,
    *,
    show: int = 12,
    which: Shown = "spread",
) -> pl.DataFrame:
    """Return the maps of some examples to look at, one row per example (of grouped data, its right row).

    Columns are `example_id`, `label`, `cosine`, the tokens (`premise`, `hypothesis`) and what each matters to either
    model (`full_premise`, `full_hypothesis`, `partial_premise`, `partial_hypothesis`), all lists.

    Args:
        agreement: the maps of two models.
        data: the instances they are of.
        tokens: of those, as the full model reads them (`token_texts`).
        show: how many examples.
        which: whether those are spread over the cosines, the least alike or the most alike.
    """
    chosen = _chosen(agreement.cosines, show, which)
    rows = np.flatnonzero(data.label_codes == 0)[chosen] if data.grouped else chosen
    columns: dict[str, pl.Series] = {
        "example_id": data.table["example_id"].gather(rows),
        "label": data.table["label"].cast(pl.String).gather(rows),
        "cosine": pl.Series(agreement.cosines[chosen], dtype=pl.Float64),
    }
    sides = {"premise": tokens[0], "hypothesis": tokens[1]}
    for side, texts in sides.items():
        columns[side] = pl.Series([texts[row] for row in rows], dtype=pl.List(pl.String))
    for name, maps in (("full", agreement.full), ("partial", agreement.partial)):
        for side, texts in sides.items():
            table = maps.premise if side == "premise" else maps.hypothesis
            values = [_as_long(table[row], len(texts[row])) for row in rows]
            columns[f"{name}_{side}"] = pl.Series(values, dtype=pl.List(pl.Float64))
    return pl.DataFrame(columns)


def _as_long(values: Floats, n: int) -> list[float]:
    """Return one value per token; of a text that the model may not read, zeros."""
    return [float(value) for value in values[:n]] + [0.0] * max(n - len(values), 0)


def _chosen(cosines: Floats, show: int, which: Shown) -> npt.NDArray[np.int64]:
    defined = np.flatnonzero(~np.isnan(cosines))
    order = defined[np.argsort(cosines[defined], kind="stable")]
    if which == "most":
        return order[::-1][:show]
    if which == "least" or len(order) <= show:
        return order[:show]
    return order[np.linspace(0, len(order) - 1, show).round().astype(np.int64)]


def _even(full: SaliencyMaps, partial: SaliencyMaps) -> float:
    """Return the mean cosine of maps that are the same everywhere: common tokens / √(tokens × tokens)."""
    pairs = [
        (full.premise_lengths, partial.premise_lengths),
        (full.hypothesis_lengths, partial.hypothesis_lengths),
    ]
    common = np.minimum(*pairs[0]) + np.minimum(*pairs[1])
    product = (pairs[0][0] + pairs[1][0]) * (pairs[0][1] + pairs[1][1])
    read = product > 0
    return float((common[read] / np.sqrt(product[read])).mean()) if read.any() else float("nan")


def _by_example(rows: Floats, data: Instances) -> Floats:
    """Return the mean of each example's rows that have an angle; NaN where none has."""
    defined = ~np.isnan(rows)
    n, codes = data.n_examples, data.example_codes
    counts = np.bincount(codes[defined], minlength=n)
    sums = np.bincount(codes[defined], rows[defined], minlength=n)
    means: Floats = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
    return means
