"""How long things are waited for where a machine is slow or busy."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which something that others do in their own time is taken not to happen at all.
PATIENCE = 600.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once a condition holds; fail if it does not for minutes."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)
