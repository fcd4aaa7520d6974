"""How far models lean to the usual label of a cue when gold label and length are held fixed."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.examples import UNANSWERED, effects_of, nullable, q_of
from cuecard.probes.predictions import Predictions
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import deflated_log10_p
from cuecard.stats.models.preference_given import PreferenceGiven, choices_given, labels_given

#: Instances are compared with others of about the same length, in this many classes of about equal size.
LENGTH_CLASSES = 10
#: The family that is length itself, which is tested without holding length fixed.
LENGTH = "length"


def given_length(model: Predictions, cues: CueSet) -> pl.DataFrame:
    """Return per cue how far the model leans to its usual label, gold label and length held fixed.

    Columns `given_length` (the excess; above 0: towards the usual label) and `given_length_log10_p`, `given_length_q`.
    Length itself is tested within gold labels only.
    """
    if not len(cues):
        return _frame(PreferenceGiven(np.empty(0), np.empty(0)))
    return _frame((_choices if cues.examples.instances.grouped else _labels)(model, cues))


def _frame(preference: PreferenceGiven) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "given_length": pl.Series(preference.excess, dtype=pl.Float64),
            "given_length_log10_p": nullable(preference.log10_p),
            "given_length_q": nullable(q_of(preference.log10_p)),
        }
    )


def _labels(model: Predictions, cues: CueSet) -> PreferenceGiven:
    labels = cues.examples.instances.labels
    answered = model.answers != UNANSWERED
    usual = np.array([labels.index(label) for label in cues.table["label"]], dtype=np.int64)
    hit = model.answers[answered, None] == usual[None, :]
    having = np.asarray(cues.members.having.todense())[answered] > 0
    gold = cues.examples.gold[answered]
    lengths = _test_lengths(cues)[answered]
    edges = np.quantile(lengths, np.arange(1, LENGTH_CLASSES) / LENGTH_CLASSES) if len(lengths) else []
    bins = np.searchsorted(np.unique(edges), lengths, side="left")
    is_length = (cues.table["family"] == LENGTH).to_numpy()
    strata = gold * (LENGTH_CLASSES + 1) + bins
    preference = labels_given(hit, strata, having)
    alone = labels_given(hit, gold, having)
    log_p = np.where(is_length, alone.log10_p, preference.log10_p)
    if shared := [codes[answered] for codes in cues.shared]:
        effects = np.ones(len(cues))
        for label in np.unique(usual):
            mine = usual == label
            contrasts = having[:, mine] - _stratum_means(having[:, mine], strata)
            effects[mine] = effects_of(model.answers[answered] == label, contrasts, shared, strata=gold)
        log_p = deflated_log10_p(log_p, effects)
    return PreferenceGiven(np.where(is_length, alone.excess, preference.excess), log_p)


def _stratum_means(values: Bools, strata: Ints) -> Floats:
    """Return for every row the mean of its stratum."""
    codes = np.unique(strata, return_inverse=True)[1].ravel()
    sums = np.zeros((int(codes.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return np.asarray((sums / np.maximum(np.bincount(codes), 1)[:, None])[codes])


def _choices(model: Predictions, cues: CueSet) -> PreferenceGiven:
    examples = cues.examples
    answered = np.flatnonzero(model.answers != UNANSWERED)
    rows = np.repeat(model.answers != UNANSWERED, examples.sizes)
    picked = np.zeros(len(examples.instances))
    picked[examples.first_rows[answered] + model.answers[answered]] = 1
    right = np.zeros(len(examples.instances))
    right[examples.right_rows] = 1
    codes = np.repeat(np.arange(len(examples)), examples.sizes)
    long, short, size = _length_properties(_test_lengths(cues), examples.first_rows[:-1], codes)
    having = np.asarray(cues.instances_having.todense()) > 0
    is_length = (cues.table["family"] == LENGTH).to_numpy()
    controls = np.column_stack([right, long, short, size, right * long])
    if not len(answered):
        return PreferenceGiven(np.zeros(len(cues)), np.full(len(cues), np.nan))
    preference = choices_given(picked[rows], codes[rows], controls[rows], having[rows])
    alone = choices_given(picked[rows], codes[rows], right[rows, None], having[rows])
    excess = np.where(is_length, alone.excess, preference.excess)
    # A cue whose usual label is the second one is followed by passing over it.
    sign = np.where((cues.table["label"] == examples.instances.labels[0]).to_numpy(), 1.0, -1.0)
    log_p = np.where(is_length, alone.log10_p, preference.log10_p)
    effects = np.array([cues.effect_on_picks(model.answers, i) for i in range(len(cues))])
    return PreferenceGiven(sign * excess, deflated_log10_p(log_p, effects))


def _test_lengths(cues: CueSet) -> Ints:
    """Return the number of tokens of every test instance, in the text in which cues are looked for."""
    lengths = cues.encoded.scoped.lengths
    return np.asarray(lengths[len(cues.encoded.instances) - len(cues.examples.instances) :], dtype=np.int64)


def _length_properties(lengths: Ints, starts: Ints, codes: Ints) -> tuple[Floats, Floats, Floats]:
    """Return whether a choice is among the longest, the shortest, and its log length within its example."""
    longest = (lengths == np.maximum.reduceat(lengths, starts)[codes]).astype(np.float64)
    shortest = (lengths == np.minimum.reduceat(lengths, starts)[codes]).astype(np.float64)
    size = np.log1p(lengths.astype(np.float64))
    mean = np.add.reduceat(size, starts) / np.diff(np.append(starts, len(lengths)))
    return longest, shortest, size - mean[codes]
