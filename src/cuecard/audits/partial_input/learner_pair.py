"""A trained model that reads everything beside one that reads too little (PECO: PSC and SSC, Δ_maj, %R, NBA, NBR)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Skip, Summary
from cuecard.audits.partial_input.findings import severity_of_baseline
from cuecard.audits.partial_input.folds import Folds
from cuecard.audits.partial_input.guesses import Guesses, guess_labels, guess_rows
from cuecard.audits.partial_input.judging import Baseline, judged, measured
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import MissingExtraError, UsageError
from cuecard.models.fitted import check_labels_seen, fitted
from cuecard.models.recipe import Recipe, Tell, silently
from cuecard.models.saliency import (
    RelevanceAgreement,
    SaliencyMaps,
    TokenTexts,
    agreement_of_maps,
    saliency_table,
)
from cuecard.models.text_model import Condition, check_condition, partial_condition
from cuecard.stats.arrays import Floats
from cuecard.stats.models.agreement import agreement
from cuecard.wording import percent

#: What the partial condition is called among the baselines.
PARTIAL_NAMES = {
    "hypothesis": "hypothesis_only",
    "premise": "premise_only",
    "choices": "choices_only",
}

#: What a training run under a condition reads, as progress reports it.
SEEN = {
    "full": "full input",
    "hypothesis": "hypothesis only",
    "premise": "premise only",
    "choices": "choices only",
}

#: Saliency maps are compared on at most this many examples.
MOST_MAPS = 2_000


@dataclass(frozen=True, eq=False)
class LearnerPair:
    """The accuracies of one learner with the full and with partial input, and how far the two agree."""

    learner: str
    condition: Condition
    scheme: str
    full: Baseline
    partial: Baseline
    train_examples: int
    nba: float
    expected_nba: float
    kappa: float
    nbr: float
    nbr_released: float
    only_partial: float
    relevance: RelevanceAgreement | None
    answers: pl.DataFrame
    #: Maps of some examples to look at, see `saliency_table`.
    shown_maps: pl.DataFrame | None = None

    def as_json(self) -> Summary:
        """Return the pair as it is written on the card."""
        return {
            "learner": self.learner,
            "condition": self.condition,
            "scheme": self.scheme,
            "train_examples": self.train_examples,
            "n": self.full.n,
            "psc": _line(self.full),
            "ssc": _line(self.partial),
            "chance": self.full.chance,
            "delta_maj": self.partial.accuracy - self.partial.chance,
            "percent_r": self.partial.percent_r,
            "nba": self.nba,
            "expected_nba": self.expected_nba,
            "kappa": _finite(self.kappa),
            "nbr": _finite(self.nbr),
            "nbr_released": _finite(self.nbr_released),
            "only_partial": self.only_partial,
            **_tra(self.relevance),
        }


def guesses_from(part: Instances, probabilities: Floats) -> Guesses:
    """Return the guesses of a model that gave every answer of every example a probability."""
    examples = Examples(part)
    if not part.grouped:
        return guess_labels(probabilities, examples.gold)
    sizes = examples.options
    rows = probabilities[np.arange(probabilities.shape[1])[None, :] < sizes[:, None]]
    return guess_rows(rows, examples.gold, sizes, rows)


def learner_pairs(
    recipes: Sequence[Recipe],
    data: Instances,
    folds: Folds,
    **options: Any,
) -> tuple[list[LearnerPair], list[str]]:
    """Return a pair per learner, made with the options of `learner_pair`, and why others could not be trained."""
    pairs, missing = [], []
    for recipe in recipes:
        try:
            pairs.append(learner_pair(recipe, data, folds, **options))
        except (MissingExtraError, Skip) as reason:
            missing.append(f"The model {recipe.model} was not trained: {reason}")
    return pairs, missing


def pairs_summary(pairs: Sequence[LearnerPair], missing: Sequence[str]) -> Summary:
    """Return what the card says about the learners; comparisons read the measures of the first."""
    described = [pair.as_json() for pair in pairs]
    first = described[0] if described else {}
    measures = {name: first.get(name) for name in ("nba", "nbr", "nbr_released", "tra")}
    return {"learners": described, "learner_notes": list(missing), **measures}


def learner_pair(
    recipe: Recipe,
    data: Instances,
    folds: Folds,
    *,
    condition: Condition | None = None,
    weights: Floats | None = None,
    alpha: float = 0.05,
    tell: Tell = silently,
    cache: bool = True,
) -> LearnerPair:
    """Return how a learner does with everything and with too little, on examples it has not seen.

    It is trained on train and scored on test. Without a test split, it is trained on all folds but the first and
    scored on that: one held-out part that shares no sentence with the rest, because every fit is costly.
    `condition` is the partial input; by default the one that should not be enough for the task.
    With `weights`, one per row, training and accuracies go by them; agreement counts examples. `cache` says whether
    what was trained before may come from the user's cache folder, and this go there.
    """
    learned_from, guessed, scheme = _parts(data, folds)
    train, held_out = (data.rows(mask) for mask in (learned_from, guessed))
    try:
        condition = condition or partial_condition(data)
        check_condition(data, condition)
    except UsageError as error:
        raise Skip(str(error)) from None
    check_labels_seen(train, [held_out])
    examples = Examples.of_rows(held_out, None if weights is None else weights[guessed])
    of_train = None if weights is None else weights[learned_from]
    lines, guesses, maps, tokens = [], [], [], []
    mapped = _sample(held_out, recipe.options.get("seed", 0))
    inputs: list[tuple[str, Condition]] = [("full", "full"), ("partial", condition)]
    for kind, part in inputs:
        one = replace(recipe, condition=part)
        with tell(f"{recipe.model}, {SEEN[part]}") as watch:
            model = fitted(one, train, [held_out], weights=of_train, watch=watch, maps_of=mapped, cache=cache)
        guesses.append(guesses_from(held_out, model.probabilities[0]).weighted(examples.weight()))
        maps.append(model.maps)
        tokens.append(model.tokens)
        name = "full" if kind == "full" else PARTIAL_NAMES[condition]
        lines.append(measured(name, kind, guesses[-1], examples.gold, grouped=data.grouped))
    full, partial = judged(lines, alpha)
    both = agreement(guesses[0].answer, guesses[1].answer, examples.gold)
    ids = held_out.table.select("example_id", pl.col("split").cast(pl.String))[examples.first_rows[:-1]]
    answers = ids.with_columns(
        learner=pl.lit(recipe.model),
        right_full=guesses[0].score > 0,
        right_partial=guesses[1].score > 0,
        probability_full=pl.Series(guesses[0].probability),
        probability_partial=pl.Series(guesses[1].probability),
    )
    relevance = _relevance(maps, tokens, mapped)
    shown = None
    if relevance is not None and tokens[0] is not None:
        shown = saliency_table(relevance, mapped, tokens[0]).insert_column(
            0, pl.lit(recipe.model).alias("learner")
        )
    return LearnerPair(
        recipe.model,
        condition,
        scheme,
        full,
        partial,
        train.n_examples,
        both.nba,
        both.expected_nba,
        both.kappa,
        both.nbr,
        both.nbr_released,
        both.only_biased,
        relevance,
        answers,
        shown,
    )


def _relevance(
    maps: Sequence[SaliencyMaps | None], tokens: Sequence[TokenTexts | None], data: Instances
) -> RelevanceAgreement | None:
    """Return the token relevance agreement of the two conditions, where the learner can be differentiated."""
    (full, partial), (words, partial_words) = maps, tokens
    if full is None or partial is None or words is None or partial_words is None:
        return None
    return agreement_of_maps(full, partial, data, tokens=(words, partial_words))


def _sample(data: Instances, seed: int) -> Instances:
    """Return the examples whose saliency maps are compared: all, or a seeded draw of many."""
    n = data.n_examples
    if n <= MOST_MAPS:
        return data
    drawn = np.zeros(n, dtype=bool)
    drawn[np.random.default_rng(seed).permutation(n)[:MOST_MAPS]] = True
    return data.rows(drawn[data.example_codes])


def _parts(data: Instances, folds: Folds) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], str]:
    """Return the rows to learn from, those to guess, and what that is called."""
    split = data.table["split"].cast(pl.String)
    in_train = (split == "train").to_numpy()
    if data.test is not None:
        return in_train, (split == "test").to_numpy(), "train to test"
    held_out = np.zeros(len(data), dtype=np.bool_)
    held_out[in_train] = (folds.fold == folds.fold.min())[data.train.example_codes]
    scheme = f"one held-out fold of {folds.count}, grouped by {folds.grouping}"
    return in_train & ~held_out, held_out, scheme


def pair_finding(pair: LearnerPair) -> Finding:
    """Return what the pair says: how much of what the learner reaches needs the whole input."""
    full, partial = pair.full, pair.partial
    what = PARTIAL_NAMES[pair.condition].replace("_", "-")
    text = (
        f"{pair.learner}, trained on {pair.train_examples:,} examples, has an accuracy of {percent(full.accuracy)} on "
        f"{full.n:,} examples with the full input. Its {what} accuracy is {percent(partial.accuracy)} (95 % CI "
        f"{percent(partial.low)} to {percent(partial.high)}; chance {percent(partial.chance)}), "
        f"{percent(partial.percent_r)} of the full accuracy. The two models give the same answer to "
        f"{percent(pair.nba)} of the examples."
    )
    if np.isfinite(pair.nbr_released):
        text += (
            f" Where the full-input model is correct, the {what} model is correct in {percent(pair.nbr_released)} of "
            f"the examples. Only the {what} model is correct in {percent(pair.only_partial)} of all examples."
        )
    if full.direction != "above":
        # Two models that both know no more than the commonest answer agree on everything, and that says nothing.
        text += (
            " With the full input, accuracy is not above chance, so this comparison is not informative yet: "
            "train longer or on more examples."
        )
    leaks = partial.direction == "above"
    title = f"{what.capitalize()} accuracy of {pair.learner} is {'' if leaks else 'not '}above chance"
    return Finding(
        "partial_input",
        severity_of_baseline(partial) if leaks else "info",
        title,
        text,
        partial.accuracy,
        partial.low,
        partial.high,
        partial.chance,
        partial.n,
        key=f"{pair.learner}/{pair.condition}_only",
    )


def _line(line: Baseline) -> Summary:
    kept = ("accuracy", "low", "high", "chance", "p_value", "log10_p", "direction", "n")
    return {name: value for name, value in line.as_json().items() if name in kept}


def _tra(agreement: RelevanceAgreement | None) -> Summary:
    """Return the token relevance agreement with its interval and the number of examples that have one."""
    if agreement is None:
        return dict.fromkeys(("tra", "tra_low", "tra_high", "tra_n"))
    ends = {"tra": agreement.tra, "tra_low": agreement.low, "tra_high": agreement.high}
    return {**{k: _finite(v) for k, v in ends.items()}, "tra_n": len(agreement.cosines) - agreement.left_out}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
