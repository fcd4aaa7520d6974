"""Judge a card, or data that is audited first, by a policy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.card.files import CARD_FILE, load_card
from cuecard.card.judging import Check, judge_card
from cuecard.card.policy import Policy, Reference, reference_of
from cuecard.card.policy_files import read_policy, read_ratchet, shrunk, starter_policy, write_ratchet
from cuecard.data import Source
from cuecard.errors import InputError, UsageError
from cuecard.run.auditing import audit
from cuecard.run.running import Data, ProgressOption
from cuecard.wording import plural
from cuecard.writing import write_text

#: What can be checked: a card or its folder, data, or anything that `cuecard.load` takes.
Checked = Card | Data


def check(
    data: Checked,
    policy: Policy | str | Path,
    *,
    test: Source | None = None,
    baseline: Card | str | Path | None = None,
    ratchet: str | Path | None = None,
    today: date | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: Any,
) -> Check:
    """Return what a policy says of a dataset: every rule passes, fails or is undecided.

    Args:
        data: a card or its folder; or data, which is audited first as far as the policy needs it: what `cuecard.load`
            returned or what it takes, or a function that returns the dataset.
        policy: a policy, or the TOML file of one.
        test: the test split, where `data` is a file or a table.
        baseline: the card of an earlier version, or its folder: what violates a rule but is not significantly worse
            than there passes.
        ratchet: a file of accepted violations. The first check writes it, later ones only shorten it. Where the
            environment variable CI is set the file must exist: one that is written there and lost accepts everything.
        today: the day by which allowances expire; today by default.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the audits, such as ``tokens="treebank"``.
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    earlier = _baseline(baseline)
    accepted = _accepted(Path(ratchet)) if ratchet is not None else None
    card = card_to_check(data, rules.sections, test=test, progress=progress, command=command, **options)
    references: list[Reference] = []
    if earlier is not None:
        name = "the baseline" if isinstance(baseline, Card) else f"the baseline {baseline}"
        references.append(reference_of(earlier, card, name))
    if accepted is not None:
        references.append(accepted)
    judged = judge_card(card, rules, references=references, today=today)
    if ratchet is None:
        return judged
    shorter = replace(shrunk(judged, accepted), name=str(ratchet))
    write_ratchet(Path(ratchet), shorter)
    if accepted is not None:
        return judged
    judged = judge_card(card, rules, references=[*references, shorter], today=today)
    entries = plural(len(shorter.measures) + len(shorter.findings), "violation")
    return replace(
        judged, notes=(*judged.notes, f"Written: {ratchet} accepts {entries} of today. Commit it.")
    )


def card_to_check(
    data: Checked,
    sections: Sequence[str] | None = None,
    *,
    test: Source | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: Any,
) -> Card:
    """Return the card itself, the card in a folder, or the card of an audit of some sections of the data."""
    if isinstance(data, Card) or (isinstance(data, str | Path) and is_card(data)):
        if test is not None:
            raise UsageError(
                "A card is judged as it is: leave out test, or give the data instead of the card."
            )
        return data if isinstance(data, Card) else load_card(data)
    from cuecard.audits import AUDITS

    only = [name for name in sections if name in AUDITS.names()] if sections is not None else None
    return audit(data, test=test, only=only or None, progress=progress, command=command, **options)


def is_card(place: str | Path) -> bool:
    """Return whether a path is a card's folder, or the card.json itself."""
    path = Path(place)
    try:
        return path.name == CARD_FILE or (path / CARD_FILE).is_file()
    except (OSError, ValueError):
        return False


def _accepted(ratchet: Path) -> Reference | None:
    """Return what a ratchet file accepts, None where it is to be written."""
    accepted = read_ratchet(ratchet)
    if accepted is None and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise InputError(
            f"{ratchet} does not exist, and CI does not write it: run the check on your machine and commit the file."
        )
    return accepted


def _baseline(baseline: Card | str | Path | None) -> Card | None:
    if baseline is None or isinstance(baseline, Card):
        return baseline
    return load_card(baseline)


def write_starter_policy(
    data: Checked,
    path: Path,
    *,
    test: Source | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: Any,
) -> Path:
    """Write a commented policy that the data satisfies today to a file that does not exist yet, and return its path."""
    if path.exists():
        raise UsageError(f"{path} exists already: name another file with --policy, or delete it.")
    card = card_to_check(data, test=test, progress=progress, command=command, **options)
    write_text(path, starter_policy(card))
    return path
