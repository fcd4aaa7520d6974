"""A dataset encoded once: integer tokens of premise and hypothesis over one vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.data.parallel import Memo, running_total
from cuecard.data.space import MEMORY, Space
from cuecard.text.annotate import Annotations, Backend, get_annotator
from cuecard.text.tokenisers import guess_language, suggested_tokeniser, tokenise
from cuecard.text.tokens import NGrams, Tokens, frequent_ngrams, ngrams, one_vocabulary

Scope = Literal["hypothesis", "premise", "both"]
Side = Literal["premise", "hypothesis"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

#: N-grams take as much room as the tokens: this many lengths are kept.
MAXIMUM_NGRAMS = 2
#: Of more tokens than this, n-grams that are too rare to be tested are not numbered.
MANY_TOKENS = 1 << 23
#: A part with a smaller share of the rows does not make the whole dataset be tokenised for it.
SMALL_PART = 0.5


@dataclass(frozen=True, eq=False)
class Encoded:
    """Instances with their integer tokens; every feature family reads from here."""

    instances: Instances
    premise: Tokens
    hypothesis: Tokens
    scope: Scope = "hypothesis"
    language: str = "en"
    tokeniser: str = "default"
    annotator: Backend = "auto"
    kept: Memo = field(default_factory=lambda: Memo(MAXIMUM_NGRAMS), repr=False)
    """The n-grams numbered last, by scope and length."""
    at_least: int = 1
    #: What these are some rows of, over the same vocabulary.
    part_of: tuple[Encoded, slice] | None = field(default=None, repr=False)

    @property
    def vocabulary(self) -> pl.Series:
        """The token types that premise and hypothesis share as integers."""
        return self.hypothesis.vocabulary

    @cached_property
    def scoped(self) -> Tokens:
        """The tokens a feature looks at: hypothesis, premise, or premise followed by hypothesis."""
        if self.scope != "both":
            return self.hypothesis if self.scope == "hypothesis" else self.premise
        first, second = self.premise, self.hypothesis
        return Tokens(*_paired(first.ids, first.offsets, second.ids, second.offsets), self.vocabulary)

    @cached_property
    def annotations(self) -> tuple[Annotations, ...]:
        """The properties of the texts a feature looks at: of one text per instance, or of both."""
        sides: tuple[Side, ...] = ("hypothesis", "premise")
        return tuple(self._annotations(side) for side in sides if self.scope in (side, "both"))

    def _annotations(self, side: Side) -> Annotations:
        if self.part_of is not None:
            whole, rows = self.part_of
            key = ("annotations", side)
            return self.instances.derived(key, lambda: whole._annotations(side).rows(rows.start, rows.stop))
        texts = self.instances.table[side]
        annotator = get_annotator(self.language, self.annotator)
        # Only the built-in annotator reads tokens, and it knows English.
        english = self.tokeniser == "default" or self.language.startswith("en")
        default = encoded_texts(self.instances, "default").side(side) if english else None
        full_key = ("annotations", side, self.language, self.annotator)
        return self.instances.derived(full_key, lambda: annotator.annotate(texts, default))

    def ngrams(self, n: int) -> NGrams:
        """Return the runs of n tokens a feature looks at, numbered once; none crosses from premise to hypothesis.

        Where tokens are many, runs that occur fewer than `at_least` times are left out.
        """
        return self.kept.get((self.scope, n, self.at_least), lambda: self._ngrams(n))

    def chunks(self) -> Iterator[Encoded]:
        """Yield these instances chunk by chunk, as if it alone had been tokenised; itself in memory."""
        if self.instances.space.folder is None:
            yield self
            return
        for view in self.views():
            texts = view._texts_alone
            view.instances.derived(("tokens", self.tokeniser), lambda texts=texts: texts)  # type: ignore[misc]
            yield replace(
                view, premise=texts.premise, hypothesis=texts.hypothesis, kept=texts.kept, part_of=None
            )

    @property
    def _texts_alone(self) -> EncodedTexts:
        """The tokens as if these texts alone had been tokenised."""
        first, second = self.premise, self.hypothesis
        ids = np.concatenate([first.ids, second.ids])
        offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
        return EncodedTexts(Tokens(ids, offsets, self.vocabulary).renumbered())

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs, over the words of these texts alone."""
        left_out = ("premise", "hypothesis", "kept", "part_of")
        state = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in left_out}
        return state | {"both": self._texts_alone.both}

    def __setstate__(self, state: dict[str, Any]) -> None:
        texts = EncodedTexts(state.pop("both"))
        state["instances"].derived(("tokens", state["tokeniser"]), lambda: texts)
        about = {
            "premise": texts.premise,
            "hypothesis": texts.hypothesis,
            "kept": texts.kept,
            "part_of": None,
        }
        for name, value in (state | about).items():
            object.__setattr__(self, name, value)

    def views(self) -> Iterator[Encoded]:
        """Yield these instances chunk by chunk, over their whole vocabulary; themselves in memory."""
        if self.instances.space.folder is None:
            yield self
            return
        for rows in self.instances.chunks():
            yield replace(
                self,
                instances=self.instances.chunk(rows),
                premise=self.premise.rows(rows.start, rows.stop),
                hypothesis=self.hypothesis.rows(rows.start, rows.stop),
                kept=Memo(MAXIMUM_NGRAMS),
                part_of=(self, rows),
            )

    def _ngrams(self, length: int) -> NGrams:
        if self.scope != "both":
            texts = self.scoped
            if self.at_least > 1 and len(texts.ids) > MANY_TOKENS:
                return frequent_ngrams(texts, length, self.at_least, self.instances.space)
            return ngrams(texts, length)
        stacked = ngrams(encoded_texts(self.instances, self.tokeniser).both, length)
        ids, n = stacked.ids, len(self.premise)
        paired = _paired(ids, stacked.offsets[: n + 1], ids, stacked.offsets[n:])
        return NGrams(*paired, stacked.members, stacked.words)


def encode(
    instances: Instances,
    *,
    tokens: str | None = None,
    scope: Scope = "hypothesis",
    language: str | None = None,
    annotator: Backend = "auto",
    threads: int | None = None,
) -> Encoded:
    """Return the instances with integer tokens, premise and hypothesis over one vocabulary.

    A language that is not given is detected from all texts; a tokeniser that is not given is the one that
    suits the language.
    """
    language = language or language_of(instances)
    tokens = tokens or suggested_tokeniser(language)
    texts = encoded_texts(instances, tokens, threads=threads)
    return Encoded(instances, texts.premise, texts.hypothesis, scope, language, tokens, annotator, texts.kept)


#: Rows whose premise and hypothesis the language is guessed from.
LANGUAGE_ROWS = 500


def language_of(instances: Instances) -> str:
    """Return the language of a dataset's texts, premises and hypotheses, detected once for it and all its parts."""
    whole = instances.whole
    return whole.derived(("language",), lambda: guess_language(whole.sampled_texts(LANGUAGE_ROWS)))


@dataclass(frozen=True, eq=False)
class EncodedTexts:
    """The tokens of premises and hypotheses over one vocabulary, in order of first occurrence, premises first."""

    #: All premises, then all hypotheses.
    both: Tokens
    kept: Memo = field(default_factory=lambda: Memo(MAXIMUM_NGRAMS))
    space: Space = MEMORY

    @cached_property
    def premise(self) -> Tokens:
        """The tokens of the premises."""
        return self.both.rows(0, len(self.both) // 2)

    @cached_property
    def hypothesis(self) -> Tokens:
        """The tokens of the hypotheses."""
        n, offsets = len(self.both) // 2, self.both.offsets
        begin = offsets[n]
        own = self.space.computed(np.int64, n + 1, lambda chunk: offsets[n:][chunk] - begin)
        return Tokens(self.both.ids[begin:], own, self.both.vocabulary)

    def side(self, name: Side) -> Tokens:
        """Return the tokens of one side."""
        return self.premise if name == "premise" else self.hypothesis

    def rows(self, numbers: npt.NDArray[np.int64], space: Space = MEMORY) -> EncodedTexts:
        """Return some rows, to the last number as if they alone had been tokenised."""
        parts = (
            side.gather(numbers[some]).renumbered()
            for side in (self.premise, self.hypothesis)
            for some in space.ranges(len(numbers))
        )
        if space.folder is not None:
            return EncodedTexts(one_vocabulary(parts, space), space=space)
        n = len(self.premise)
        return EncodedTexts(self.both.gather(np.concatenate([numbers, n + numbers])).renumbered())


def encoded_texts(instances: Instances, tokens: str, *, threads: int | None = None) -> EncodedTexts:
    """Return the texts in one tokenisation: texts are read once, and parts of a dataset take their rows from it.

    A small part of a dataset that has not been tokenised is tokenised alone.
    """
    whole, numbers, key = instances.whole, instances.row_numbers, ("tokens", tokens)
    space = instances.space

    def make() -> EncodedTexts:
        if numbers is None and whole is not instances:
            return encoded_texts(whole, tokens, threads=threads)
        if numbers is not None and (whole.has_derived(key) or len(numbers) > len(whole) * SMALL_PART):
            return encoded_texts(whole, tokens, threads=threads).rows(numbers, space)
        columns = [instances.table[side].alias("text") for side in ("premise", "hypothesis")]
        if space.folder is None:
            return EncodedTexts(tokenise(pl.concat(columns), tokens, threads=threads))
        chunks = (texts[rows] for texts in columns for rows in space.ranges(len(instances)))
        tokenised = space.engine.in_order(partial(tokenise, tokens=tokens, threads=threads), chunks)
        with space.shown("Tokens"):
            return EncodedTexts(one_vocabulary(tokenised, space), space=space)

    return instances.derived(key, make)


def _paired(
    first: npt.NDArray[np.int32],
    first_offsets: npt.NDArray[np.int64],
    second: npt.NDArray[np.int32],
    second_offsets: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return each row of the first followed by its row of the second, and where the joined rows begin."""
    sizes = np.stack([np.diff(first_offsets), np.diff(second_offsets)], axis=1)
    is_first = np.repeat(np.tile([True, False], len(sizes)), sizes.ravel())
    ids = np.empty(len(is_first), dtype=first.dtype)
    ids[is_first] = first[first_offsets[0] : first_offsets[-1]]
    ids[~is_first] = second[second_offsets[0] : second_offsets[-1]]
    return ids, running_total(sizes.sum(axis=1))
