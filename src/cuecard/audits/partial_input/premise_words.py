"""Which words of the premise predict the label, looked for where the premise alone differs from chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from cuecard.analysis import Finding, Result
from cuecard.audits.partial_input.baselines.judging import Baseline
from cuecard.wording import listed, percent, plural

WORDS_SHOWN = 5
#: Columns of the table, as the cue audit names them.
KEPT = ("feature", "label", "train_count", "test_count", "share", "share_low", "share_high", "z", "q_value")


def premise_words(baselines: Sequence[Baseline], search: Callable[[], Result]) -> pl.DataFrame | None:
    """Return the words of the premise that are associated with a label, most significant first.

    `search` returns the cues of the premise. None where the premise alone is at chance, so that nothing is searched;
    below chance is a leak turned round.
    """
    if not any(b.name == "premise_only" and b.direction != "at" for b in baselines):
        return None
    cues = search().tables["cues"].filter("significant")
    return cues.select([name for name in KEPT if name in cues.columns])


def with_words(findings: Sequence[Finding], words: pl.DataFrame) -> list[Finding]:
    """Return the findings; the one about the premise also names its strongest words."""
    if words.height:
        shown = [
            f"“{row['feature']}” ({percent(row['share'])} {row['label']})"
            for row in words.head(WORDS_SHOWN).iter_rows(named=True)
        ]
        sentence = (
            f" {plural(words.height, 'word')} of the premise {'is' if words.height == 1 else 'are'} associated with a "
            f"label; the strongest: {listed(shown)}."
        )
    else:
        sentence = " No single word of the premise is associated with a label."
    return [
        replace(finding, text=finding.text + sentence)
        if finding.key == "premise_only" and finding.severity != "info"
        else finding
        for finding in findings
    ]
