"""`python -m benchmarks [NAME…]`: run all benchmarks, or those named."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.measure import RESULTS, recorded, table

#: Runs by itself.
SHORT = "short"
NOT_A_BENCHMARK = {"__init__", "__main__", "demo_shapes", "measure"}


def names() -> list[str]:
    """Return the benchmarks of this folder."""
    return sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_A_BENCHMARK
    )


def main(argv: list[str]) -> None:
    """Run the benchmarks that are asked for, all by default."""
    unknown = sorted(set(argv) - set(names()))
    if unknown:
        sys.exit(f"Unknown benchmark {', '.join(unknown)}; known: {', '.join(names())}")
    if not argv:  # one table is of one run
        (RESULTS / "ratios.json").unlink(missing_ok=True)
    for name in argv or [name for name in names() if name != SHORT]:
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main([])
    if ratios := recorded():
        print("\n== ratios, one run\n" + "\n".join(table(ratios)))


if __name__ == "__main__":
    main(sys.argv[1:])
