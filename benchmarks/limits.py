"""What may take at most so many seconds of an idle processor, however large or hostile the input.

Other work on a machine takes caches and half of each core away, so that its processor time is longer, too: it is
measured against that of a fixed piece of work just before and after, and the best of three runs counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks.measure import write_json

#: Seconds of a processor that `_fixed_work` takes on an idle machine of 2023.
USUAL = 0.02


@dataclass(frozen=True)
class Limit:
    """What is timed, the seconds that it may take, and what prepares it and returns the work."""

    name: str
    seconds: float
    prepared: Callable[[], Callable[[], object]]


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds that work takes of an idle processor, the best of three runs."""
    taken = []
    for _ in range(3):
        before, start = _fixed_work(), time.process_time()
        work()
        used = time.process_time() - start
        taken.append(used / max(1.0, (before + _fixed_work()) / 2 / USUAL))
    return min(taken)


def _fixed_work() -> float:
    numbers = np.random.default_rng(0).random(300_000)
    start = time.process_time()
    np.sort(numbers)
    sum(i * i for i in range(300_000))
    return time.process_time() - start


def redundant_cues() -> Callable[[], object]:
    """Prepare 2,000 cues of 50,000 instances that are grouped and tested given each other."""
    from cuecard.stats.cues.redundancy import conditional_strength, group_redundant

    rng = np.random.default_rng(3)
    cells = np.unique(rng.integers(50_000 * 2_000, size=500_000))
    places = cells // 2_000, cells % 2_000
    presence = sparse.csc_matrix((np.ones(len(cells)), places), shape=(50_000, 2_000))
    labels, asked = rng.integers(3, size=50_000), np.arange(1, 2_000)
    return lambda: (
        group_redundant(presence),
        conditional_strength(presence, labels, asked, asked - 1, asked % 3),
    )


def features_within_examples(sizes: list[int]) -> Callable[[], object]:
    """Prepare the test of 20,000 features within examples of so many rows."""
    from cuecard.stats import within_example_test

    rng = np.random.default_rng(14)
    cells = [(k, m) for k in sizes for m in range(1, k)]
    counts = (50_000 / np.arange(1, 20_001) ** 0.8 / len(cells) + 1).astype(int)
    feature, n = np.repeat(np.arange(20_000), len(cells)), np.repeat(counts, len(cells))
    k, m = (np.tile(part, 20_000) for part in np.array(cells).T)
    right = rng.binomial(n, m / k)
    return lambda: within_example_test(feature, k, m, n, right)


def million_examples() -> Callable[[], object]:
    """Prepare the test of one feature in a million examples of many chances."""
    from cuecard.stats import within_example_test

    k, m = np.array([(k, m) for k in (3, 4, 5) for m in range(1, k)]).T
    n = np.full(len(k), 1_000_000 // len(k))
    right = (n * (0.9 * m / k + 0.09)).astype(int)
    return lambda: within_example_test(np.zeros(len(k), int), k, m, n, right)


def walks_past_hubs() -> Callable[[], object]:
    """Prepare the pair graph of 300,000 pairs and a million sentences, five of which are in a fifth of the pairs."""
    from cuecard.features.pair_graph import leakage_features, pair_graph

    rng = np.random.default_rng(1)
    first = rng.integers(0, 1_000_000, 300_000)
    second = np.where(
        rng.random(300_000) < 0.2, rng.integers(0, 5, 300_000), rng.integers(0, 1_000_000, 300_000)
    )
    return lambda: leakage_features(pair_graph(first, second, 1_000_000))


def looping_prompt() -> Callable[[], object]:
    """Prepare a prompt of nested loops, which is refused."""
    from cuecard.errors import InputError
    from cuecard.probes.prompts.filling import filled

    template = "{% for i in range(90000) %}{% set s = range(90000)|sum %}{% endfor %}"

    def refuse() -> None:
        with suppress(InputError):
            filled(template, {"premise": "a", "hypothesis": "b"}, "The prompt 'p'")

    return refuse


def looping_answer() -> Callable[[], object]:
    """Prepare an answer of 128 KB that repeats itself."""
    from cuecard.probes.formats.answer_parsing import parsed_answer

    answer = ("answer: entailment? " * 131_072)[:131_072]
    return lambda: parsed_answer(answer, ["contradiction", "entailment", "neutral"])


def generated_corpus() -> Callable[[], object]:
    """Prepare the generated corpus of 550,000 pairs."""
    from cuecard.data.demo import demo_corpus

    return demo_corpus


def generated_pairs() -> Callable[[], object]:
    """Prepare 100,000 pairs with planted cues."""
    from cuecard.data.demo import demo_nli

    return lambda: demo_nli(100_000)


LIMITS = [
    Limit("2,000 cues grouped and tested given each other", 3.0, redundant_cues),
    Limit("20,000 features within pairs of rows", 0.4, lambda: features_within_examples([2])),
    Limit("20,000 features within four rows", 1.5, lambda: features_within_examples([4])),
    Limit("20,000 features within two to five rows", 3.0, lambda: features_within_examples([2, 3, 4, 5])),
    Limit("a feature in a million examples", 2.0, million_examples),
    Limit("walks past hubs of 60,000 pairs", 10.0, walks_past_hubs),
    Limit("a prompt that loops", 5.0, looping_prompt),
    Limit("an answer that repeats itself", 1.0, looping_answer),
    Limit("a corpus of 550,000 pairs", 15.0, generated_corpus),
    Limit("100,000 pairs with planted cues", 5.0, generated_pairs),
]


def main(argv: list[str]) -> None:
    """Print what each takes beside what it may take."""
    taken = {limit.name: seconds_of(limit.prepared()) for limit in LIMITS}
    for limit in LIMITS:
        verdict = "" if taken[limit.name] <= limit.seconds else "  TOO SLOW"
        print(f"{limit.name:<50}{taken[limit.name]:>7.2f} s, at most {limit.seconds:g} s{verdict}")
    write_json("limits", taken)


if __name__ == "__main__":
    main([])
