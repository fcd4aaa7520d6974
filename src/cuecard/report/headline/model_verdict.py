"""The headline of a card about models: how good they are and how many cues each relies on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuecard import wording
from cuecard.analysis import Measure
from cuecard.card.card import Card, measures_about, shortcuts, slices
from cuecard.view import KeyFigure, measure_figure
from cuecard.wording import display_text, listed

#: Models named in the headline, those that rely on most cues first.
NAMED = 3


def model_headline(card: Card) -> str:
    """Return a sentence about the models of a probe, or nothing for a card without models."""
    relied, accuracies = slices(card, "reliance.relies"), slices(card, "accuracy_test.accuracy")
    parts = _relying(card, relied, accuracies) if relied else _correct(card, accuracies)
    largest = [_told(m) for m in shortcuts(card, ["models"])[:1]]
    judged = [m for m in measures_about(card, ["models"]) if m.worse != "neither" and m.value is not None]
    if not parts and (worst := _worst(card) or _untested(card)):
        return worst
    if not parts:
        parts, largest = largest or [_told(m) for m in judged[:NAMED]], []
    if not parts:
        return ""
    sentence = f"On {display_text(card.dataset.name, 60)}, {listed(parts)}."
    return " ".join([sentence, *(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in largest)])


def _worst(card: Card) -> str:
    """Return the titles of the most serious findings about models, such as what judges depend on."""
    of_models = {name for name, section in card.sections.items() if section.about == "models"}
    titles = [
        display_text(finding.title, 200)
        for severity in ("high", "medium")
        for finding in card.findings
        if finding.severity == severity and finding.section in of_models
    ]
    more = (
        f"; {wording.plural(len(titles) - NAMED, 'more finding', 'more findings')}"
        if len(titles) > NAMED
        else ""
    )
    return f"{'; '.join(titles[:NAMED])}{more}." if titles else ""


def _untested(card: Card) -> str:
    """Return why none of the judges could be tested, or nothing where one was."""
    section = card.sections.get("judge")
    judges = section.summary.get("judges", {}) if section is not None and section.status == "done" else {}
    if section is None or not judges or any(part.get("tested", True) for part in judges.values()):
        return ""
    fewest = section.summary["fewest"]
    most = max(part["comparisons"] for part in judges.values())
    named = listed([display_text(name, 60) for name in list(judges)[:NAMED]])
    start = f"Nothing could be tested about {named}"
    if most < fewest:
        return f"{start}: every test needs at least {fewest} comparisons, found {wording.count(most)}."
    return (
        f"{start}: of {wording.plural(most, 'comparison')}, fewer than {fewest} are judged in both orders or twice, "
        "have the texts of both responses, or were judged by people."
    )


def _relying(card: Card, relied: Mapping[str, Measure], accuracies: Mapping[str, Measure]) -> list[str]:
    """Return how many cues every model relies on, most first."""
    cues, signs = card.measure("reliance.cues").value or 0, slices(card, "reliance.signs")
    order = sorted(relied, key=lambda model: (-_value(relied[model]), -_value(signs.get(model))))
    parts: list[str] = []
    named = _with_best(order, accuracies)
    for model in named:
        some = wording.count(relied[model].value) if relied[model].value else "none"
        what = f"{some} of {wording.plural(int(cues), 'cue')}" if not parts else some
        accuracy = f" (accuracy {wording.percent(accuracies[model].value)})" if model in accuracies else ""
        parts.append(f"{display_text(model, 60)} {'relies on ' if not parts else 'on '}{what}{accuracy}")
    if rest := [model for model in order if model not in named]:
        most = max(_value(relied[model]) for model in rest)
        some = f"at most {wording.count(most)}" if most else "none"
        parts.append(f"{wording.plural(len(rest), 'other model', 'other models')} on {some}")
    return parts


def _with_best(order: Sequence[str], accuracies: Mapping[str, Measure]) -> list[str]:
    """Return the first models to name; where there are more, the last of them is the most accurate one."""
    named = list(order[:NAMED])
    if len(order) > NAMED and accuracies:
        best = max(accuracies, key=lambda model: _value(accuracies[model]))
        if best in order and best not in named:
            named[-1] = best
    return named


def _correct(card: Card, accuracies: Mapping[str, Measure]) -> list[str]:
    """Return the accuracy of every model, and that under weights or on subsets where only they were asked for."""
    if accuracies:
        return [_accuracy(model, m) for model, m in list(accuracies.items())[:NAMED]]
    weighted = slices(card, "debiased_evaluation.weighted_accuracy")
    plain = slices(card, "debiased_evaluation.accuracy")
    if not plain and (net := _net_of_the_leak(card)):
        return net
    hard, easy = (slices(card, f"hard_subset.{subset}") for subset in ("hard", "easy"))
    if hard and not weighted:
        return [
            f"{_accuracy(model, m)} on the hard subset and {wording.percent(easy[model].value)} on the easy one"
            for model, m in list(hard.items())[:NAMED]
        ]
    return [
        f"{_accuracy(model, plain[model])}, {wording.percent(m.value)} reweighted"
        for model, m in list(weighted.items())[:NAMED]
    ]


def _net_of_the_leak(card: Card) -> list[str]:
    """Return the accuracy of the models as it stands and net of the leak, the best net of the leak first."""
    ways: dict[str, dict[str, float]] = {"accuracy": {}, "neutral": {}}
    for m in card.all_measures():
        section, _, rest = m.name.partition(".")
        model, _, way = rest.rpartition(".")
        if section == "net_scores" and way in ways and m.value is not None:
            ways[way][model] = m.value
    order = sorted(ways["neutral"], key=lambda model: -ways["neutral"][model])
    parts = [
        f"{display_text(model, 60)} has an accuracy of {wording.percent(ways['accuracy'][model])}, "
        f"{wording.percent(ways['neutral'][model])} net of the leak"
        for model in order[:NAMED]
    ]
    if others := order[NAMED:]:
        parts.append(f"{wording.plural(len(others), 'other model has', 'other models have')} less")
    return parts


def _told(measure: Measure) -> str:
    """Return a measure in words, with its chance level where it has one."""
    chance = "" if measure.chance is None else f" (chance {wording.in_unit(measure.chance, measure.unit)})"
    value = wording.in_unit(measure.value, measure.unit)
    return f"{display_text(measure.label or measure.name, 80)}: {value}{chance}"


def model_figures(card: Card, *, accuracy: bool = True) -> list[KeyFigure]:
    """Return the accuracy and the cues relied on of every model of a probe; empty for a card without models."""
    relied = slices(card, "reliance.relies")
    accuracies = slices(card, "accuracy_test.accuracy") if accuracy else {}
    shown = [measure_figure(m) for m in _highest(accuracies).values()]
    if accuracy and not accuracies and not relied:
        weighted = slices(card, "debiased_evaluation.weighted_accuracy")
        shown += [
            measure_figure(m, f"{wording.percent(weighted[model].value)} reweighted")
            for model, m in list(slices(card, "debiased_evaluation.accuracy").items())[:NAMED]
        ]
    signs = slices(card, "reliance.signs")
    for model, m in _highest(relied).items():
        more = signs[model].value if model in signs else 0
        of = f"of {wording.count(card.measure('reliance.cues').value)}"
        shown.append(measure_figure(m, of + (f", signs of {wording.count(more)} more" if more else "")))
    return shown + [measure_figure(m) for m in shortcuts(card, ["models"])[:1]]


def _highest(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures of few models as they are, and of many the highest."""
    if len(measures) <= NAMED:
        return dict(measures)
    highest = sorted(measures, key=lambda model: -_value(measures[model]))[:NAMED]
    return {model: measures[model] for model in highest}


def _accuracy(model: str, measure: Measure) -> str:
    return f"{display_text(model, 60)} has an accuracy of {wording.percent(measure.value)}"


def _value(measure: Measure | None) -> float:
    return measure.value or 0.0 if measure else 0.0
