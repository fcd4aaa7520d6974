"""The headline of a card: one sentence about the data or the models, fair to what was and was not looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuecard import wording
from cuecard.analysis import (
    SEVERITIES,
    About,
    Measure,
    Role,
    Severity,
    most_serious_first,
    severity_of,
)
from cuecard.card.card import Card, Section, largest_shortcut, measures_about, shortcuts, slices
from cuecard.errors import INSTALL
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


@dataclass(frozen=True)
class Verdict:
    """The headline and the sentence that goes below it."""

    headline: str
    detail: str


#: Severity of the worst finding, and the headline where it is a cue and where it is not.
_HEADLINES: tuple[tuple[Severity, str, str], ...] = (
    (
        "high",
        "{name} contains strong cues that predict the label.",
        "{name} has flaws that can inflate a score.",
    ),
    (
        "medium",
        "{name} contains cues that can inflate a score.",
        "{name} has flaws: check them before you trust a score.",
    ),
    ("low", "{name} contains only weak cues.", "{name} has only small flaws."),
)


#: Analyses that did not run are named where they are no more than these.
MOST_NAMED = 4


def main_subject(card: Card) -> About:
    """Return what the card is mainly about: its first section; a probe tells the cues of the data last."""
    return next((section.about for section in card.sections.values()), "data")


def verdict(card: Card) -> Verdict:
    """Return what the card says, in a sentence."""
    name, about = card.dataset.name, main_subject(card)
    first = next(iter(card.sections.values()), None)
    if first is not None and first.status == "done" and about == "weights":
        return Verdict(
            _of_weights(name, first),
            "Weights change the training data. Run a probe to test whether a model still relies on a shortcut.",
        )
    if first is not None and first.status == "done" and about == "experiment":
        return Verdict(
            f"{first.title}: the experiment on {name}.",
            "The results hold for these models and this dataset; test other data separately.",
        )
    of_models, of_data = model_headline(card), _of_data(card)
    if of_models and about == "data":  # an audit and a probe on one card
        return Verdict(of_data.headline, f"{of_models} {of_data.detail}")
    return Verdict(of_models, of_data.detail) if of_models else of_data


def _of_weights(name: str, section: Section) -> str:
    """Return what the weights of a remedy cost, or its first measure where it does not say that."""
    size = next((m for m in section.measures if m.name.endswith(".effective_sample_size")), None)
    if size is not None:
        return (
            f"Weights for {name}: the effective sample size is {wording.percent(size.value)} of its examples."
        )
    if section.measures:
        m = section.measures[0]
        return (
            f"Weights for {name}: {display_text(m.label or m.name, 80)} {wording.in_unit(m.value, m.unit)}."
        )
    return f"{section.title}: weights for {name}."


def _of_data(card: Card) -> Verdict:
    """Return what the card says about the dataset."""
    name = card.dataset.name
    done = [section for section in card.sections.values() if section.status == "done"]
    tally = Counter(finding.severity for finding in card.findings)
    of_data = any(section.about == "data" for section in card.sections.values())
    graded = _graded(card)
    cues = any("cue" in graded[severity] for severity in SEVERITIES[:3])
    detail = _detail(tally, of_data or not card.sections, cues) + _left_out(card)
    if column := next((c for s in done if (c := s.parameters.get("weights"))), None):
        detail = f"Examples are weighted by the column {column!r}. {detail}"
    if not done:
        return Verdict(f"No analysis of {name} has run.", detail.strip())
    for level, of_cues, of_flaws in _HEADLINES:
        if roles := graded[level]:
            words = of_cues if "cue" in roles else of_flaws
            if card.dataset.task == "open":
                words = words.replace("the label", "the answer")
            named = "" if "flaws" in words else _largest(card)
            return Verdict(words.format(name=name).removesuffix(".") + named + ".", detail)
    tests = [m.n for m in _key_measures(card) if m.unit == "count"]
    if not tests:
        return Verdict(f"The analyses found no problem in {name}.", detail)
    if not any(tests):
        return Verdict(f"No feature of {name} is frequent enough to be tested as a cue.", detail)
    return Verdict(f"No cue found in {name}.", detail)


def _graded(card: Card) -> dict[Severity, set[Role]]:
    """Return the roles of what the data shows by severity: findings, and gains of sections that have none."""
    about_models = {name for name, section in card.sections.items() if section.about == "models"}
    graded: dict[Severity, set[Role]] = {severity: set() for severity in SEVERITIES}
    for finding in card.findings:
        if finding.section not in about_models:
            graded[finding.severity].add(finding.role)
    speaking = {finding.section for finding in card.findings}
    for measure in shortcuts(card):
        if measure.section not in speaking:
            graded[severity_of(measure.gain)].add("cue")
    return graded


def _largest(card: Card) -> str:
    """Return what gives most away, with its chance level: a shortcut of all data, a cue, or the first finding."""
    largest = largest_shortcut(card)
    if largest is None:
        first = next((f for f in most_serious_first(card.findings) if f.cue and f.chance is not None), None)
        if first is None or first.severity == "info":
            return _first_cue(card)
        value, chance = (wording.in_unit(x, first.unit) for x in (first.value, first.chance))
        title = first.title[:1].lower() + first.title[1:]
        return f". The largest is a {display_text(title, 80)}, {value} (chance {chance})"
    value, chance = (wording.in_unit(x, largest.unit) for x in (largest.value, largest.chance))
    return f": {display_text(largest.label or largest.name, 80)} {value} (chance {chance})"


def _first_cue(card: Card) -> str:
    """Return the first finding about a cue, such as an extra column, where it has a value and a chance level."""
    first = next((f for f in most_serious_first(card.findings) if f.role == "cue"), None)
    if first is None or first.severity == "info" or first.value is None or first.chance is None:
        return ""
    value, chance = (wording.in_unit(x, first.unit) for x in (first.value, first.chance))
    title = first.title[:1].lower() + first.title[1:]
    return f": {display_text(title, 100)}, {value} (chance {chance})"


def _left_out(card: Card) -> str:
    """Return which analyses failed, lack a package or do not apply to the data."""
    said = ""
    for what, start in (
        ("failed", "Failed"),
        ("uninstalled", "Not installed"),
        ("skipped", "Not applicable here"),
    ):
        titles = [display_text(s.title, 40) for s in card.sections.values() if _why_missing(s) == what]
        if titles:
            many = wording.plural(len(titles), "analysis", "analyses")
            said += f" {start}: {listed(titles) if len(titles) <= MOST_NAMED else many}."
    return said


def _why_missing(section: Section) -> str:
    """Return why a section has no results: it failed, was skipped, or needs what is not installed."""
    if section.status != "skipped":
        return section.status
    return "uninstalled" if INSTALL in section.reason else "skipped"


def _detail(tally: Counter[Severity], of_data: bool, cues: bool) -> str:
    counted = [
        f"{wording.count(tally[severity])} {severity}" for severity in SEVERITIES[:3] if tally[severity]
    ]
    if not counted:
        what = "data may contain cues" if of_data else "models may have biases"
        return f"The {what} that were not tested."
    weight = f"{wording.plural(sum(tally[s] for s in SEVERITIES[:3]), 'finding')}: {', '.join(counted)}."
    return f"{weight} A cue in the data does not mean that a model uses it." if of_data and cues else weight


def key_figures(card: Card) -> list[KeyFigure]:
    """Return the few numbers that stand below the headline."""
    about = main_subject(card)
    if about == "weights":
        section = next(iter(card.sections.values()))
        judged = [m for m in section.measures if m.worse != "neither" and m.chance is None]
        return [measure_figure(m) for m in judged[:2]]
    if about == "experiment":
        return []
    shown = model_figures(card, accuracy=about != "data")
    if shown and about != "data":
        return shown
    for severity in SEVERITIES[:2]:
        tally = sum(finding.severity == severity for finding in card.findings)
        shown.append(KeyFigure(f"{severity} findings", wording.count(tally)))
    largest = largest_shortcut(card)
    shown += [] if largest is None else [measure_figure(largest)]
    for m in _key_measures(card):
        out_of = "" if m.unit != "count" or m.n is None else f"of {wording.count(m.n)} tested"
        shown.append(measure_figure(m, out_of))
    return shown


def _key_measures(card: Card) -> list[Measure]:
    """Return the measures about the data that its analyses want to have below the headline."""
    return [m for m in measures_about(card, ("data",)) if m.key and m.value is not None]
