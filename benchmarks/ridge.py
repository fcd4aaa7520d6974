"""Models trained with exact and with cross-validated balance: accuracy, permutation test, held-out Err.

python -m benchmarks.ridge [--data FOLDER] [--models linear fasttext] [--seeds N]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
#: Words of the test set that are balanced there occur in this many of its examples.
TEST_COUNT = 30


def main(argv: list[str] | None = None) -> None:
    """Print a row per model, input, weights and seed, and how often the cross-validated ridge is the better one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ridge", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of public datasets")
    parser.add_argument("--models", nargs="+", default=["linear", "fasttext"])
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(argv)
    rows = compared(options.data / "snli", options.models, options.seeds)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=1):
        print(pl.DataFrame(rows))
    print(verdict(pl.DataFrame(rows)))


def compared(folder: Path, models: list[str], seeds: int) -> list[dict[str, Any]]:
    """Train every model without weights, with exact balance and with the ridge that cross-validation chooses."""
    import cuecard as cc
    from cuecard.audits import Cues
    from cuecard.probes import PermutationTest, Predictions, choose_cues
    from cuecard.remedies import LexicalWeights

    data = cc.load(folder / "train_partial.parquet", test=folder / "test.parquet")
    test = data.test
    assert test is not None
    audit = Cues(features=("word",))
    cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=5)
    on_test = LexicalWeights(min_count=TEST_COUNT, scope="both").balance(
        cc.load(folder / "test.parquet").train
    )
    rows = []
    for scope in ("both", "hypothesis"):
        for ridge in (None, 0.0, "cv"):
            if ridge is None:
                weights, held, ess = None, float("nan"), 1.0
            else:
                remedy = LexicalWeights(ridge=ridge, scope=scope, reaudit=())
                result = remedy.run(data.train)
                weights = remedy.balance(data.train).weights
                held, ess = result.summary["held_out"]["err"], result.summary["ess"]
            for name in models:
                for condition in ("full", "hypothesis"):
                    for seed in range(seeds if name != "linear" else 1):
                        trained = cc.train(data, name, condition=condition, weights=weights, seed=seed)
                        predicted = trained.predictions["test"]
                        answers = np.array([data.labels.index(label) for label in predicted["prediction"]])
                        model = Predictions(name, answers)
                        tested = PermutationTest().run(data, [model], cues).summary["models"][name]
                        right = model.correct(cues.examples)
                        rows.append(
                            {
                                "model": name,
                                "input": condition,
                                "weights": "none" if ridge is None else f"{scope} {ridge}",
                                "seed": seed,
                                "held-out Err": 100 * held,
                                "ESS": 100 * ess,
                                "accuracy": 100 * right.mean(),
                                "U": 100 * tested["usual_accuracy"],
                                "N": 100 * tested["unusual_accuracy"],
                                "U - N": 100 * tested["difference"],
                                "log10 p": tested["log10_p"],
                                "balanced test": 100 * np.average(right, weights=on_test.weights),
                            }
                        )
                        print(rows[-1], flush=True)
    return rows


def verdict(rows: pl.DataFrame) -> str:
    """Return in how many comparisons the cross-validated ridge is better than exact balance, by criterion."""
    keys = ["model", "input", "seed"]
    lines = []
    for scope in ("both", "hypothesis"):
        exact = rows.filter(pl.col("weights") == f"{scope} 0.0")
        chosen = rows.filter(pl.col("weights") == f"{scope} cv")
        both = exact.join(chosen, on=keys, suffix=" cv")
        for name, higher in (
            ("held-out Err", False), ("accuracy", True), ("N", True), ("U - N", False),
            ("log10 p", True), ("balanced test", True),
        ):  # fmt: skip
            change = both[f"{name} cv"] - both[name]
            better = int(((change > 0) == higher).sum())
            lines.append(
                f"weights for {scope}: {name} better with cv in {better} of {both.height}, "
                f"mean change {float(np.mean(change.to_numpy())):+.2f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
