"""The battery: every rule and every input that should not be enough, scored on the same examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cuecard.audits.partial_input.baselines.conditions import InputFeatures
from cuecard.audits.partial_input.baselines.content_blind import length_rules, majority
from cuecard.audits.partial_input.baselines.frequency_rules import choice_rules, label_rules
from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import Baseline, Chain, interval, measured
from cuecard.audits.partial_input.learned.cross_fit import Evaluation
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.weights import unequal_weights
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.weighted import effective_sample_size

_KEPT = "_partial_input_battery"


@dataclass(frozen=True, eq=False)
class Battery:
    """The guesses of everything that should not be enough, by name, for the examples `scored`."""

    examples: Examples
    scored: Ints
    guesses: Mapping[str, Guesses]
    #: How much more the hits of an input vary than independent ones, where it was cross-fitted.
    inflation: Mapping[str, float]
    #: The column of weights, if examples have any.
    weights: str | None

    def keep(self, data: Instances) -> None:
        """Keep the guesses with the dataset, for audits that look at them more closely."""
        data.remembered[_KEPT] = self

    @staticmethod
    def kept(data: Instances, weights: str | None) -> Battery | None:
        """Return the guesses that were kept with the dataset, if they were made with these weights."""
        battery: Battery | None = data.remembered.get(_KEPT)
        return battery if battery is not None and battery.weights == weights else None


def blind_rules(examples: Examples, train: Ints, test: Ints) -> dict[str, Guesses]:
    """Return the guesses of the rules that apply: by length and frequency of choices, or by labels of texts in train.

    What label a text has least or most is counted in train and tried on test, so it needs a test split.
    """
    if not examples.instances.grouped:
        return label_rules(examples, train, test) if len(test) else {}
    scored = test if len(test) else train
    units = examples.instances.space.stored(examples.units("choices", scored))
    rules = {name: guesses.in_units(units) for name, guesses in length_rules(examples, scored).items()}
    return rules | choice_rules(examples, scored)


def blind_battery(data: Instances, weights: str | None) -> Battery:
    """Return the guesses of blind rules alone, on test where it exists, otherwise on train."""
    used = data.in_splits("train", "test")
    row_weights = unequal_weights(data, weights)
    if row_weights is not None:
        used &= row_weights > 0
        row_weights = row_weights[used]
    examples = Examples.of_rows(data.rows(used), row_weights)
    train, test = (examples.of_split(name) for name in ("train", "test"))
    scored = test if len(test) else train
    return Battery(examples, scored, blind_rules(examples, train, test), {}, weights)


def rule_lines(examples: Examples, rules: Mapping[str, Guesses], train: Ints, scored: Ints) -> list[Baseline]:
    """Return a line for every rule, with what always naming the commonest label gives where there is one."""
    grouped, gold = examples.instances.grouped, gold_of(examples, scored)
    lines = []
    if not grouped:
        always = measured("majority", "reference", majority(examples, train, scored), gold, grouped=False)
        lines += [always, _prior(always, examples, train, scored)]
    return lines + [
        measured(name, "content-blind", rule, gold, grouped=grouped) for name, rule in rules.items()
    ]


def input_line(examples: Examples, source: InputFeatures, done: Evaluation, null: Floats) -> Baseline:
    """Return the line of an input; `null` is what a model that sees nothing gives the right answers."""
    chain = Chain(
        done.fold, done.inflation, done.tested, done.tested_fold, gold_of(examples, done.tested_examples)
    )
    gold, grouped = gold_of(examples, done.examples), examples.instances.grouped
    return measured(source.name, source.kind, done.guesses, gold, grouped=grouped, null=null, chain=chain)


def gold_of(examples: Examples, which: Ints) -> Ints:
    """Return the right answers of some examples."""
    return examples.instances.space.gathered(examples.gold, which)


def _prior(always: Baseline, examples: Examples, train: Ints, scored: Ints) -> Baseline:
    """Return the line of guessing each label as often as train has it: right by luck alone."""
    sums = examples.label_sums(train)
    shares, always_named = sums / sums.sum(), majority(examples, train, scored)
    expected = always_named.computed(lambda some: shares[examples.gold[scored[some]]])
    guesses = replace(always_named, score=expected)
    accuracy = guesses.mean(guesses.score)
    # What is expected of a guess does not vary as the guess does, so its spread under weights says nothing.
    weight = guesses.weight
    score = guesses.score if weight is None else np.full(round(effective_sample_size(weight)), accuracy)
    low, high = interval(score)
    return replace(
        always,
        name="prior",
        accuracy=accuracy,
        low=low,
        high=high,
        luck=accuracy,
        p_value=1.0,
        log10_p=0.0,
        delta_majority=accuracy - always.chance,
    )
