"""The simulations of every probe, as rows of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

from benchmarks.calibration import model_tests, robust
from benchmarks.calibration.hard_subset import hard_share
from benchmarks.calibration.probes import Tested, choice_verdicts, copied_test, levels, sharing_test
from benchmarks.calibration.rows import Row
from benchmarks.calibration.weighted_models import weighted_models
from benchmarks.calibration.weights import cues_removed
from benchmarks.calibration.weights import level as weights_level
from cuecard.data import Task

NAMES = {
    "accuracy": "accuracy test",
    "distribution": "distribution test",
    "contrast": "with the cue against without",
    "usual": "usual label of a word (one-sided)",
    "permutation": "permutation test",
    "given_length": "label given length",
}
#: What test sets look like, their size, and how they are drawn.
SHAPES: tuple[tuple[str, str, Tested], ...] = (
    ("pairs share nothing", "600", partial(sharing_test, texts=600, alike=0.0)),
    ("1 to 10 copies each", "120 distinct", copied_test),
    ("60 hypotheses, one answer for each", "600", partial(sharing_test)),
    ("200 hypotheses, one answer for 70 %", "600", partial(sharing_test, texts=200, alike=0.7)),
    ("60 premises, one answer for 70 %", "600", partial(sharing_test, text="premise", alike=0.7)),
    ("60 hypotheses, uneven labels", "900", partial(sharing_test, n=900, even=False)),
    ("20 hypotheses, few pairs", "100", partial(sharing_test, n=100, texts=20)),
)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def probes(scale: float, seed: int) -> Iterator[Row]:
    """Level of every test of a model's answers; ten words in every dataset."""
    sets, fewer = max(2, round(40 * scale)), max(2, round(12 * scale))
    for name, size, draw in SHAPES:
        now = asdict(levels(sets, draw, seed=seed))
        before = asdict(levels(fewer, draw, once=False, seed=seed))
        for test, label in NAMES.items():
            yield Row("level", label, name, size, sets, now[test], _percent(before[test]))


def choice_probes(scale: float, seed: int) -> Iterator[Row]:
    """False and true verdicts about longest, shortest and position, which every multiple-choice model is probed for."""
    sets = max(2, round(40 * scale))
    for n, accuracy, copies in ((50, 0.6, 1), (400, 0.6, 1), (400, 0.95, 1), (100, 0.6, 4)):
        found = choice_verdicts(sets, n=n, accuracy=accuracy, copies=copies, seed=seed)
        data = f"model of accuracy {accuracy:.0%}" + (
            f", every question {copies} times" if copies > 1 else ""
        )
        size = f"{n} distinct" if copies > 1 else f"{n}"
        yield Row("level", "any use of length or position", data, size, sets, found["any"])
    for n in (100, 400):
        found = choice_verdicts(sets, n=n, longest=0.35, seed=seed)
        share = found["relies or signs, longest"]
        yield Row("power", "prefers the longest", "picks it in 35 % more", f"{n}", sets, share)
        found = choice_verdicts(sets, n=n, longest=-0.5, seed=seed)
        yield Row("power", "avoids the longest", "avoids it in half", f"{n}", sets, found["avoids, longest"])


def distribution_test(scale: float, seed: int) -> Iterator[Row]:
    """Level of the distribution test, coverage of its intervals."""
    runs = max(20, round(400 * scale))
    good, weak = model_tests.evenly(0.95), model_tests.evenly(0.45)
    for name, rows, sizes in (
        ("accuracy 95 %", good, (7, 100, 16)),
        ("accuracy 95 %", good, (20, 200, 200)),
        ("accuracy 99 %", model_tests.evenly(0.99), (20, 200, 200)),
        ("accuracy 45 %", weak, (5, 5, 5)),
        ("accuracy 45 %", weak, (5, 50, 50)),
        ("accuracy 70 %", model_tests.evenly(0.7), (5, 5, 5)),
        ("accuracy 45 %", weak, (300, 3_000, 6_000)),
        ("leaning to a label", model_tests.LEANING, (5, 5, 5)),
        ("leaning to a label", model_tests.LEANING, (120, 60, 40)),
    ):
        found = model_tests.distribution_test(rows, sizes, runs, seed=seed)
        counts = " / ".join(f"{size:,}" for size in sizes)
        kind = "power" if name.startswith("leaning") else "level"
        yield Row(kind, "test, p ≤ .05", f"model: {name}", counts, runs, found["rejected"])  # type: ignore[arg-type]
        before = _percent(found["bootstrap"])
        yield Row("coverage", "a label's share", f"model: {name}", counts, runs, found["coverage"], before)


def debiased_evaluation(scale: float, seed: int) -> Iterator[Row]:
    """Coverage of the debiased accuracy of models that follow the leak, oppose it, or read."""
    for n, share, many in (
        (100, 0.5, 200), (300, 0.5, 200), (300, 0.3, 200), (1_000, 0.5, 100), (1_000, 0.3, 100), (3_000, 0.5, 40),
        (3_000, 0.3, 40),
    ):  # fmt: skip
        runs = max(5, round(many * scale))
        for name, found in robust.debiased_coverage(
            robust.MODELS, n=n, share=share, runs=runs, seed=seed
        ).items():
            now, earlier = found["doubly_robust"], found["weighted"]
            data = f"{name.replace('_', ' ')}, {share:.0%} “yes”; bias {now.bias:+.3f}, width {now.width:.3f}"
            before = f"{_percent(earlier.coverage)}; bias {earlier.bias:+.3f}"
            yield Row("coverage", "debiased accuracy", data, f"{n:,}", runs, now.coverage, before)


def reliance(scale: float, seed: int) -> Iterator[Row]:
    """Signs of use by models that use no cue, and by one that does."""
    runs = max(4, round(60 * scale))
    for n, later in ((1_500, 0), (3_000, 1)):
        found = robust.false_signs(examples=n, runs=runs, seed=seed + later)
        before = f"{_percent(found['unadjusted'])}, labels not held fixed"
        share = found["within gold label and length"]
        data = "pair, better at one label"
        yield Row("level", "signs of use, 20 cues", data, f"{n:,}", runs, share, before)
    for n in (30, 50, 600, 3_000):
        many = max(20, round((2_000 if n < 600 else 400) * scale))
        held = model_tests.cue_given_length(many, n=n, seed=seed)
        before = f"{_percent(held['not held fixed'])}, length not held"
        share = held["length held fixed"]
        data = "choice, the model follows length, the cue travels with it"
        yield Row("level", "use of the cue, p ≤ .05", data, f"{n:,}", many, share, before)
    many = max(20, round(400 * scale))
    share = model_tests.cue_given_length(many, planted=0.15, seed=seed)["length held fixed"]
    data = "choice, the model follows length, and the cue in 15 %"
    yield Row("power", "use of the cue, p ≤ .05", data, "600", many, share)


def one_class(scale: float, seed: int) -> Iterator[Row]:
    """Findings of the permutation test about models that are better at one class, and about one that follows words."""
    runs = max(10, round(100 * scale))
    for accuracies in ((0.95, 0.6, 0.6), (0.8, 0.8, 0.6)):
        found = model_tests.better_at_one_class(runs, accuracies, seed=seed)
        data = f"pair, no cue used; correct by class: {', '.join(f'{share:.0%}' for share in accuracies)}"
        before = f"{_percent(found['over all examples'])} over all examples alone"
        yield Row("level", "finding of the permutation test", data, "1,500", runs, found["finding"], before)
    found = model_tests.better_at_one_class(runs, (0.75, 0.75, 0.75), follow=0.9, seed=seed)
    before = f"{_percent(found['over all examples'])} over all examples alone"
    data = "pair, the planted word followed in 90 %"
    yield Row("power", "finding of the permutation test", data, "1,500", runs, found["finding"], before)


def remedies(scale: float, seed: int) -> Iterator[Row]:
    """Audits repeated under weights that were made from the same rows, and the hard subset of data without a leak."""
    sets = max(2, round(30 * scale))
    cases: tuple[tuple[Task, float, str], ...] = (
        ("pair", 0.0, "hypothesis only, exact balance of words"),
        ("pair", 0.1, "hypothesis only, ridge 0.1"),
        ("choice", 0.0, "choices only, exact balance of words"),
    )
    for task, ridge, what in cases:
        found = weights_level(task, sets, ridge=ridge, seed=seed)
        before = f"{_percent(found.against_chance)} against chance"
        yield Row("level", what, f"{task}, random labels", "300", sets, found.against_shuffled, before)
    shares = [hard_share(one, seed + i) for i in range(max(2, sets // 3)) for one in ("pair", "choice")]
    before = _percent(sum(1 - share.by_answers for share in shares) / len(shares))
    easy = sum(1 - share.cross_fitted for share in shares) / len(shares)
    yield Row("level", "examples called easy", "no leak", "300", len(shares), easy, before)


def small_sets(scale: float, seed: int) -> Iterator[Row]:
    """Cues of fewer than 100 instances under the default lexical weights."""
    sets = max(3, round(40 * scale))
    for n in (600, 2_000):
        removed, ess = cues_removed(sets, n=n, seed=seed)
        earlier, _ = cues_removed(sets, n=n, min_count=100, seed=seed)
        data = f"10 cues of 40 instances; effective sample size {_percent(ess)}"
        yield Row(
            "power", "cues removed", data, f"{n:,}", sets, removed, f"{_percent(earlier)} from 100 instances"
        )


PROBE_SECTIONS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    "probes": probes,
    "longest, shortest, position": choice_probes,
    "distribution test": distribution_test,
    "debiased evaluation": debiased_evaluation,
    "weighted models": weighted_models,
    "reliance": reliance,
    "better at one class": one_class,
    "remedies": remedies,
    "weights of small sets": small_sets,
}
