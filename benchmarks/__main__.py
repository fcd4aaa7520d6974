"""`python -m benchmarks [NAME…]`: run all benchmarks, or those named."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NOT_A_BENCHMARK = {"__init__", "__main__", "measure"}


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
    for name in argv or names():
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main([])


if __name__ == "__main__":
    main(sys.argv[1:])
