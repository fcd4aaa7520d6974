"""The simulations of every section of a card, as rows of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.calibration import model_tests, robust, score, units
from benchmarks.calibration.rows import Row
from cuecard.data import Instances, Task
from cuecard.data.demo import mixed_choices, random_labels, with_weights
from cuecard.data.demo.shapes import WeightKind

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


def repeats(task: Task, n: int, copies: units.Copies, near: bool, seed: int) -> Instances:
    """Return random words with labels that say nothing, each example as often as `copies` says."""
    return units.with_copies(units.random_words(task, n, seed=seed), copies, near=near, seed=seed)


def weighted(task: Task, n: int, kind: WeightKind, copies: units.Copies, seed: int) -> Instances:
    """Return such data with uneven labels and a column of weights."""
    data = units.with_copies(units.random_words(task, n, seed=seed, even=False), copies, seed=seed)
    return with_weights(data, kind, seed=seed)


def uneven(task: Task, n: int, seed: int) -> Instances:
    """Return such data with one rare label."""
    return units.random_words(task, n, seed=seed, even=False)


def mixed(n: int, seed: int) -> Instances:
    """Return questions with two to four choices, one of them right at random."""
    return random_labels(mixed_choices(units.random_words("choice", n, seed=seed), seed=seed), seed=seed)


def cues(scale: float) -> Iterator[Row]:
    """False cues in every shape, and power for a planted word."""
    runs = max(2, round(40 * scale))
    what = "any significant cue"
    for task in TASKS:
        for name, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 300
            rates = units.null_cues(partial(repeats, task, n, copies, near), runs)
            before = "100 %" if copies == "three" and task != "preference" else ""
            size = f"{n} distinct"
            yield Row("level", what, f"{task}, {name}", size, runs, rates.significant, before)
    for task in LABELLED:
        for name, kind, before in WEIGHTS:
            rates = units.null_cues(partial(weighted, task, 500, kind, "none"), runs, weights="weight")
            yield Row("level", what, f"{task}, {name}", "500", runs, rates.significant, before)
            rates = units.null_cues(partial(weighted, task, 200, kind, "three"), runs, weights="weight")
            yield Row(
                "level",
                what,
                f"{task}, {name}, every example 3 times",
                "200 distinct",
                runs,
                rates.significant,
            )
        for n in (50, 1_000, 10_000):
            fewer = max(2, runs // 2) if n == 10_000 else runs
            rates = units.null_cues(partial(uneven, task, n), fewer)
            yield Row("level", what, f"{task}, uneven labels", f"{n:,}", fewer, rates.significant)
    rates = units.null_cues(partial(mixed, 300), runs)
    yield Row("level", what, "choice, two to four choices", "300", runs, rates.significant)
    for n, copies in ((100, "none"), (600, "none"), (600, "three"), (5_000, "none")):
        power = units.planted_power(runs, n=n, copies=copies)
        often = "" if copies == "none" else ", every text 3 times"
        yield Row("power", "the planted word", f"text, 75 % of 6 %{often}", f"{n:,}", runs, power)


def clusters(scale: float) -> Iterator[Row]:
    """Significance of PECO on random labels, and on topics that go with a label."""
    runs = max(2, round(40 * scale))
    for task in TASKS:
        for name, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 300
            rates = units.null_clusters(partial(repeats, task, n, copies, near), runs)
            before = "96–100 %" if copies == "three" and not near else ""
            yield Row(
                "level", "PECO, p ≤ .05", f"{task}, {name}", f"{n} distinct", runs, rates.significant, before
            )
    rates = units.null_clusters(partial(uneven, "pair", 2_000), runs)
    yield Row("level", "PECO, p ≤ .05", "pair, uneven labels", "2,000", runs, rates.significant)
    rates = units.null_clusters(partial(mixed, 300), runs)
    yield Row("level", "PECO, p ≤ .05", "choice, two to four choices", "300", runs, rates.significant)
    for n, strength in ((100, 0.7), (300, 0.6), (1_000, 0.6)):
        rates = units.null_clusters(partial(units.topics, n, strength), runs)
        data = f"pair, two topics, the label goes with them in {strength:.0%}"
        yield Row("power", "PECO, p ≤ .05", data, f"{n:,}", runs, rates.significant)


def partial_input(scale: float) -> Iterator[Row]:
    """Level, power and coverage of the score test and of intervals of cross-fits."""
    many, runs = max(40, round(1_000 * scale)), max(2, round(40 * scale))
    for n, rare in ((50, 0.5), (200, 0.1), (1_000, 0.03), (10_000, 0.03)):
        data = f"skewed scores, rarer label {rare:.0%}"
        yield Row("level", "score test", data, f"{n:,}", many, score.score_test_level(many, n=n, rare=rare))
    for texts, times in ((100, 3), (60, 5), (20, 20), (20, 50)):
        share = score.copies_level(many, units=texts, copies=times)
        before = "> 25 %" if times == 5 else ""
        data = f"{texts} texts, {times} times each, one label per text"
        yield Row("level", "score test", data, f"{texts * times:,}", many, share, before)
    inputs: tuple[tuple[Task, str], ...] = (("pair", "hypothesis_only"), ("choice", "choices_only"))
    for task, name in inputs:
        for shape, copies, near in COPIES:
            n = 60 if copies == "one to fifty" else 200
            share = score.whole_audit_level(partial(repeats, task, n, copies, near), runs, name)
            before = "20–100 %" if copies == "three" and not near else ""
            what = f"{name.replace('_', ' ')}, p ≤ .05"
            yield Row("level", what, f"{task}, {shape}", f"{n} distinct", runs, share, before)
    for shape, kind, _ in WEIGHTS:
        draw = partial(weighted, "pair", 300, kind, "none")
        share = score.whole_audit_level(draw, runs, "hypothesis_only", weights="weight")
        before = "33–35 %" if kind == "inverse_frequency" else ""
        yield Row("level", "hypothesis only, p ≤ .05", f"pair, {shape}", "300", runs, share, before)
    share = score.whole_audit_level(partial(mixed, 200), runs, "choices_only")
    yield Row("level", "choices only, p ≤ .05", "choice, two to four choices", "200", runs, share)
    for n, strength in ((400, 0.2), (400, 0.5), (2_000, 0.2)):
        found = score.partial_input_rejections(runs, n=n, strength=strength)
        data = f"pair, a cue of strength {strength}, rarer label 10 %"
        before = f"{found['hits']:.0%} by hits".replace("%", " %")
        yield Row("power", "hypothesis only, p ≤ .05", data, f"{n:,}", runs, found["score"], before)
    for n, strength, rare in ((200, 0.0, 0.5), (200, 0.9, 0.5), (800, 0.15, 0.3)):
        held = score.accuracy_coverage(max(10, 2 * runs), n=n, strength=strength, rare=rare)
        data = f"cue of strength {strength}, rarer label {rare:.0%}"
        before = f"{held['independent hits']:.0%}".replace("%", " %")
        yield Row(
            "coverage", "cross-fitted accuracy", data, f"{n:,}", max(10, 2 * runs), held["corrected"], before
        )


def pair_graph(scale: float) -> Iterator[Row]:
    """Level and power of the pair graph without a test split."""
    runs = max(4, round(60 * scale))
    for n, few in ((100, 30), (300, 30), (300, 5), (2_000, 30)):
        fewer = max(4, runs // 3) if n == 2_000 else runs
        found = score.pair_graph_rejections(fewer, n=n, few=few)
        before = f"{found['hits of the cross-fit']:.0%} by hits".replace("%", " %")
        data = f"random labels, half of the second sentences are one of {few}"
        yield Row("level", "p ≤ .05", data, f"{n:,}", fewer, found["chain"], before)
    for n, strength in ((300, 0.65), (300, 0.8), (1_000, 0.65)):
        found = score.pair_graph_rejections(runs, n=n, strength=strength)
        data = f"{strength:.0%} of repeated second sentences have one label"
        yield Row("power", "p ≤ .05", data, f"{n:,}", runs, found["chain"])


def distribution_test(scale: float) -> Iterator[Row]:
    """Level of the distribution test, coverage of its intervals."""
    runs = max(20, round(200 * scale))
    good, weak = model_tests.evenly(0.95), model_tests.evenly(0.45)
    for name, rows, sizes in (
        ("accuracy 95 %", good, (7, 100, 16)),
        ("accuracy 95 %", good, (20, 200, 200)),
        ("accuracy 99 %", model_tests.evenly(0.99), (20, 200, 200)),
        ("accuracy 45 %", weak, (5, 5, 5)),
        ("accuracy 45 %", weak, (300, 3_000, 6_000)),
        ("leaning to a label", model_tests.LEANING, (5, 5, 5)),
        ("leaning to a label", model_tests.LEANING, (120, 60, 40)),
    ):
        found = model_tests.distribution_test(rows, sizes, runs)
        counts = " / ".join(f"{size:,}" for size in sizes)
        kind = "power" if name.startswith("leaning") else "level"
        yield Row(kind, "test, p ≤ .05", f"model: {name}", counts, runs, found["rejected"])  # type: ignore[arg-type]
        before = f"{found['bootstrap']:.0%}".replace("%", " %")
        yield Row("coverage", "a label's share", f"model: {name}", counts, runs, found["coverage"], before)


def debiased_evaluation(scale: float) -> Iterator[Row]:
    """Coverage of the debiased accuracy of models that follow the leak, or read."""
    runs = max(5, round(40 * scale))
    for n, share in ((300, 0.5), (3_000, 0.5), (3_000, 0.3)):
        for name, model in robust.MODELS.items():
            found = robust.debiased_accuracy_coverage(model, n=n, share=share, runs=runs)
            now, earlier = found["doubly_robust"], found["weighted"]
            data = f"{name.replace('_', ' ')}, {share:.0%} “yes”; bias {now.bias:+.3f}, width {now.width:.3f}"
            before = f"{earlier.coverage:.0%}; bias {earlier.bias:+.3f}".replace("%", " %")
            yield Row("coverage", "debiased accuracy", data, f"{n:,}", runs, now.coverage, before)


def reliance(scale: float) -> Iterator[Row]:
    """Signs of use by models that use no cue, and by one that does."""
    runs = max(4, round(60 * scale))
    for n, seed in ((1_500, 0), (3_000, 1)):
        found = robust.false_signs(examples=n, runs=runs, seed=seed)
        before = f"{found['unadjusted']:.0%}, labels not held fixed".replace("%", " %")
        share = found["within gold label and length"]
        yield Row(
            "level", "signs of use, 20 cues", "pair, better at one label", f"{n:,}", runs, share, before
        )
    many = max(20, round(300 * scale))
    for n in (50, 600, 3_000):
        given = model_tests.cue_given_length(many, n=n)
        before = f"{given['not held fixed']:.0%}, length not held".replace("%", " %")
        share = given["length held fixed"]
        data = "choice, the model follows length, the cue travels with it"
        yield Row("level", "use of the cue, p ≤ .05", data, f"{n:,}", many, share, before)
    share = model_tests.cue_given_length(many, planted=0.15)["length held fixed"]
    data = "choice, the model follows length, and the cue in 15 %"
    yield Row("power", "use of the cue, p ≤ .05", data, "600", many, share)


SECTIONS: dict[str, Callable[[float], Iterator[Row]]] = {
    "cues": cues,
    "clusters": clusters,
    "partial input": partial_input,
    "pair graph": pair_graph,
    "distribution test": distribution_test,
    "debiased evaluation": debiased_evaluation,
    "reliance": reliance,
}
