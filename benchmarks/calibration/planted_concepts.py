"""Concepts planted in generated sets, and sets without any."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import polars as pl

from cuecard import audit
from cuecard.audits import Concepts
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


def shuffled(rng: Rng, n: int, *, copies: int) -> Instances:
    """Return texts whose labels say nothing; each occurs several times, with the same label."""
    texts = [f"{text}." for text in sentences(rng, n // copies)] * copies
    labels = np.tile(rng.integers(0, 2, n // copies), copies)
    order = rng.permutation(len(texts))
    named = np.where(labels == 1, "yes", "no")
    return load(pl.DataFrame({"text": [texts[i] for i in order], "label": named[order]}))


def alarm(data: Instances, embed: str) -> tuple[bool, bool]:
    """Return whether a card has a significant concept, and whether the first one is for "yes"."""
    table = audit(data, audits=[Concepts(embed=embed)]).tables["concept_cues"]
    if table.is_empty() or not table["significant"][0]:
        return False, False
    return True, table["label"][0] == "yes" and table["direction"][0] == "points to"


def main(sets: int, embed: str) -> None:
    """Print the level on shuffled labels and on copies, and the power for concepts, with their numbers of sets."""
    for copies in (1, 3):
        alarms = [
            alarm(shuffled(np.random.default_rng((70_000, i)), 900, copies=copies), embed)[0]
            for i in range(sets)
        ]
        print(
            f"shuffled, every text {copies} times: {sum(alarms)} of {sets} cards with a significant concept",
            flush=True,
        )
    for concept in CONCEPTS:
        for n in (2_000, 6_000):
            led = [
                alarm(
                    planted(np.random.default_rng((80_000, i)), n, concept, coverage=0.15, share=0.8)[0],
                    embed,
                )[1]
                for i in range(max(sets // 10, 1))
            ]
            print(f"{concept}, {n:,} texts: led by the planted label in {sum(led)} of {len(led)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
