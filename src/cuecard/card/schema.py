"""The published JSON Schema of a card."""

from __future__ import annotations

import json
from typing import Any

from cuecard.card.card import Card


def card_schema() -> dict[str, Any]:
    """Return the JSON Schema that every `card.json` obeys."""
    schema = Card.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "CueCard card"}


def schema_text() -> str:
    """Return the schema as it is published in the documentation."""
    return json.dumps(card_schema(), indent=2, ensure_ascii=False) + "\n"
