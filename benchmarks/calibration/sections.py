"""The simulations of every section of a card, as rows of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.calibration import model_tests, robust
from benchmarks.calibration.audit_sections import AUDIT_SECTIONS
from benchmarks.calibration.rows import Row


def distribution_test(scale: float, seed: int) -> Iterator[Row]:
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
        found = model_tests.distribution_test(rows, sizes, runs, seed=seed)
        counts = " / ".join(f"{size:,}" for size in sizes)
        kind = "power" if name.startswith("leaning") else "level"
        yield Row(kind, "test, p ≤ .05", f"model: {name}", counts, runs, found["rejected"])  # type: ignore[arg-type]
        before = f"{found['bootstrap']:.0%}".replace("%", " %")
        yield Row("coverage", "a label's share", f"model: {name}", counts, runs, found["coverage"], before)


def debiased_evaluation(scale: float, seed: int) -> Iterator[Row]:
    """Coverage of the debiased accuracy of models that follow the leak, or read."""
    runs = max(5, round(40 * scale))
    for n, share in ((300, 0.5), (3_000, 0.5), (3_000, 0.3)):
        for name, model in robust.MODELS.items():
            found = robust.debiased_accuracy_coverage(model, n=n, share=share, runs=runs, seed=seed)
            now, earlier = found["doubly_robust"], found["weighted"]
            data = f"{name.replace('_', ' ')}, {share:.0%} “yes”; bias {now.bias:+.3f}, width {now.width:.3f}"
            before = f"{earlier.coverage:.0%}; bias {earlier.bias:+.3f}".replace("%", " %")
            yield Row("coverage", "debiased accuracy", data, f"{n:,}", runs, now.coverage, before)


def reliance(scale: float, seed: int) -> Iterator[Row]:
    """Signs of use by models that use no cue, and by one that does."""
    runs = max(4, round(60 * scale))
    for n, later in ((1_500, 0), (3_000, 1)):
        found = robust.false_signs(examples=n, runs=runs, seed=seed + later)
        before = f"{found['unadjusted']:.0%}, labels not held fixed".replace("%", " %")
        share = found["within gold label and length"]
        yield Row(
            "level", "signs of use, 20 cues", "pair, better at one label", f"{n:,}", runs, share, before
        )
    many = max(20, round(300 * scale))
    for n in (50, 600, 3_000):
        given = model_tests.cue_given_length(many, n=n, seed=seed)
        before = f"{given['not held fixed']:.0%}, length not held".replace("%", " %")
        share = given["length held fixed"]
        data = "choice, the model follows length, the cue travels with it"
        yield Row("level", "use of the cue, p ≤ .05", data, f"{n:,}", many, share, before)
    share = model_tests.cue_given_length(many, planted=0.15, seed=seed)["length held fixed"]
    data = "choice, the model follows length, and the cue in 15 %"
    yield Row("power", "use of the cue, p ≤ .05", data, "600", many, share)


SECTIONS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    **AUDIT_SECTIONS,
    "distribution test": distribution_test,
    "debiased evaluation": debiased_evaluation,
    "reliance": reliance,
}
