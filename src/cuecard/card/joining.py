"""Several cards about the same data as one: what an audit, a probe and a remedy say, in one report."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cuecard.card.card import Card, Provenance
from cuecard.errors import UsageError

_KEYS = ["example_id", "split"]


def join_cards(cards: Sequence[Card], *, command: str = "") -> Card:
    """Return one card with the sections, findings and tables of several about the same data.

    What is on more than one card is taken from the first; columns about examples are put side by side.
    """
    if len({card.dataset.fingerprint for card in cards}) != 1:
        raise UsageError("Only cards about the same data can be joined.")
    sections = {name: section for card in reversed(cards) for name, section in card.sections.items()}
    order = list(dict.fromkeys(name for card in cards for name in card.sections))
    owner = {name: card for card in reversed(cards) for name in card.sections}
    tables = {name: table for card in reversed(cards) for name, table in card.tables.items()}
    tables["examples"] = _examples([card.tables["examples"] for card in cards])
    first = cards[0]
    joined = Card(
        dataset=first.dataset,
        findings=[f for card in cards for f in card.findings if owner.get(f.section, card) is card],
        sections={name: sections[name].model_copy() for name in order},
        provenance=Provenance(
            created=first.provenance.created,
            command=command or first.provenance.command,
            versions=first.provenance.versions,
            seconds={
                name: value for card in reversed(cards) for name, value in card.provenance.seconds.items()
            },
        ),
    )
    joined.attach(tables)
    return joined


def _examples(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    whole = tables[0]
    for table in tables[1:]:
        new = [column for column in table.columns if column not in whole.columns]
        if new:
            whole = whole.join(table.select(*_KEYS, *new), on=_KEYS, how="left", maintain_order="left")
    return whole
