"""The headline of a card: one sentence, fair to what was and was not looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cuecard.analysis import Severity
from cuecard.card.card import Card
from cuecard.report import numbers
from cuecard.report.findings import SEVERITIES, is_rate
from cuecard.report.model_verdict import MODEL_SECTIONS, model_figures, model_headline
from cuecard.report.texts import display_text
from cuecard.report.view import KeyFigure


@dataclass(frozen=True)
class Verdict:
    """The headline and the sentence that goes below it."""

    headline: str
    detail: str


#: Severity of the worst finding, and the headline where it is a cue and where it is not.
_HEADLINES: tuple[tuple[Severity, str, str], ...] = (
    (
        "high",
        "{name} contains strong cues that give labels away.",
        "{name} has flaws that can inflate a score.",
    ),
    (
        "medium",
        "{name} contains cues worth a look before you trust a score.",
        "{name} has flaws worth a look before you trust a score.",
    ),
    ("low", "{name} contains only weak cues.", "{name} has only small flaws."),
)


#: Sections of remedies, and the names under which they tell effective sample size and largest weight: a card of
#: nothing else is about weights, not about flaws.
_WEIGHTS = {"lexical_weights": ("ess", "max_weight"), "neutral_weights": ("effective_share", "largest")}

#: Sections of experiments: a card with one of them is about models, not about flaws of the data.
#: Analyses that did not run are named where they are no more than these.
MOST_NAMED = 3
_EXPERIMENTS = ("stubborn", "selection")


def _of_weights(card: Card) -> tuple[float, float] | None:
    """Return the effective sample size and the largest weight on a card about weights only."""
    names = [name for name, section in card.sections.items() if section.status == "done"]
    if len(names) != 1 or len(card.sections) != 1 or names[0] not in _WEIGHTS:
        return None
    kept, largest = (card[names[0]].summary[key] for key in _WEIGHTS[names[0]])
    return kept, largest


def verdict(card: Card) -> Verdict:
    """Return what the card says, in a sentence."""
    name = card.dataset.name
    weights = _of_weights(card)
    if weights is not None:
        return Verdict(
            f"Weights for {name} keep {numbers.percent(weights[0])} of its examples as effective sample size.",
            "They change what a model is trained on; whether it still takes a shortcut, a probe can tell.",
        )
    experiment = next((card[name] for name in _EXPERIMENTS if name in card.sections), None)
    if experiment is not None and experiment.status == "done":
        return Verdict(
            f"{experiment.title}: the experiment on {name}.",
            "Models were trained for it; what they do with other data, only other data can tell.",
        )
    if list(card.sections) == ["identical_pairs"] and card["identical_pairs"].status == "done":
        return Verdict(
            f"What models say about sentences of {name} paired with themselves.",
            "All of these pairs match; a score that goes with a sentence's frequency does not come from reading.",
        )
    of_models, of_data = model_headline(card), _of_data(card)
    if of_models and "overview" in card.sections:  # an audit and a probe on one card
        return Verdict(of_data.headline, f"{of_models} {of_data.detail}")
    return Verdict(of_models, of_data.detail) if of_models else of_data


def _of_data(card: Card) -> Verdict:
    """Return what the card says of the dataset."""
    name = card.dataset.name
    done = [section for section in card.sections.values() if section.status == "done"]
    tally = Counter(finding.severity for finding in card.findings)
    detail = _detail(tally) + _left_out(card)
    if column := next((c for s in done if (c := s.parameters.get("weights"))), None):
        detail = f"Examples count by their weights in the column {column!r}. {detail}"
    if not done:
        return Verdict(f"Nothing is known about {name} yet.", detail.strip())
    for level, of_cues, of_flaws in _HEADLINES:
        sections = {
            finding.section for finding in card.findings if finding.severity == level
        } - MODEL_SECTIONS
        if sections:
            words = of_flaws if sections == {"overview"} else of_cues
            return Verdict(words.format(name=name), detail)
    if "cues" not in card.sections or card.sections["cues"].status != "done":
        return Verdict(f"Nothing was found in what was looked at of {name}.", detail)
    if card.sections["cues"].summary.get("features") == 0:
        return Verdict(f"Nothing in {name} is frequent enough to be tested as a cue.", detail)
    return Verdict(f"No cue was found in {name}.", detail)


def _left_out(card: Card) -> str:
    missing = [section.title for section in card.sections.values() if section.status != "done"]
    if not missing:
        return ""
    named = (
        f" ({', '.join(display_text(title, 40) for title in missing)})" if len(missing) <= MOST_NAMED else ""
    )
    said = numbers.plural(len(missing), "analysis", "analyses")
    return f" {said} of {len(card.sections)} did not run{named}."


def _detail(tally: Counter[Severity]) -> str:
    counted = [
        f"{numbers.count(tally[severity])} {severity}" for severity in SEVERITIES[:3] if tally[severity]
    ]
    if not counted:
        return "A cue that was not looked for can still be there."
    weight = f"{numbers.plural(sum(tally[s] for s in SEVERITIES[:3]), 'finding')}: {', '.join(counted)}."
    return f"{weight} A cue in the data is not yet a cheat in a model."


def key_figures(card: Card) -> list[KeyFigure]:
    """Return the few numbers that stand below the headline."""
    weights = _of_weights(card)
    if weights is not None:
        return [
            KeyFigure("effective sample size", numbers.percent(weights[0]), "of the examples"),
            KeyFigure("largest weight", numbers.number(weights[1]), "the mean is 1"),
        ]
    if any(name in card.sections for name in _EXPERIMENTS):
        return []
    about_data = "overview" in card.sections
    shown = model_figures(card, accuracy=not about_data)
    if shown and not about_data:
        return shown
    for severity in SEVERITIES[:2]:
        tally = sum(finding.severity == severity for finding in card.findings)
        shown.append(KeyFigure(f"{severity} {'finding' if tally == 1 else 'findings'}", numbers.count(tally)))
    cues = card.sections.get("cues")
    if cues is not None and cues.status == "done":
        of = f"of {numbers.count(cues.summary['features'])} features tested"
        shown.append(KeyFigure("cues", numbers.count(cues.summary["cues"]), of))
    strongest = max(
        (f for f in card.findings if is_rate(f) and f.chance is not None and f.severity != "info"),
        key=lambda f: (f.low if f.low is not None else f.value or 0.0) - (f.chance or 0.0),
        default=None,
    )
    if strongest is not None:
        chance = f"{numbers.percent(strongest.chance)} by chance"
        shown.append(KeyFigure(display_text(strongest.title, 60), numbers.percent(strongest.value), chance))
    overlap = (card.sections["overview"].summary.get("overlap") or {}) if "overview" in card.sections else {}
    if overlap.get("test_examples"):
        share = overlap["sentence"] / overlap["test_examples"]
        shown.append(KeyFigure("test examples that share a text with train", numbers.percent(share)))
    return shown
