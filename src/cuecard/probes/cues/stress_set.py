"""Stress sets for one cue: its test examples with flat labels, and as many others beside them (ICQ 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuecard.audits import Cues
from cuecard.audits.cues.naming import named_feature
from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.probes.cues.membership import columns_in_test, feature_columns, membership
from cuecard.probes.examples import check_test, only_test


@dataclass(frozen=True, eq=False)
class CueStressSet:
    """Two samples of the test split about one cue.

    `counts` has the test examples with the cue by label (for multiple choice: by whether the right choice has
    the cue). `balanced` holds all of them and equally many others, for the accuracy test; `flat` as many of
    every label as the rarest has, for the distribution test.
    """

    cue: str
    counts: dict[str, int]
    balanced: Instances
    flat: Instances

    @property
    def per_label(self) -> int:
        """Examples of every label in the flat sample."""
        return min(self.counts.values())


def cue_stress_set(
    data: Instances, cue: str, *, audit: Cues | None = None, sample: int | None = None, seed: int = 0
) -> CueStressSet:
    """Return the stress set of a cue, drawn from the test split with a seed; train stays as it is.

    Args:
        data: what `cuecard.load` returned, with a test split.
        cue: a word, several words, or `family:feature`.
        audit: the cue audit whose tokens and scope to use.
        sample: `balanced` holds at most this many random examples, half of them with the cue.
        seed: seed of the draws.
    """
    examples = check_test(data)
    audit = audit or Cues()
    encoded = audit.encode(data)
    family, feature, _ = named_feature(cue, encoded, audit.families())
    presence = family.presence(encoded)
    columns = feature_columns(presence, [feature])
    if columns[0] < 0:
        raise UsageError(f"No instance has the {family.name} {feature!r}.")
    having = columns_in_test(presence, columns, len(encoded.instances.train))
    first = data.labels[0]
    sets = membership(having, examples, [first])
    here = np.flatnonzero(np.asarray(sets.having.todense()).ravel())
    # The first label of grouped tasks is `right`: usual are those whose right choice has the cue.
    has_usual = np.asarray(sets.usual.todense()).ravel()[here] > 0
    kind = np.where(has_usual, 0, 1) if data.grouped else examples.gold[here]
    counts = {label: int((kind == code).sum()) for code, label in enumerate(data.labels)}
    rarest = min(counts.values())
    if rarest == 0:
        absent = next(label for label, n in counts.items() if not n)
        raise InputError(
            f"No test example with {cue!r} has the label {absent}, so the labels cannot be balanced."
        )
    generator = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(len(examples)), here)
    drawn = generator.choice(others, size=min(len(here), len(others)), replace=False)
    flat = [generator.choice(here[kind == code], size=rarest, replace=False) for code in range(len(counts))]
    with_cue = here
    if sample is not None and sample < len(here) + len(drawn):
        with_cue = generator.choice(here, size=min(sample - sample // 2, len(here)), replace=False)
        drawn = drawn[: sample // 2]
    return CueStressSet(
        cue,
        counts,
        only_test(data, examples, np.union1d(with_cue, drawn)),
        only_test(data, examples, np.sort(np.concatenate(flat))),
    )


def sample_test(data: Instances, n: int, *, seed: int = 0) -> Instances:
    """Return the data with a random sample of its test examples; train stays as it is."""
    examples = check_test(data)
    drawn = np.random.default_rng(seed).permutation(len(examples))[:n]
    return only_test(data, examples, np.sort(drawn))
