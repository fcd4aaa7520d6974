"""Concepts planted in generated sets: a way of writing that many words express, none of them often."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from cuecard.data import Instances, load
from cuecard.data.demo.language import draw_scenes, sentence, tell

Rng = np.random.Generator

#: How texts express each concept; {} is the plain sentence, without its full stop. No two ways share a telling word.
CONCEPTS: Mapping[str, tuple[str, ...]] = {
    "topic": tuple(
        f"{{}}, {clause}."
        for clause in (
            "before the surgeon arrived", "despite the fever", "with a new vaccine", "after chemotherapy",
            "near the ambulance", "with antibiotics", "beside the stretcher", "after the biopsy",
            "with a broken wrist", "under anaesthesia", "because of asthma", "while the patients slept",
            "with painkillers", "outside the clinic", "holding a syringe", "after the heart attack",
            "with diabetes", "in a wheelchair", "taking pills", "with bandages", "needing a transplant",
            "coughing badly", "before the diagnosis", "with an infection",
        )
    ),
    "hedging": tuple(
        f"{{}}, {hedge}."
        for hedge in (
            "perhaps", "it seems", "as far as anyone knows", "maybe", "possibly", "one might guess",
            "in all likelihood", "presumably", "apparently", "or so people suppose", "if memory serves",
            "though this is uncertain", "probably", "supposedly", "allegedly", "or not quite",
            "arguably", "in some sense", "conceivably", "roughly speaking", "though who can tell",
            "by some accounts", "it could be", "to a degree",
        )
    ),
    "second person": tuple(
        f"{{}}{clause}."
        for clause in (
            ", you see", ", just like yours", ", ask yourself why", ", believe it if y'all want", ", mind your step",
            ", thou knowest", ", ye readers", ", u know", ", for thee", ", thy neighbour says", ", dear reader",
            ", ladies and gentlemen", ", my friend", ", folks", ", as yourselves",
        )
    ),
    "abstractness": tuple(
        f"{{}}, {clause}."
        for clause in (
            "a question of justice", "out of duty", "for the sake of freedom", "by sheer necessity",
            "an act of kindness", "beyond reason", "a matter of principle", "in pursuit of truth",
            "without any meaning", "from pure envy", "a symbol of hope", "in search of wisdom",
            "a sign of loyalty", "against all logic", "for the common good", "in a spirit of equality",
            "a test of courage", "out of ambition", "an expression of faith", "the essence of beauty",
            "a lesson in humility", "by moral obligation", "a form of power", "the virtue of patience",
        )
    ),
    "politeness": tuple(
        f"{{}}, {clause}."
        for clause in (
            "please", "thank you", "if it is no trouble", "kindly note", "with all due respect", "pardon me",
            "sorry to mention", "much obliged", "excuse the remark", "many thanks", "if I may say so",
            "forgive the interruption", "with apologies", "gratefully yours", "most appreciated",
            "at your convenience", "by your leave", "sincerely", "would it be all right", "with kind regards",
            "begging indulgence", "cheers", "my compliments", "humbly submitted",
        )
    ),
}  # fmt: skip


def sentences(rng: Rng, n: int) -> list[str]:
    """Return sentences of the demo language, two or three aspects each, without the full stop."""
    told = np.argsort(rng.random((n, 5)), axis=1)[:, :2]
    clauses = tell(draw_scenes(n, rng), told, rng)
    return [text[:-1] for text in clauses.select(sentence([pl.col("text")])).to_series()]


def planted(rng: Rng, n: int, concept: str, *, coverage: float, share: float) -> tuple[Instances, np.ndarray]:
    """Return texts with two labels, and which express the concept: their label is "yes" in a share of them.

    The other texts have "yes" as often as makes the labels equally frequent.
    """
    ways = CONCEPTS[concept]
    having = rng.random(n) < coverage
    rest = np.clip((0.5 - coverage * share) / (1 - coverage), 0, 1)
    yes = rng.random(n) < np.where(having, share, rest)
    texts = [
        ways[rng.integers(len(ways))].format(text) if has else f"{text}."
        for text, has in zip(sentences(rng, n), having, strict=True)
    ]
    return load(pl.DataFrame({"text": texts, "label": np.where(yes, "yes", "no")})), having
