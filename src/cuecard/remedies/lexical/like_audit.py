"""The parameters of lexical weights that follow those of a cue audit, so that its cues are balanced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The audit that lexical weights can follow.
FOLLOWED = "cues"


def options_like_cues(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under which the weights balance what a cue audit with these parameters finds significant."""
    families = chosen.get("features")
    options = {
        "features": ("significant",),
        "among": tuple(families) if families else None,
        "regex": tuple((str(name), str(pattern)) for name, pattern in chosen.get("regex") or ()) or None,
        **{name: chosen.get(name) for name in ("tokens", "scope", "language", "annotator", "min_count")},
    }
    return {name: value for name, value in options.items() if value is not None}
