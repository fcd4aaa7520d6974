"""Wrong choices replaced by right answers of other questions, so that being an answer predicts nothing."""

from __future__ import annotations

import numpy as np

from cuecard.data.examples import Examples, Ints

#: Number of answers of about the same length that are compared for each choice to replace.
NEAR = 40


def re_paired(examples: Examples, chosen: Ints, *, seed: int = 0) -> dict[int, list[str]]:
    """Return for each chosen example its new wrong choices: right answers of other questions of the same split.

    An answer takes the place of each wrong choice: one of about the length of the right answer that shares no long word
    with the question, so that it is unlikely to be right there, too. People must read the result.
    """
    rng = np.random.default_rng(seed)
    texts = examples.instances.table["hypothesis"]
    answers = [texts[int(row)] for row in examples.right_rows]
    lengths = np.array([len(answer.split()) for answer in answers])
    splits = examples.splits.to_numpy()
    pools = {split: np.flatnonzero(splits == split) for split in np.unique(splits)}
    replaced = {}
    for example in chosen.tolist():
        pool = pools[splits[example]]
        near = pool[np.argsort(np.abs(lengths[pool] - lengths[example]) + rng.random(len(pool)))]
        own = _long_words(examples.premises[example])
        new: list[str] = []
        for other in near[:NEAR].tolist():
            text = answers[other]
            if len(new) == examples.sizes[example] - 1:
                break
            if other != example and text not in (answers[example], *new) and not own & _long_words(text):
                new.append(text)
        if len(new) == examples.sizes[example] - 1:
            replaced[example] = new
    return replaced


def _long_words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 3}
