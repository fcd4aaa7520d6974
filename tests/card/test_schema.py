from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pytest

from cuecard.card import card_schema, schema_text
from cuecard.run import audit
from small_sets import pair_instances

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(
    tuple(map(int, version("pydantic").split(".")[:2])) < (2, 14),
    reason="earlier pydantic says less of dataclasses",
)
def test_the_published_schema_is_the_one_the_code_has():
    assert (DOCS / "card.schema.json").read_text(encoding="utf-8") == schema_text()


def test_a_real_card_obeys_the_published_schema():
    rows = [("train", "p", f"word{i % 5} text", "yes" if i % 2 else "no") for i in range(40)]
    jsonschema.validate(json.loads(audit(pair_instances(rows)).model_dump_json()), card_schema())
