"""Generated datasets: pairs, questions with choices, and corpora of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.demo.language import (
    N_VALUES,
    PAIRS,
    TRIPLES,
    Scenes,
    draw_scenes,
    draw_subjects,
    draw_values,
    other_values,
    sentence,
    tell,
    told_mask,
)
from cuecard.data.demo.planted import (
    CHOICE_CUES,
    NLI_CUES,
    Cue,
    CueKind,
    Demo,
    complete,
    draw_features,
    joint,
    truth,
    write,
)
from cuecard.data.demo.predictions import both_splits
from cuecard.data.instances import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Floats, Ints

PAIR_LABELS = ("entailment", "neutral", "contradiction")
_NEUTRAL, _CONTRADICTION = 1, 2
_PRIOR: Floats = np.full(3, 1 / 3)

#: A repeated hypothesis occurs in this many pairs, each with its own premise.
REPEATS = 3


def demo_nli(
    n: int = 6000, *, test_fraction: float = 0.25, seed: int = 0, cues: Iterable[Cue] | None = NLI_CUES
) -> Demo:
    """Return n premise–hypothesis pairs with planted cues and the truth about them.

    The hypothesis tells two aspects of a scene and is drawn first, whatever the label. The premise is then
    made to fit: it tells the same two and one more (entailment), the same with one of them changed
    (contradiction), or only the three others (neutral). So neither sentence alone says anything about the
    label, and both together say all. Cues change this for the hypothesis only; a kind of cue that `cues`
    leaves out is written in just as often, but independently of the label. `cues=None` is the clean control:
    hypotheses independent of the labels altogether.
    """
    if not 0 <= test_fraction < 1 or n < 1:
        raise UsageError("A demo set needs n ≥ 1 and a test_fraction of at least 0 and below 1.")
    table = complete(cues, NLI_CUES, PAIR_LABELS)
    planted = truth(table.values())
    rows, present = both_splits(
        n, test_fraction, seed, lambda size, stream: _split_of_pairs(size, table, stream)
    )
    instances = Instances(
        rows, task="pair", labels=PAIR_LABELS, name="demo-nli" if planted else "demo-nli-clean"
    )
    return Demo(instances, planted, clean=not planted, present=present)


def _split_of_pairs(
    n: int, cues: Mapping[CueKind, Cue], stream: np.random.SeedSequence
) -> tuple[pl.DataFrame, dict[CueKind, Bools]]:
    label_rng, text_rng, cue_rng, premise_rng = (np.random.default_rng(s) for s in stream.spawn(4))
    repeated = np.arange(n) < REPEATS * round(n * cues["pair_graph"].share / REPEATS)
    codes, available = _draw_labels(repeated, cues["pair_graph"], label_rng)
    source = np.where(repeated, np.arange(n) - np.arange(n) % REPEATS, np.arange(n))
    scenes, pair = draw_scenes(n, text_rng).take(source), text_rng.integers(0, len(PAIRS), n)[source]
    clauses = tell(scenes, PAIRS[pair], text_rng)
    kinds: tuple[CueKind, ...] = ("word", "bigram", "negation", "length")
    features = draw_features(kinds, cues, PAIR_LABELS, _PRIOR, (codes, ~repeated, available), cue_rng)
    hypotheses = write(clauses, features, cues, source, text_rng)
    premises = _premises(scenes, pair, codes, premise_rng)
    order = text_rng.permutation(n)
    present: dict[CueKind, Bools] = {kind: features[kind][order] for kind in kinds}
    present["pair_graph"] = repeated[order]
    frame = pl.DataFrame(
        {
            "premise": premises,
            "hypothesis": hypotheses,
            "label": pl.Series(PAIR_LABELS, dtype=pl.Enum(PAIR_LABELS)).gather(codes),
        }
    )
    numbered = {"example": pl.int_range(n), "position": pl.lit(0, dtype=pl.Int32)}
    return frame.select(pl.all().gather(order)).with_columns(**numbered), present


def _draw_labels(repeated: Bools, cue: Cue, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return every row's label, and P(label, hypothesis is not repeated)."""
    inside = joint(cue, PAIR_LABELS, _PRIOR) / cue.share
    available = _PRIOR - repeated.mean() * inside
    if available.min() <= 0:
        raise UsageError(
            "The pair_graph cue cannot be that common: no row would be left for its label elsewhere."
        )
    outside = available / available.sum()
    chance = rng.random(len(repeated))
    codes = np.where(
        repeated,
        np.searchsorted(np.cumsum(inside)[:-1], chance),
        np.searchsorted(np.cumsum(outside)[:-1], chance),
    )
    return codes, available


def _premises(scenes: Scenes, pair: Ints, codes: Ints, rng: np.random.Generator) -> pl.Series:
    """Return premises that have the labelled relation to hypotheses about these pairs of aspects."""
    n = len(scenes)
    rows = np.arange(n)
    # Aspects the hypothesis does not tell are new in every premise, so the premises of a repeated one differ.
    values = np.where(told_mask(PAIRS[pair]), scenes.values, draw_values(n, rng))
    changed = other_values(values, PAIRS[pair][rows, rng.integers(0, 2, n)], rng)
    values = np.where((codes == _CONTRADICTION)[:, None], changed, values)
    one_more = TRIPLES[pair][rows, rng.integers(0, 3, n)]
    same_and_more = np.column_stack([PAIRS[pair], one_more])
    told = np.where((codes == _NEUTRAL)[:, None], TRIPLES[pair], same_and_more)
    return tell(scenes.with_values(values), told, rng).select(sentence([pl.col("text")])).to_series()


LABELS = ("right", "wrong")
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


#: Sizes of SNLI: tokens per premise and hypothesis, pairs per premise, pairs in train.
PREMISE_TOKENS, HYPOTHESIS_TOKENS, PAIRS_PER_PREMISE, SNLI_PAIRS = 14.0, 7.5, 3, 550_000
#: Pairs made at a time, whole premises.
CHUNK_PAIRS = 90_000
_TYPES = 50_000
#: Zipf's law holds up to about this rank; beyond it frequencies fall with the square, as SNLI's do.
_TAIL_RANK = 1000


def demo_corpus(n: int = SNLI_PAIRS, seed: int = 0) -> pl.DataFrame:
    """Return n pairs as `premise, hypothesis, label`, all labels independent of the texts."""
    return pl.concat(demo_corpus_chunks(n, seed))


def demo_corpus_chunks(n: int, seed: int = 0, start: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the pairs of `demo_corpus` chunk after chunk, from chunk number `start` on."""
    for chunk, first in enumerate(range(0, n, CHUNK_PAIRS)):
        if chunk >= start:
            yield _chunk(min(CHUNK_PAIRS, n - first), np.random.default_rng([seed, chunk]))


def _chunk(n: int, rng: np.random.Generator) -> pl.DataFrame:
    premises = random_texts(-(-n // PAIRS_PER_PREMISE), PREMISE_TOKENS, rng)
    codes = rng.integers(0, len(PAIR_LABELS), n)
    return pl.DataFrame(
        {
            "premise": premises.gather(np.arange(n) // PAIRS_PER_PREMISE),
            "hypothesis": random_texts(n, HYPOTHESIS_TOKENS, rng),
            "label": pl.Series(PAIR_LABELS, dtype=pl.Enum(PAIR_LABELS)).gather(codes),
        }
    )


def random_texts(n: int, mean_tokens: float, rng: np.random.Generator) -> pl.Series:
    """Return n texts of about this many words."""
    words, cumulative = _vocabulary()
    # Half of a length is fixed, half varies, which gives about SNLI's spread.
    lengths = int(mean_tokens / 2) + rng.poisson(mean_tokens - int(mean_tokens / 2), n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.minimum(np.searchsorted(cumulative, rng.random(offsets[-1])), len(words) - 1)
    import pyarrow as pa  # slow to import, and the other generators do without

    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), words.gather(ids).to_arrow())
    joined = pl.from_arrow(lists)
    assert isinstance(joined, pl.Series)
    joined = joined.list.join(" ")
    return joined.str.slice(0, 1).str.to_uppercase() + joined.str.slice(1) + "."


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[pl.Series, npt.NDArray[np.float64]]:
    """Return the words, frequent ones short, and their cumulative probabilities."""
    syllables = ["".join(s) for s in product("bdfgklmnprstvz", "aeiou")]
    short = ["".join(s) for s in product(syllables, repeat=2)]
    long = ["".join(s) for s in product(syllables[::2], syllables, syllables[1::2])]
    order = np.random.default_rng(0).permutation(len(long))[: _TYPES - len(syllables) - len(short)]
    words = syllables + short + [long[i] for i in order]
    rank = np.arange(1.0, _TYPES + 1)
    weights = 1 / (rank * (1 + rank / _TAIL_RANK))
    return pl.Series(words, dtype=pl.String), np.cumsum(weights / weights.sum())
