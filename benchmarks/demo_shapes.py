"""Shapes of data that tests and calibrations are about: hidden leaks, copies, mixed choices, weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.demo.generated import PAIR_LABELS, random_texts
from cuecard.data.instances import Instances
from cuecard.errors import UsageError

_NAMES = ["Anna", "Ben", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ian", "Jo"]
_NAMES += ["Kim", "Lea", "Max", "Nina", "Olaf", "Pia", "Quinn", "Rosa", "Sam", "Tina"]
_THINGS = ["book", "lamp", "chair", "phone", "table", "watch", "bag", "coat", "clock", "hat"]
_CITIES = ["Paris", "Rome", "Oslo", "Lima", "Cairo", "Tokyo", "Quito", "Bern"]


def demo_unbalanced(
    n: int = 2000, *, rare: float = 0.1, strength: float = 0.5, test_fraction: float = 0.25, seed: int = 0
) -> Instances:
    """Return pairs of which a share `rare` is "yes", with a word that makes "yes" likelier and never the most likely.

    The word "indeed" occurs in `strength` + 0.05 of the hypotheses labelled "yes" and in 0.05 of the others: the area
    under the ROC curve of the hypothesis is 0.5 + strength / 2, and always saying "no" is still most accurate.
    """
    rng = np.random.default_rng(seed)
    yes = rng.random(n) < rare
    cue = rng.random(n) < 0.05 + strength * yes
    hypotheses = random_texts(n, 7.0, rng)
    table = pl.DataFrame(
        {"premise": random_texts(n, 12.0, rng), "hypothesis": hypotheses, "cue": cue}
    ).select(
        "premise",
        hypothesis=pl.when("cue").then(pl.format("Indeed {}", "hypothesis")).otherwise("hypothesis"),
        label=pl.Series(np.where(yes, "yes", "no")),
    )
    return _pairs(table, rng.random(n) < test_fraction, ("no", "yes"), "demo-unbalanced")


def demo_template(
    n: int = 400, *, strength: float = 0.9, test_fraction: float = 0.0, seed: int = 0
) -> Instances:
    """Return pairs whose hypotheses are all made from one template; its last word is that of the label in `strength`.

    Any two hypotheses share most of their words, as copies of one sentence do; with `strength` 0.5 labels are random.
    """
    rng = np.random.default_rng(seed)
    yes = rng.random(n) < 0.5
    good = np.where(rng.random(n) < strength, yes, ~yes)
    slots = [rng.choice(words, n) for words in (_NAMES, _THINGS, _CITIES)]
    hypotheses = [
        f"Yesterday {name} bought a new {thing} in {city} and told us that it was {'good' if fine else 'bad'}."
        for name, thing, city, fine in zip(*slots, good, strict=True)
    ]
    table = pl.DataFrame(
        {
            "premise": random_texts(n, 12.0, rng),
            "hypothesis": hypotheses,
            "label": pl.Series(np.where(yes, "yes", "no")),
        }
    )
    return _pairs(table, rng.random(n) < test_fraction, ("no", "yes"), "demo-template")


def demo_elimination(
    premises: int = 1500, *, strength: float = 0.4, test_fraction: float = 0.25, seed: int = 0
) -> Instances:
    """Return three pairs per premise; with chance `strength` each label occurs once, otherwise labels are random.

    Neither sentence says anything about the label, but where training has two pairs of a premise, test tends to have
    the label that is missing.
    """
    rng = np.random.default_rng(seed)
    every = rng.random(premises) < strength
    order = rng.permuted(np.tile(np.arange(3), (premises, 1)), axis=1)
    codes = np.where(every[:, None], order, rng.integers(0, 3, (premises, 3))).ravel()
    table = pl.DataFrame(
        {
            "premise": random_texts(premises, 12.0, rng).gather(np.repeat(np.arange(premises), 3)),
            "hypothesis": random_texts(3 * premises, 7.0, rng),
            "label": pl.Series(PAIR_LABELS, dtype=pl.String).gather(codes),
        }
    )
    return _pairs(table, rng.random(3 * premises) < test_fraction, PAIR_LABELS, "demo-elimination")


def demo_rare_choices(
    n: int = 800, k: int = 2, *, strength: float = 0.5, test_fraction: float = 0.25, seed: int = 0
) -> Instances:
    """Return questions whose wrong choices come from a small pool; a share `strength` of the right ones is new.

    The other right choices come from the pool too. "Take the choice whose text is rarer" scores about
    strength + (1 − strength) / k.
    """
    rng = np.random.default_rng(seed)
    pool = random_texts(max(n // 8, 2 * k), 5.0, rng)
    drawn = rng.permuted(np.tile(np.arange(len(pool)), (n, 1)), axis=1)[:, :k]
    texts = pl.concat([pool, random_texts(n, 5.0, rng)])
    answer = rng.integers(0, k, n)
    new = rng.random(n) < strength
    drawn[np.flatnonzero(new), answer[new]] = len(pool) + np.flatnonzero(new)
    split = np.where(rng.random(n) < test_fraction, "test", "train")
    questions = random_texts(n, 10.0, rng)
    order = np.repeat(np.argsort(split == "test", kind="stable"), k) * k + np.tile(np.arange(k), n)
    table = pl.DataFrame(
        {
            "example_id": np.repeat(np.arange(n), k),
            "position": np.tile(np.arange(k, dtype=np.int32), n),
            "split": np.repeat(split, k),
            "premise": questions.gather(np.repeat(np.arange(n), k)),
            "hypothesis": texts.gather(drawn.ravel()),
            "label": np.where(np.tile(np.arange(k), n) == np.repeat(answer, k), "right", "wrong"),
        }
    ).with_columns(pl.col("example_id").cast(pl.String), pl.col("label").cast(pl.Enum(["right", "wrong"])))
    return Instances(table.select(pl.all().gather(order)), "choice", ("right", "wrong"), "demo-rare-choices")


def demo_long_answers(
    n: int = 1500, *, strength: float = 0.75, word: str = "", share: float = 0.1, seed: int = 0
) -> Instances:
    """Return preferences for the longer of two answers, with a share `strength`; words say nothing beyond that.

    Every common word occurs more often in the longer answer, so that hundreds of words look like cues of their own. A
    `word`, if any, occurs in the chosen answer of a share of the prompts, and in the rejected one of a third as many.
    """
    rng = np.random.default_rng(seed)
    texts = [text.split(" ") for text in random_texts(2 * n, 40.0, rng).to_list()]
    kept = np.sort(rng.integers(8, 41, (n, 2)), axis=1)  # the shorter answer, then the longer
    long_first = rng.random(n) < 0.5
    chosen_long = rng.random(n) < strength
    answers, labels = [], []
    for i in range(n):
        pair = [texts[2 * i][: kept[i, 0]], texts[2 * i + 1][: kept[i, 1]]]
        if word and rng.random() < share * 4 / 3:
            chosen, rejected = (1, 0) if chosen_long[i] else (0, 1)
            pair[chosen if rng.random() < 0.75 else rejected][-1] = word
        written = [" ".join(part) for part in pair]
        right = 1 if chosen_long[i] else 0
        order = (1, 0) if long_first[i] else (0, 1)
        answers += [written[j] for j in order]
        labels += ["chosen" if j == right else "rejected" for j in order]
    table = pl.DataFrame(
        {
            "example_id": np.repeat(np.arange(n), 2),
            "position": np.tile(np.arange(2, dtype=np.int32), n),
            "split": ["train"] * (2 * n),
            "premise": random_texts(n, 12.0, rng).gather(np.repeat(np.arange(n), 2)),
            "hypothesis": answers,
            "label": labels,
        }
    ).with_columns(
        pl.col("example_id").cast(pl.String), pl.col("label").cast(pl.Enum(["chosen", "rejected"]))
    )
    return Instances(table, "preference", ("chosen", "rejected"), "demo-long-answers")


def demo_sources(
    n: int = 1500, *, strength: float = 0.6, test_fraction: float = 0.25, seed: int = 0
) -> Instances:
    """Return pairs from two sources, one of which has most contradictions: the extra column tells what no text does.

    With chance `strength` a contradiction is from "crowd" and any other pair from "news"; otherwise the source is
    random.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    contradiction = np.array(PAIR_LABELS)[codes] == "contradiction"
    crowd = np.where(rng.random(n) < strength, contradiction, rng.random(n) < 0.5)
    table = pl.DataFrame(
        {
            "premise": random_texts(n, 12.0, rng),
            "hypothesis": random_texts(n, 7.0, rng),
            "label": pl.Series(PAIR_LABELS, dtype=pl.String).gather(codes),
            "source": np.where(crowd, "crowd", "news"),
        }
    )
    return _pairs(table, rng.random(n) < test_fraction, PAIR_LABELS, "demo-sources")


def _pairs(table: pl.DataFrame, in_test: np.ndarray, labels: tuple[str, ...], name: str) -> Instances:
    rows = table.with_columns(
        example_id=pl.int_range(table.height).cast(pl.String),
        position=pl.lit(0, dtype=pl.Int32),
        split=pl.Series(np.where(in_test, "test", "train")),
        label=pl.col("label").cast(pl.Enum(list(labels))),
    ).sort("split", descending=True, maintain_order=True)
    columns = ["example_id", "position", "split", "premise", "hypothesis", "label"]
    extra = [column for column in ("source",) if column in rows.columns]
    return Instances(rows.select(*columns, *extra), "pair", labels, name)


WeightKind = Literal["inverse_frequency", "pareto"]


def repeated(
    data: Instances, times: int | npt.NDArray[np.int64], *, near: bool = False, seed: int = 0
) -> Instances:
    """Return the data with every example as often as `times` says, copies right after the first.

    Copies have the label of the first. With `near`, one word of each text of a copy is replaced by a word of the data.
    """
    rng = np.random.default_rng(seed)
    often = np.broadcast_to(np.asarray(times, dtype=np.int64), (data.n_examples,))
    starts = np.searchsorted(data.example_codes, np.arange(data.n_examples))
    sizes = np.bincount(data.example_codes)
    examples = np.repeat(np.arange(data.n_examples), often)
    rows = np.concatenate([np.arange(starts[e], starts[e] + sizes[e]) for e in examples])
    copy = np.arange(len(examples)) - np.repeat(np.cumsum(often) - often, often)
    of_row = np.repeat(copy, sizes[examples])
    table = data.table[rows]
    ids = pl.select(
        pl.concat_str(table["example_id"].cast(pl.String), pl.lit("#"), pl.Series(of_row + 1))
    ).to_series()
    table = table.with_columns(example_id=ids)
    if near:
        vocabulary = (
            data.table["hypothesis"].str.split(" ").explode().unique(maintain_order=True).drop_nulls()
        )
        alone = np.concatenate([[True], ids.to_numpy()[1:] != ids.to_numpy()[:-1]])
        for name in ("premise", "hypothesis"):
            texts = table[name].to_list()
            for i in np.flatnonzero(of_row):
                if name == "premise" and not alone[i]:  # the choices of a question have one premise
                    texts[i] = texts[i - 1]
                elif texts[i]:
                    words = texts[i].split(" ")
                    words[rng.integers(len(words))] = vocabulary[int(rng.integers(len(vocabulary)))]
                    texts[i] = " ".join(words)
            table = table.with_columns(pl.Series(name, texts))
    return replace(data, table=table)


def random_labels(data: Instances, *, seed: int = 0) -> Instances:
    """Return the data with labels that say nothing: shuffled over examples, or a random choice of each made right."""
    rng = np.random.default_rng(seed)
    codes = data.label_codes.copy()
    if data.grouped:
        # Sorting by example plus a random fraction mixes the choices of each.
        order = np.argsort(data.example_codes + rng.random(len(codes)), kind="stable")
        codes = codes[order]
    else:
        for split in data.splits:
            rows = np.flatnonzero((data.table["split"].cast(pl.String) == split).to_numpy())
            codes[rows] = codes[rng.permutation(rows)]
    labels = pl.Series(
        "label", np.array(data.labels, dtype=object)[codes].tolist(), dtype=pl.Enum(data.labels)
    )
    return replace(data, table=data.table.with_columns(labels))


def with_weights(data: Instances, kind: WeightKind, *, column: str = "weight", seed: int = 0) -> Instances:
    """Return the data with a column of weights: inverse class frequencies, or heavy-tailed ones of any label."""
    if kind == "inverse_frequency":
        weights = len(data) / np.bincount(data.label_codes, minlength=len(data.labels))[data.label_codes]
    elif kind == "pareto":
        drawn = np.random.default_rng(seed).pareto(1.5, data.n_examples) + 1
        weights = drawn[data.example_codes]
    else:
        raise UsageError(f"kind must be 'inverse_frequency' or 'pareto', not {kind!r}.")
    return data.with_columns(**{column: pl.Series(weights / weights.mean())})


def mixed_choices(data: Instances, fewest: int = 2, *, seed: int = 0) -> Instances:
    """Return multiple-choice data whose questions have from `fewest` to all of their choices, the right one kept."""
    if not data.grouped:
        raise UsageError("mixed_choices needs data with several choices per example.")
    rng = np.random.default_rng(seed)
    sizes = np.bincount(data.example_codes)
    wanted = rng.integers(fewest, sizes + 1)[data.example_codes]
    # The right choice comes first in a random order of each example's choices.
    chance = np.where(data.label_codes == 0, -1.0, rng.random(len(data)))
    order = np.lexsort((chance, data.example_codes))
    place = np.empty(len(data), dtype=np.int64)
    place[order] = np.arange(len(data)) - np.searchsorted(data.example_codes, data.example_codes[order])
    table = data.table.filter(pl.Series(place < wanted))
    position = pl.int_range(pl.len()).over("split", "example_id").cast(table.schema["position"])
    return replace(data, table=table.with_columns(position=position))
