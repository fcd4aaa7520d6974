"""The training loop against a bare one: fit of `bilstm` and `esim`, and forward, backward and step by hand.

The bare loop has its batches ready: the same ones, padded beforehand. It neither reads texts nor learns a
vocabulary, neither stops early nor watches anything. On SNLI's pairs where they lie beside this checkout, on a
generated corpus elsewhere.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import timed, write_json

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "snli" / "train_partial.parquet"
PAIRS = 3_000
MODELS = ("bilstm", "esim")
#: What the project promises: a fit takes at most this many times the bare loop.
PROMISED = 1.3


def pairs(n: int) -> Any:
    """Return instances of n pairs."""
    from cuecard.data import load
    from cuecard.data.demo import demo_corpus

    if not REAL.exists():
        return load(demo_corpus(n, seed=0)).train
    rows = pl.read_parquet(REAL).select("premise", "hypothesis", "label")
    return load(rows.sample(n, seed=0, shuffle=True)).train


def ours(name: str, data: Any) -> Any:
    """Return a model after one epoch, texts to weights."""
    from cuecard.models import MODELS as known

    return known.get(name)(epochs=1, held_out=0, first_vectors="random").fit(data)


def bare(model: Any, data: Any) -> Any:
    """Return an epoch of plain PyTorch on the module and the batches of a model, as a function to be timed."""
    import torch

    from cuecard.models.neural.batches import epoch_batches

    rows = model.rows(data)
    order = epoch_batches(rows.lengths, model.batch_size, seed=0, epoch=0)
    gold = torch.from_numpy(data.label_codes.astype(np.int64))
    batches = [(rows.collate(batch), gold[batch]) for batch in order]
    module = model.build(len(model.labels_)).train()
    optimiser = torch.optim.Adam(module.parameters(), lr=model.learning_rate)

    def epoch() -> None:
        for batch, right in batches:
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(batch), right)
            loss.backward()
            optimiser.step()

    return epoch


def compare(name: str, data: Any, repeats: int) -> dict[str, float]:
    """Return seconds of both and their ratio, by processor time: it hardly depends on who else is there."""
    model = ours(name, data)
    epoch = bare(model, data)
    # In turns, so that both meet the same machine.
    rounds = [(timed(lambda: ours(name, data)), timed(epoch)) for _ in range(repeats)]
    fit, loop = (min(round_[side].processor for round_ in rounds) for side in (0, 1))
    return {
        "fit_seconds": fit,
        "bare_seconds": loop,
        "ratio": fit / loop,
        "pairs_per_second": len(data) / fit,
    }


def main(argv: list[str]) -> None:
    """Print both times and their ratio for each model, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.training_loop")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--repeats", type=int, default=2, help="rounds, of which the shortest time counts")
    arguments = parser.parse_args(argv)
    data = pairs(arguments.pairs)
    figures: dict[str, Any] = {"pairs": len(data), "promised_ratio": PROMISED}
    for name in MODELS:
        figures[name] = found = compare(name, data, arguments.repeats)
        print(
            f"{name}: fit {found['fit_seconds']:.2f} s, bare loop {found['bare_seconds']:.2f} s, "
            f"{found['ratio']:.2f} times that (promised {PROMISED:g}); {found['pairs_per_second']:,.0f} pairs/s"
        )
    print(f"written to {write_json('training_loop', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
