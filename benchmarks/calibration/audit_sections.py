"""The simulations of every section of a card that looks at the data, as rows of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.calibration import score, units
from benchmarks.calibration.edited_copies import edited_copies
from benchmarks.calibration.rows import Row
from benchmarks.calibration.templates import templates
from benchmarks.calibration.unusual_copies import unusual_copies
from benchmarks.demo_shapes import WeightKind, mixed_choices, random_labels, with_weights
from cuecard.data import Instances, Task

TASKS: tuple[Task, ...] = ("text", "pair", "choice", "preference")
LABELLED: tuple[Task, ...] = ("text", "pair")
COPIES: tuple[tuple[str, units.Copies, bool], ...] = (
    ("no copies", "none", False),
    ("every example 3 times", "three", False),
    ("3 near copies each", "three", True),
    ("1 to 50 copies each", "one to fifty", False),
)
WEIGHTS: tuple[tuple[str, WeightKind, str], ...] = (
    ("inverse class frequencies as weights", "inverse_frequency", "78 %"),
    ("Pareto weights", "pareto", "18 %"),
)
Draw = Callable[[int], Instances]


def repeats(task: Task, n: int, copies: units.Copies, near: bool, seed: int, words: int = 10) -> Instances:
    """Return random words with labels that say nothing, each example as often as `copies` says."""
    return units.with_copies(
        units.random_words(task, n, seed=seed, words=words), copies, near=near, seed=seed
    )


def weighted(task: Task, n: int, kind: WeightKind, copies: units.Copies, seed: int) -> Instances:
    """Return such data with uneven labels and a column of weights."""
    data = units.with_copies(units.random_words(task, n, seed=seed, even=False), copies, seed=seed)
    return with_weights(data, kind, seed=seed + 1_000_000)


def uneven(task: Task, n: int, seed: int) -> Instances:
    """Return such data with one rare label."""
    return units.random_words(task, n, seed=seed, even=False)


def mixed(n: int, seed: int) -> Instances:
    """Return questions with two to four choices, one of them right at random."""
    return random_labels(
        mixed_choices(units.random_words("choice", n, seed=seed), seed=seed + 1_000_000),
        seed=seed + 2_000_000,
    )


def cues(scale: float, seed: int) -> Iterator[Row]:
    """False cues in every shape, and power for a planted word."""
    runs = max(2, round(100 * scale))
    what = "any significant cue"
    for task in TASKS:
        for name, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 300
            rates = units.null_cues(partial(repeats, task, n, copies, near), runs, seed=seed)
            before = "100 %" if copies == "three" and task != "preference" else ""
            size = f"{n} distinct"
            yield Row("level", what, f"{task}, {name}", size, runs, rates.significant, before)
    for task in LABELLED:
        for name, kind, before in WEIGHTS:
            rates = units.null_cues(
                partial(weighted, task, 500, kind, "none"), runs, weights="weight", seed=seed
            )
            yield Row("level", what, f"{task}, {name}", "500", runs, rates.significant, before)
            rates = units.null_cues(
                partial(weighted, task, 200, kind, "three"), runs, weights="weight", seed=seed
            )
            yield Row(
                "level",
                what,
                f"{task}, {name}, every example 3 times",
                "200 distinct",
                runs,
                rates.significant,
            )
        for n in (50, 1_000, 10_000):
            fewer = max(2, runs // 4) if n == 10_000 else runs
            rates = units.null_cues(partial(uneven, task, n), fewer, seed=seed)
            yield Row("level", what, f"{task}, uneven labels", f"{n:,}", fewer, rates.significant)
    rates = units.null_cues(partial(mixed, 300), runs, seed=seed)
    yield Row("level", what, "choice, two to four choices", "300", runs, rates.significant)
    for n, copies in ((100, "none"), (600, "none"), (600, "three"), (5_000, "none")):
        power = units.planted_power(runs, n=n, copies=copies, strength=0.85, seed=seed)
        often = "" if copies == "none" else ", every text 3 times"
        yield Row("power", "the planted word", f"text, 85 % of 6 %{often}", f"{n:,}", runs, power)
    held = units.share_coverage(max(2, runs // 2), seed=seed)
    before = f"{held['raw']:.0%} uncorrected".replace("%", " %")
    data = "text, words that go with a label to different degrees"
    yield Row(
        "coverage", "share of a significant cue", data, "2,000", int(held["cues"]), held["corrected"], before
    )


def clusters(scale: float, seed: int) -> Iterator[Row]:
    """Significance of PECO on random labels, and on topics that go with a label."""
    runs = max(2, round(100 * scale))
    what = "PECO, p ≤ .05"
    for task in TASKS:
        for name, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 300
            share = units.peco_rejections(partial(repeats, task, n, copies, near), runs, seed=seed)
            before = "96–100 %" if copies == "three" and not near else ""
            yield Row("level", what, f"{task}, {name}", f"{n} distinct", runs, share, before)
    for words, before in ((6, "38 %"), (8, "")):
        share = units.peco_rejections(
            partial(repeats, "choice", 300, "three", True, words=words), runs, seed=seed
        )
        data = f"choice, 3 near copies each, choices of {words} words"
        yield Row("level", what, data, "300 distinct", runs, share, before)
    sets = max(2, round(40 * scale))
    share = units.peco_rejections(partial(repeats, "text", 300, "three", False), sets, labels=50, seed=seed)
    data = "text, every example 3 times, 50 draws of labels per dataset"
    yield Row("level", what, data, "300 distinct", 50 * sets, share)
    for words in (10, 6):
        sets = max(2, round(12 * scale))
        draw = partial(repeats, "choice", 300, "three", True, words=words)
        share = units.peco_rejections(draw, sets, labels=100, seed=seed)
        data = f"choice, 3 near copies each, choices of {words} words, 100 draws of labels per dataset"
        yield Row("level", what, data, "300 distinct", 100 * sets, share)
    for n in (50, 2_000):
        share = units.peco_rejections(partial(uneven, "pair", n), runs, seed=seed)
        yield Row("level", what, "pair, uneven labels", f"{n:,}", runs, share)
    share = units.peco_rejections(partial(mixed, 300), runs, seed=seed)
    yield Row("level", what, "choice, two to four choices", "300", runs, share)
    for name, kind, _ in WEIGHTS:
        for copies, n in (("none", 500), ("three", 200)):
            draw = partial(weighted, "pair", n, kind, copies)
            share = units.peco_rejections(draw, runs, weights="weight", seed=seed)
            often = "" if copies == "none" else ", every example 3 times"
            yield Row("level", what, f"pair, {name}{often}", f"{n} distinct", runs, share)
    for n, strength in ((100, 0.7), (300, 0.6), (1_000, 0.6)):
        share = units.peco_rejections(partial(units.topics, n, strength), runs, seed=seed)
        data = f"pair, two topics, the label goes with them in {strength:.0%}"
        yield Row("power", what, data, f"{n:,}", runs, share)
    share = units.peco_rejections(partial(weighted_topics, 1_000, 0.6), runs, weights="weight", seed=seed)
    data = "pair, two topics, 60 %, inverse class frequencies as weights"
    yield Row("power", what, data, "1,000", runs, share, "0 %")


def weighted_mixed(n: int, seed: int) -> Instances:
    """Return questions with two to four choices and heavy-tailed weights."""
    return with_weights(mixed(n, seed), "pareto", seed=seed + 3_000_000)


def weighted_topics(n: int, strength: float, seed: int) -> Instances:
    """Return pairs with two topics, as `units.topics` does, and inverse class frequencies as weights."""
    return with_weights(units.topics(n, strength, seed), "inverse_frequency")


def partial_input(scale: float, seed: int) -> Iterator[Row]:
    """Level, power and coverage of the score test and of intervals of cross-fits."""
    many, runs = max(40, round(1_000 * scale)), max(2, round(100 * scale))
    for n, rare in ((50, 0.5), (200, 0.1), (1_000, 0.03), (10_000, 0.03)):
        data = f"skewed scores, rarer label {rare:.0%}"
        yield Row(
            "level",
            "score test",
            data,
            f"{n:,}",
            many,
            score.score_test_level(many, n=n, rare=rare, seed=seed),
        )
    for texts, times in ((100, 3), (60, 5), (20, 20), (20, 50)):
        share = score.copies_level(many, units=texts, copies=times, seed=seed)
        before = "> 25 %" if times == 5 else ""
        data = f"{texts} texts, {times} times each, one label per text"
        yield Row("level", "score test", data, f"{texts * times:,}", many, share, before)
    inputs: tuple[tuple[Task, str], ...] = (("pair", "hypothesis_only"), ("choice", "choices_only"))
    for task, name in inputs:
        for shape, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 200
            share = score.whole_audit_level(partial(repeats, task, n, copies, near), runs, name, seed=seed)
            before = "20–100 %" if copies == "three" and not near else ""
            what = f"{name.replace('_', ' ')}, p ≤ .05"
            yield Row("level", what, f"{task}, {shape}", f"{n} distinct", runs, share, before)
    for shape, kind, _ in WEIGHTS:
        draw = partial(weighted, "pair", 300, kind, "none")
        share = score.whole_audit_level(draw, 3 * runs, "hypothesis_only", weights="weight", seed=seed)
        before = "33–35 %" if kind == "inverse_frequency" else ""
        yield Row("level", "hypothesis only, p ≤ .05", f"pair, {shape}", "300", 3 * runs, share, before)
    for n in (50, 300, 2_000):
        fewer = max(2, runs // 2) if n == 2_000 else runs
        share = score.whole_audit_level(partial(uneven, "pair", n), fewer, "hypothesis_only", seed=seed)
        yield Row("level", "hypothesis only, p ≤ .05", "pair, uneven labels", f"{n:,}", fewer, share)
    share = score.whole_audit_level(partial(mixed, 200), 2 * runs, "choices_only", seed=seed)
    yield Row(
        "level", "choices only, p ≤ .05", "choice, two to four choices", "200", 2 * runs, share, "15 % of 20"
    )
    draw = partial(weighted_mixed, 200)
    share = score.whole_audit_level(draw, runs, "choices_only", weights="weight", seed=seed)
    yield Row(
        "level", "choices only, p ≤ .05", "choice, two to four choices, Pareto weights", "200", runs, share
    )
    for n, strength in ((400, 0.2), (400, 0.5), (2_000, 0.2)):
        found = score.partial_input_rejections(runs, n=n, strength=strength, seed=seed)
        data = f"pair, a cue of strength {strength}, rarer label 10 %"
        before = f"{found['hits']:.0%} by hits".replace("%", " %")
        yield Row("power", "hypothesis only, p ≤ .05", data, f"{n:,}", runs, found["score"], before)
    for n, strength, rare in ((200, 0.0, 0.5), (200, 0.9, 0.5), (800, 0.15, 0.3)):
        held = score.accuracy_coverage(max(10, 2 * runs), n=n, strength=strength, rare=rare, seed=seed)
        data = f"cue of strength {strength}, rarer label {rare:.0%}"
        before = f"{held['independent hits']:.0%}".replace("%", " %")
        yield Row(
            "coverage", "cross-fitted accuracy", data, f"{n:,}", max(10, 2 * runs), held["corrected"], before
        )


def pair_graph(scale: float, seed: int) -> Iterator[Row]:
    """Level and power of the pair graph without a test split."""
    runs = max(4, round(60 * scale))
    for n, few in ((100, 30), (300, 30), (300, 5), (2_000, 30)):
        fewer = max(4, runs // 3) if n == 2_000 else runs
        found = score.pair_graph_rejections(fewer, n=n, few=few, seed=seed)
        before = f"{found['hits of the cross-fit']:.0%} by hits".replace("%", " %")
        data = f"random labels, half of the second sentences are one of {few}"
        yield Row("level", "p ≤ .05", data, f"{n:,}", fewer, found["chain"], before)
    found = score.pair_graph_rejections(runs, n=100, copies=3, seed=seed)
    data = "random labels, half of the second sentences are one of 30, every pair 3 times"
    before = f"{found['hits of the cross-fit']:.0%} by hits".replace("%", " %")
    yield Row("level", "p ≤ .05", data, "100 distinct", runs, found["chain"], before)
    for n, strength in ((300, 0.65), (300, 0.8), (1_000, 0.65)):
        found = score.pair_graph_rejections(runs, n=n, strength=strength, seed=seed)
        data = f"{strength:.0%} of repeated second sentences have one label"
        yield Row("power", "p ≤ .05", data, f"{n:,}", runs, found["chain"])


def slices(scale: float, seed: int) -> Iterator[Row]:
    """How often a rule is significant in some slice by columns that say nothing."""
    runs = max(2, round(60 * scale))
    for task in TASKS:
        for name, copies, _ in COPIES[:2]:
            share = score.slice_rejections(partial(repeats, task, 200, copies, False), runs, seed=seed)
            data = f"{task}, {name}, two columns of 3 and 8 values"
            yield Row("level", "any significant slice", data, "200 distinct", runs, share)


AUDIT_SECTIONS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    "cues": cues,
    "edited copies": edited_copies,
    "templates": templates,
    "unusual copies": unusual_copies,
    "clusters": clusters,
    "partial input": partial_input,
    "slices": slices,
    "pair graph": pair_graph,
}
