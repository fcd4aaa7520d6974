"""The headline of a card about models: how good they are and how many cues each relies on."""

from __future__ import annotations

from typing import Any

from cuecard.card.card import Card
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import KeyFigure
from cuecard.wording import listed

#: Sections about models: what they find says nothing against the data.
MODEL_SECTIONS = frozenset(
    {"reliance", "accuracy_test", "distribution_test", "permutation_test", "agreement", "paired_comparison"}
    | {"option_order", "prompts", "debiased_evaluation", "identical_pairs"}
)
#: So many models are named in the headline, those that rely on most cues first.
NAMED = 3


def model_headline(card: Card) -> str:
    """Return a sentence about the models of a probe, or nothing for a card without models."""
    relied, accuracies = _of_models(card, "reliance"), _of_models(card, "accuracy_test")
    if not relied:
        said = [f"{display_text(m, 60)} is {_right(known)}" for m, known in list(accuracies.items())[:NAMED]]
        said = said or _without_the_leak(card)
        return f"On {display_text(card.dataset.name, 60)}, {listed(said)}." if said else ""
    cues = card["reliance"].summary["cues"]
    order = sorted(relied, key=lambda model: (-relied[model]["relies"], -relied[model]["signs"]))
    parts: list[str] = []
    for model in order[:NAMED]:
        some = numbers.count(relied[model]["relies"]) if relied[model]["relies"] else "none"
        what = f"{some} of {numbers.plural(cues, 'cue')}" if not parts else some
        accuracy = f" ({_right(accuracies[model])})" if model in accuracies else ""
        parts.append(f"{display_text(model, 60)} {'relies on ' if not parts else 'on '}{what}{accuracy}")
    rest = len(order) - NAMED
    if rest > 0:
        parts.append(f"{numbers.plural(rest, 'other model', 'other models')} on fewer")
    return f"On {display_text(card.dataset.name, 60)}, {listed(parts)}."


def _without_the_leak(card: Card) -> list[str]:
    """Return both accuracies of every model where only they were asked for."""
    return [
        f"{display_text(model, 60)} is {_right(known)}, {numbers.percent(known['weighted_accuracy'])} under the weights"
        for model, known in _evaluated(card)
    ]


def _evaluated(card: Card) -> list[tuple[str, dict[str, Any]]]:
    models = _of_models(card, "debiased_evaluation")
    return [(model, known) for model, known in models.items() if not known["baseline"]][:NAMED]


def model_figures(card: Card, *, accuracy: bool = True) -> list[KeyFigure]:
    """Return the accuracy and the cues relied on of every model of a probe; empty for a card without models."""
    relied = _of_models(card, "reliance")
    accuracies = _of_models(card, "accuracy_test") if accuracy else {}
    shown = []
    for model, known in list(accuracies.items())[:NAMED]:
        interval = f"{numbers.percent(known['low'])} to {numbers.percent(known['high'])}"
        shown.append(
            KeyFigure(f"accuracy of {display_text(model, 40)}", numbers.percent(known["accuracy"]), interval)
        )
    if accuracy and not accuracies and not relied:
        shown += [
            KeyFigure(
                f"accuracy of {display_text(model, 40)}",
                numbers.percent(known["accuracy"]),
                f"{numbers.percent(known['weighted_accuracy'])} under the weights",
            )
            for model, known in _evaluated(card)
        ]
    for model, found in list(relied.items())[:NAMED]:
        signs = f", signs of {found['signs']} more" if found["signs"] else ""
        of = f"of {numbers.count(card['reliance'].summary['cues'])}{signs}"
        shown.append(
            KeyFigure(
                f"{'cue' if found['relies'] == 1 else 'cues'} {display_text(model, 40)} relies on",
                numbers.count(found["relies"]),
                of,
            )
        )
    return shown


def _right(known: dict[str, Any]) -> str:
    return f"{numbers.percent(known['accuracy'])} right"


def _of_models(card: Card, name: str) -> dict[str, dict[str, Any]]:
    section = card.sections.get(name)
    found: dict[str, dict[str, Any]] = (
        section.summary["models"] if section and section.status == "done" else {}
    )
    return found
