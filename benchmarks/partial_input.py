"""Partial input against one fit of scikit-learn: 15 cross-fits of ours, one TF-IDF and saga fit of theirs.

On SNLI's pairs where they lie beside this checkout, on a generated corpus of the same shape elsewhere (then only
the times can be compared, its labels being random).
"""

from __future__ import annotations

import argparse
from typing import Any

import polars as pl

from benchmarks.measure import seconds, snli_or_generated, write_json

#: What the project promises: 15 fits in at most this many times the one fit of scikit-learn.
PROMISED = 5.0


def scikit_learn(train: pl.DataFrame, test: pl.DataFrame) -> tuple[float, float]:
    """Return seconds of one hypothesis-only fit, texts to model, and its accuracy on test."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts, labels = train["hypothesis"].to_list(), train["label"].cast(pl.String).to_list()
    fitted: dict[str, Any] = {}

    def fit() -> None:
        fitted["vectoriser"] = TfidfVectorizer(ngram_range=(1, 2))
        features = fitted["vectoriser"].fit_transform(texts)
        fitted["model"] = LogisticRegression(solver="saga").fit(features, labels)

    took = seconds(fit)
    guessed = fitted["model"].predict(fitted["vectoriser"].transform(test["hypothesis"].to_list()))
    return took, float((guessed == test["label"].cast(pl.String).to_numpy()).mean())


def fifteen_fits(train: pl.DataFrame) -> float:
    """Return seconds of the audit without test split: three inputs and two blind rules in five folds each."""
    from cuecard.audits import PartialInput
    from cuecard.data import load

    audit = PartialInput(learning_curve=False)
    audit.run(load(train.head(2_000)))  # compiles the loops
    return seconds(lambda: audit.run(load(train)))


def whole_audit(train: pl.DataFrame, test: pl.DataFrame) -> tuple[float, dict[str, float]]:
    """Return seconds of the audit as `cuecard audit` runs it, and the accuracies on test."""
    from cuecard.audits import PartialInput
    from cuecard.data import load

    found: dict[str, Any] = {}

    def run() -> None:
        found["result"] = PartialInput().run(load(train, test=test))

    took = seconds(run)
    return took, {line["name"]: line["accuracy"] for line in found["result"].summary["baselines"]}


def main(argv: list[str]) -> None:
    """Print both times, their ratio and the accuracies, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.partial_input")
    parser.add_argument("--repeats", type=int, default=1, help="rounds, of which the shortest time counts")
    arguments = parser.parse_args(argv)
    train, test = snli_or_generated()
    rounds = []
    for _ in range(arguments.repeats):
        theirs, their_accuracy = scikit_learn(train, test)
        rounds.append((fifteen_fits(train), theirs))
    ours, theirs = min(first for first, _ in rounds), min(second for _, second in rounds)
    complete, accuracy = whole_audit(train, test)
    figures = {
        "pairs": train.height,
        "fifteen_fits_seconds": ours,
        "scikit_learn_seconds": theirs,
        "ratio": ours / theirs,
        "promised_ratio": PROMISED,
        "whole_audit_seconds": complete,
        "scikit_learn_accuracy": their_accuracy,
        "accuracy": accuracy,
    }
    print(f"scikit-learn, one hypothesis-only fit: {theirs:.2f} s, {their_accuracy:.1%} right on test")
    print(
        f"ours, 15 fits and the blind rules: {ours:.2f} s, {ours / theirs:.2f} times that (promised {PROMISED:g})"
    )
    print(
        f"whole audit with test split: {complete:.2f} s, hypothesis only {accuracy['hypothesis_only']:.1%} right"
    )
    print(f"written to {write_json('partial_input', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
