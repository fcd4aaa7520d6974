"""A multiple-choice demo set whose choices say nothing about the answer except through planted cues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from cuecard.data.demo.cues import CHOICE_CUES, Cue, CueKind, Demo, complete, joint, truth
from cuecard.data.demo.decorate import draw_features, write
from cuecard.data.demo.grammar import (
    N_VALUES,
    PAIRS,
    TRIPLES,
    Scenes,
    draw_scenes,
    draw_subjects,
    draw_values,
    sentence,
    tell,
)
from cuecard.data.demo.splits import both_splits
from cuecard.data.instances import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Floats, Ints

LABELS = ("right", "wrong")
#: A repeated choice is offered in this many examples.
REPEATS = 3
_QUESTIONS = pl.Series(["What do we know about", "What is true of", "Which of these is said about"])


def demo_choice(
    n: int = 3000,
    k: int = 4,
    *,
    test_fraction: float = 0.25,
    seed: int = 0,
    cues: Iterable[Cue] | None = CHOICE_CUES,
) -> Demo:
    """Return n questions with k choices each, with planted cues and the truth about them.

    The choices tell two aspects of the same person, each with its own values, and are drawn first; which one
    is right is drawn next, and the context is then made to fit: it tells the right choice and one aspect
    more, and tells a wrong choice of somebody else. The shares of cues count instances, that is choices. A
    kind of cue that `cues` leaves out is written in just as often, but independently of the answer;
    `cues=None` is the clean control.
    """
    if not 0 <= test_fraction < 1 or n < 1 or not 2 <= k <= 20:
        raise UsageError(
            "A demo set needs n ≥ 1, 2 to 20 choices, and a test_fraction of at least 0 and below 1."
        )
    table = complete(cues, CHOICE_CUES, LABELS)
    table["position"] = _checked_position(table["position"], k)
    planted = truth(table.values())
    rows, present = both_splits(n, test_fraction, seed, lambda size, stream: _split(size, k, table, stream))
    name = "demo-choice" if planted else "demo-choice-clean"
    return Demo(Instances(rows, task="choice", labels=LABELS, name=name), planted, not planted, present)


def _checked_position(cue: Cue, k: int) -> Cue:
    if not (cue.text.isdecimal() and int(cue.text) < k):
        if cue.strength is not None:
            raise UsageError(
                f"The position cue must name one of the positions 0 to {k - 1}; got {cue.text!r}."
            )
        cue = Cue("position", cue.label, None, 1 / k, "0")
    if cue.label != "right":
        raise UsageError("The position cue says where the right choice stands: its label is 'right'.")
    return Cue("position", "right", cue.strength, 1 / k, cue.text)


def _split(
    n: int, k: int, cues: Mapping[CueKind, Cue], stream: np.random.SeedSequence
) -> tuple[pl.DataFrame, dict[CueKind, Bools]]:
    """Return the rows of one split and which features they have.

    Until the last step the choices of an example are in the order drawn, not in the order shown: column 0
    is the special one, offered again in other examples or told at greater length.
    """
    answer_rng, text_rng, cue_rng, context_rng = (np.random.default_rng(s) for s in stream.spawn(4))
    prior = np.array([1 / k, 1 - 1 / k])
    graph = cues["pair_graph"]
    if graph.share * k >= 1:
        raise UsageError(
            f"One choice per example can be repeated: the pair_graph share must be below {1 / k:.3g}."
        )
    in_group = np.arange(n) < REPEATS * round(n * k * graph.share / REPEATS)
    long = ~in_group & (cue_rng.random(n) < _length_chance(cues["length"], k, in_group))
    answer = _draw_answers(n, k, [(in_group, graph), (long, cues["length"])], answer_rng)

    group = np.where(in_group, np.arange(n) - np.arange(n) % REPEATS, np.arange(n))
    scenes, pair = draw_scenes(n, text_rng).take(group), text_rng.integers(0, len(PAIRS), n)[group]
    values = _choice_values(scenes, k, text_rng)
    source = np.arange(n * k).reshape(n, k)
    source[:, 0] = group * k
    clauses = tell(
        Scenes(np.repeat(scenes.subject, k), np.repeat(scenes.tense, k), values.reshape(n * k, -1)),
        np.repeat(PAIRS[pair], k, axis=0),
        text_rng,
    )
    columns = np.arange(k)
    repeated = (in_group[:, None] & (columns == 0)).ravel()
    codes = (columns != answer[:, None]).astype(np.int64).ravel()
    available = prior - repeated.mean() * joint(graph, LABELS, prior) / graph.share
    if available.min() <= 0:
        raise UsageError(
            "The pair_graph cue cannot be that common: no choice would be left for its label elsewhere."
        )
    kinds: tuple[CueKind, ...] = ("word", "bigram", "negation")
    features = draw_features(kinds, cues, LABELS, prior, (codes, ~repeated, available), cue_rng)
    features["length"] = (long[:, None] & (columns == 0)).ravel()
    texts = write(clauses, features, cues, source.ravel(), text_rng)

    shown = _shown(answer, k, cues["position"], answer_rng)
    rows = (np.arange(n)[:, None] * k + shown)[text_rng.permutation(n)].ravel()
    present: dict[CueKind, Bools] = {kind: features[kind][rows] for kind in (*kinds, "length")}
    present["pair_graph"] = repeated[rows]
    present["position"] = np.tile(columns == int(cues["position"].text), n)
    frame = pl.DataFrame(
        {
            "premise": _contexts(scenes, pair, values, answer, context_rng).gather(rows // k),
            "hypothesis": texts.gather(rows),
            "label": pl.Series(LABELS, dtype=pl.Enum(LABELS)).gather(codes[rows]),
            "example": np.repeat(np.arange(n), k),
            "position": np.tile(columns, n).astype(np.int32),
        }
    )
    return frame, present


def _length_chance(cue: Cue, k: int, in_group: Bools) -> float:
    """Return the chance that an example outside the groups has a long choice."""
    free = 1 - in_group.mean()
    if cue.share * k > free:
        raise UsageError(
            f"One choice per example can be long: the length cue's share can be at most {free / k:.3g}."
        )
    return float(cue.share * k / free)


def _draw_answers(n: int, k: int, special: list[tuple[Bools, Cue]], rng: np.random.Generator) -> Ints:
    """Return the right column of every example; a special column 0 is right as often as its cue says."""
    chance = np.full(n, 1 / k)
    for rows, cue in special:
        if cue.strength is not None:
            chance[rows] = cue.strength if cue.label == "right" else 1 - cue.strength
    return np.where(rng.random(n) < chance, 0, rng.integers(1, k, n))


def _choice_values(scenes: Scenes, k: int, rng: np.random.Generator) -> Ints:
    """Return examples × choices × aspects: k different values of each; choice 0 has the scene's own."""
    values = np.repeat(scenes.values[:, None, :], k, axis=1)
    for aspect in range(values.shape[2]):
        for j in range(1, k):
            # A draw from the values not yet taken: step over the taken ones in ascending order.
            value = rng.integers(0, N_VALUES[aspect] - j, len(scenes))
            for taken in np.sort(values[:, :j, aspect], axis=1).T:
                value += value >= taken
            values[:, j, aspect] = value
    return values


def _shown(answer: Ints, k: int, cue: Cue, rng: np.random.Generator) -> Ints:
    """Return the column shown at each position: random, but the right one where the position cue puts it."""
    n = len(answer)
    chance: Floats = np.full(k, 1 / k)
    if cue.strength is not None:
        chance[:] = (1 - cue.strength) / (k - 1)
        chance[int(cue.text)] = cue.strength
    place = rng.choice(k, size=n, p=chance)
    shown = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    rows = np.arange(n)
    now = np.argmax(shown == answer[:, None], axis=1)
    shown[rows, now] = shown[rows, place]
    shown[rows, place] = answer
    return shown


def _contexts(scenes: Scenes, pair: Ints, values: Ints, answer: Ints, rng: np.random.Generator) -> pl.Series:
    """Return context and question: what is right, what is wrong told of somebody else, in either order."""
    n, k = len(scenes), values.shape[1]
    rows = np.arange(n)
    told = PAIRS[pair]
    true_values = draw_values(n, rng)
    np.put_along_axis(true_values, told, np.take_along_axis(values[rows, answer], told, axis=1), axis=1)
    one_more = TRIPLES[pair][rows, rng.integers(0, 3, n)]
    right = tell(scenes.with_values(true_values), np.column_stack([told, one_more]), rng)
    wrong_column = (answer + rng.integers(1, k, n)) % k
    somebody_else = Scenes(draw_subjects(n, rng), scenes.tense, values[rows, wrong_column])
    wrong = tell(somebody_else, told, rng)
    frame = pl.DataFrame(
        {
            "right": right.select(sentence([pl.col("text")])).to_series(),
            "wrong": wrong.select(sentence([pl.col("text")])).to_series(),
            "question": _QUESTIONS.gather(rng.integers(0, len(_QUESTIONS), n)),
            "name": scenes.names(),
            "right_first": rng.random(n) < 0.5,
        }
    )
    first = pl.when("right_first")
    return frame.select(
        pl.format(
            "{} {} {} {}?",
            first.then("right").otherwise("wrong"),
            first.then("wrong").otherwise("right"),
            "question",
            "name",
        )
    ).to_series()
