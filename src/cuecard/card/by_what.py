"""By what a label can be predicted: the features that carry the score, and those that give most away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from cuecard.analysis import Measure, Result
from cuecard.card.card import Card
from cuecard.wording import interval_in_unit, listed, percent

CARRIES_MOST, GIVES_AWAY = "What carries most?", "What gives away most where it occurs?"
_CARRIED, _STRONGEST = ".carried", "cues.gives_away."
_LABELS = ("score carried by ", "share of ")


@dataclass(frozen=True)
class FeatureList:
    """Some features with a number each, in words, and the share of the held-out log score they carry together."""

    question: str
    number: str
    features: tuple[str, ...]
    score: Measure | None

    def named(self) -> str:
        """Return the features with their numbers."""
        return f"{self.number}: {listed(list(self.features))}"

    def sentence(self) -> str:
        """Return the features, and what they carry together."""
        text = self.named()
        if self.score is None:
            return f"{text}."
        ends = interval_in_unit(self.score.low, self.score.high, "share")
        interval = f" (95 % CI {ends})" if ends else ""
        they = "they carry" if len(self.features) > 1 else "it carries"
        text += f"; {they} {percent(self.score.value)} of the held-out log score{interval}"
        if (self.score.value or 0.0) > 1:
            text += ", as other features cost the model some of it"
        return f"{text}."


def by_what(card: Card) -> list[FeatureList]:
    """Return what carries the score of partial input, and the words that give most away where they occur.

    A list that no section of the card has is left out.
    """
    measures = {m.name: m for m in card.all_measures()}
    name = next((n for n in measures if n.startswith("partial_input.") and n.endswith(_CARRIED)), "")
    carries = _named(m for n, m in measures.items() if name and n.startswith(f"{name}."))
    words = _named(m for n, m in measures.items() if n.startswith(_STRONGEST))
    lists = (
        FeatureList(CARRIES_MOST, "Share of the held-out log score", carries, measures.get(name)),
        FeatureList(
            GIVES_AWAY, "Share of the label in brackets", words, measures.get(f"{name}_by_strongest")
        ),
    )
    return [one for one in lists if one.features]


def feature_named(measure: Measure) -> str:
    """Return what a feature of either list is called, with its label.

    >>> feature_named(Measure("cues.gives_away.no.x", 0.9, label="share of no where “x” occurs"))
    '“x” (no)'
    """
    label, where, word = measure.label.removeprefix(_LABELS[1]).removesuffix(" occurs").rpartition(" where ")
    return f"{word} ({label})" if where else measure.label.removeprefix(_LABELS[0])


def _named(measures: Iterable[Measure]) -> tuple[str, ...]:
    return tuple(f"{feature_named(measure)} {percent(measure.value)}" for measure in measures)


def _word(measure: Measure) -> str:
    """Return the word that a share of a label is about; a word may have a full stop, as its label may.

    >>> _word(Measure("cues.gives_away.a.b.u.s.", 0.9, label="share of a.b where “u.s.” occurs"))
    'u.s.'
    """
    return measure.label.removesuffix("” occurs").rpartition(" where “")[2]


def carried_by_strongest(results: Mapping[str, Result]) -> list[Measure]:
    """Return what the words that give most away carry of the score of partial input, where both are known."""
    of_model, of_cues = results.get("partial_input"), results.get("cues")
    carried = None if of_model is None else of_model.tables.get("carried")
    if of_model is None or carried is None or of_cues is None:
        return []
    words = [_word(m) for m in of_cues.measures if m.name.startswith(_STRONGEST)]
    known = next((m for m in of_model.measures if m.name.endswith(_CARRIED)), None)
    if known is None or not words:
        return []
    named = pl.Series(words)
    share = carried.filter((pl.col("family") == "word") & pl.col("feature").is_in(named.implode()))[
        "share"
    ].sum()
    shortcut = known.name.split(".")[1]
    from cuecard.audits.partial_input.measures import BY_STRONGEST  # with all that the audit needs

    return [BY_STRONGEST.of("partial_input", float(share), n=known.n, shortcut=shortcut)]
