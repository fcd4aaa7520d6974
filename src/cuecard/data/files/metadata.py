"""What Hugging Face datasets write beside their rows, read as strangers' JSON: any of it may be missing or wrong."""

from __future__ import annotations

import json
from typing import Any


def class_names(metadata: str | None) -> dict[str, tuple[str, ...]]:
    """Return column → class names from the JSON that Hugging Face datasets write about their features.

    What is no description of features says nothing about classes.
    """
    described = _object(parsed(metadata))
    features = _object(_object(described.get("info", described)).get("features"))
    names = {
        column: _object(feature).get("names") for column, feature in features.items() if _is_class(feature)
    }
    return {
        column: tuple(listed)
        for column, listed in names.items()
        if isinstance(listed, list)
        and listed
        and all(isinstance(name, str) and _writable(name) for name in listed)
    }


def parsed(text: str | None) -> Any:
    """Return the value of a JSON text, None where it is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_class(feature: Any) -> bool:
    return _object(feature).get("_type") == "ClassLabel"


def _writable(text: str) -> bool:
    """Whether a text has whole characters only: JSON can escape half of one."""
    return not any("\ud800" <= char <= "\udfff" for char in text)
