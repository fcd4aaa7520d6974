"""Averaged n-gram vectors against scikit-learn's hashed n-grams under SGD, texts to model, for equal epochs.

On SNLI's pairs where they lie beside this checkout, on a generated corpus of the same shape elsewhere (then only
the times can be compared, its labels being random). Both learn from premise and hypothesis.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import Ratio, Seconds, record, snli_or_generated, timed, write_json

EPOCHS = 5
#: What the project promises: at most this many times the time of scikit-learn.
PROMISED = 1.5


def scikit_learn(train: pl.DataFrame, test: pl.DataFrame) -> tuple[Any, float]:
    """Return the time of hashing both texts and of the epochs, and the accuracy on test."""
    from scipy import sparse
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    labels = train["label"].cast(pl.String).to_list()
    fitted: dict[str, Any] = {}

    def features(table: pl.DataFrame) -> Any:
        sides = [
            HashingVectorizer(ngram_range=(1, 2)).transform(table[c].to_list())
            for c in ("premise", "hypothesis")
        ]
        return sparse.hstack(sides, format="csr")

    def fit() -> None:
        model = SGDClassifier(loss="log_loss", max_iter=EPOCHS, tol=None, random_state=0)
        fitted["model"] = model.fit(features(train), labels)

    took = timed(fit)
    guessed = fitted["model"].predict(features(test))
    return took, float((guessed == test["label"].cast(pl.String).to_numpy()).mean())


def ours(train: pl.DataFrame, test: pl.DataFrame, condition: Any) -> tuple[Any, float]:
    """Return the time from tables to a fitted model, and the accuracy on test."""
    from cuecard.data import load
    from cuecard.models import FastText

    def fit(table: pl.DataFrame) -> FastText:
        # Every epoch is run and judged on a held-out part, as a user's run would be.
        return FastText(epochs=EPOCHS, patience=EPOCHS).fit(load(table).train, condition=condition)

    fit(train.head(2_000))  # compiles the loops
    fitted: dict[str, Any] = {}
    took = timed(lambda: fitted.update(model=fit(train)))
    asked = load(train, test=test).test
    assert asked is not None
    chances = fitted["model"].predict_proba(asked)
    answers = np.array(fitted["model"].labels_)[chances.argmax(axis=1)]
    return took, float((answers == asked.table["label"].cast(pl.String).to_numpy()).mean())


def main(argv: list[str]) -> None:
    """Print both times, their ratio and the accuracies, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.fasttext")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which the shortest time counts")
    arguments = parser.parse_args(argv)
    train, test = snli_or_generated()
    rounds = []
    for _ in range(arguments.repeats):
        theirs, their_accuracy = scikit_learn(train, test)
        own, accuracy = ours(train, test, "full")
        rounds.append((own, theirs))
    _, partial = ours(train, test, "hypothesis")
    figures: dict[str, Any] = {"pairs": train.height, "epochs": EPOCHS, "promised_ratio": PROMISED}
    for clock in ("clock", "processor"):
        mine, other = (min(getattr(r[i], clock) for r in rounds) for i in (0, 1))
        figures |= {f"ours_{clock}": mine, f"scikit_learn_{clock}": other, f"ratio_{clock}": mine / other}
    figures |= {
        "accuracy": accuracy,
        "hypothesis_accuracy": partial,
        "scikit_learn_accuracy": their_accuracy,
    }
    print(f"scikit-learn: {figures['scikit_learn_clock']:.2f} s, {their_accuracy:.1%} right on test")
    print(
        f"ours: {figures['ours_clock']:.2f} s, {figures['ratio_clock']:.2f} times that on the clock and "
        f"{figures['ratio_processor']:.2f} times in processor time (promised {PROMISED:g}), {accuracy:.1%} right"
    )
    our_best, their_best = (
        Seconds(*(min(getattr(r[i], c) for r in rounds) for c in ("clock", "processor"))) for i in (0, 1)
    )
    record(
        Ratio(
            "`fasttext`, texts to model",
            "`HashingVectorizer` + `SGDClassifier`",
            our_best,
            their_best,
            PROMISED,
        )
    )
    print(f"ours, hypothesis only: {partial:.1%} right")
    print(f"written to {write_json('fasttext', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
