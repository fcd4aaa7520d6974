"""Concepts planted in generated sets, and sets without any."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from cuecard import audit
from cuecard.audits import Concepts, Cues
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances, load
from cuecard.data.demo.language import draw_scenes, sentence, tell
from cuecard.models import embeddings as model_embeddings
from cuecard.models.discovered_concepts import WORDS, FoundConcepts
from cuecard.stats.arrays import Bools, Singles

Rng = np.random.Generator
#: Texts of a pool that express no concept; and the embedding that looks its vectors up.
PLAIN, POOL = "plain", "pool"

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


def planted(
    rng: Rng,
    n: int,
    concept: str,
    *,
    coverage: float,
    share: float,
    pool: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Instances, Bools]:
    """Return texts with two labels, and which express the concept: their label is "yes" in a share of them.

    The other texts have "yes" as often as makes the labels equally frequent. Texts are drawn from a pool, or new.
    """
    having = rng.random(n) < coverage
    rest = np.clip((0.5 - coverage * share) / (1 - coverage), 0, 1)
    yes = rng.random(n) < np.where(having, share, rest)
    if pool is None:
        with_it, without = expressing(rng, int(having.sum()), concept), plain(rng, int((~having).sum()))
    else:
        with_it = rng.choice(pool[concept], int(having.sum()), replace=False).tolist()
        without = rng.choice(pool[PLAIN], int((~having).sum()), replace=False).tolist()
    texts = np.empty(n, dtype=object)
    texts[having], texts[~having] = with_it, without
    return load(pl.DataFrame({"text": texts.tolist(), "label": np.where(yes, "yes", "no")})), having


def plain(rng: Rng, n: int) -> list[str]:
    """Return sentences that express no concept."""
    return [f"{text}." for text in sentences(rng, n)]


def expressing(rng: Rng, n: int, concept: str) -> list[str]:
    """Return sentences that express a concept, each in one of its ways."""
    ways = CONCEPTS[concept]
    return [ways[int(rng.integers(len(ways)))].format(text) for text in sentences(rng, n)]


def pool_of_encoder(embed: str) -> Mapping[str, Sequence[str]]:
    """Return texts whose vectors are read once, and register an embedding that looks them up."""
    rng = np.random.default_rng(5)
    pool = {PLAIN: plain(rng, 8_000)} | {concept: expressing(rng, 1_500, concept) for concept in CONCEPTS}
    texts = pl.Series([text for some in pool.values() for text in some])
    vectors, codes = model_embeddings.embed(texts, embed)
    place = dict(zip(texts.to_list(), codes.tolist(), strict=True))

    def look_up(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
        del tokens, seed
        return vectors[[place[text] for text in texts.to_list()]]

    model_embeddings.EMBEDDERS.add(POOL, look_up)
    return pool


def shuffled(rng: Rng, n: int, *, copies: int) -> Instances:
    """Return texts whose labels say nothing; each occurs several times, with the same label."""
    texts = [f"{text}." for text in sentences(rng, n // copies)] * copies
    labels = np.tile(rng.integers(0, 2, n // copies), copies)
    order = rng.permutation(len(texts))
    named = np.where(labels == 1, "yes", "no")
    return load(pl.DataFrame({"text": [texts[i] for i in order], "label": named[order]}))


def first_concept(data: Instances, embed: str) -> tuple[dict[str, Any], Bools] | None:
    """Return the first concept of a card and which texts have it, if it is significant."""
    tables = audit(data, audits=[Concepts(embed=embed, most_texts=len(data))]).tables
    table = tables["concept_cues"]
    if table.is_empty() or not table["significant"][0]:
        return None
    found = FoundConcepts.of_tables(tables)
    first = table.row(0, named=True)
    return first, found.having(data)[:, found.names.index(first["concept"])]


def leads(data: Instances, planted: Bools, embed: str) -> bool:
    """Return whether the first concept is for "yes", and its texts express the planted one twice as often as all do."""
    found = first_concept(data, embed)
    if found is None:
        return False
    first, having = found
    right = first["label"] == "yes" and first["direction"] == POINTS_TO
    return bool(right and planted[having].mean() >= 2 * planted.mean())


def word_leads(rng: Rng, n: int, *, coverage: float, share: float) -> bool:
    """Return whether a word in as many texts, of the same strength, is the first cue, and significant."""
    having = rng.random(n) < coverage
    yes = rng.random(n) < np.where(having, share, (0.5 - coverage * share) / (1 - coverage))
    texts = [
        f"{text}{', quixotic' if has else ''}." for text, has in zip(sentences(rng, n), having, strict=True)
    ]
    table = pl.DataFrame({"text": texts, "label": np.where(yes, "yes", "no")})
    cues = audit(table, audits=[Cues(features=("word",))]).tables["cues"]
    return bool(cues["significant"][0] and cues["feature"][0] == "quixotic")


def level(sets: int, embed: str) -> None:
    """Print on how many cards without any concept one is significant."""
    for copies in (1, 3):
        alarms = sum(
            first_concept(shuffled(np.random.default_rng((70_000, i)), 900, copies=copies), embed) is not None
            for i in range(sets)
        )
        print(
            f"shuffled, every text {copies} times: {alarms} of {sets} cards with a significant concept",
            flush=True,
        )


def power(sets: int, embed: str, cases: Sequence[tuple[float, float, int]]) -> None:
    """Print in how many sets the planted concept leads, and in how many a word of the same strength does."""
    pool = None if embed == WORDS else pool_of_encoder(embed)
    method = embed if pool is None else POOL
    for coverage, share, n in cases:
        options = {"coverage": coverage, "share": share}
        led = dict.fromkeys(CONCEPTS, 0)
        for concept in CONCEPTS:
            for i in range(sets):
                rng = np.random.default_rng((80_000, i))
                data, having = planted(rng, n, concept, pool=pool, **options)
                led[concept] += leads(data, having, method)
        words = sum(word_leads(np.random.default_rng((90_000, i)), n, **options) for i in range(sets))
        print(
            f"{coverage:.0%} of {n:,} texts, {share:.0%}: leads in {sum(led.values())} of {sets * len(led)}, "
            f"{', '.join(f'{concept} {k}' for concept, k in led.items())} of {sets}; a word in {words} of {sets}",
            flush=True,
        )


def main(sets: int, embed: str, *cases: str) -> None:
    """Print the level; with cases such as 0.15/0.8/6000 (coverage, share, texts), the power for these."""
    if not cases:
        level(sets, embed)
    parsed = [
        (float(coverage), float(share), int(n)) for coverage, share, n in (case.split("/") for case in cases)
    ]
    if parsed:
        power(sets, embed, parsed)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
