"""Write docs/measures.md: every measure that an analysis of this package declares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cuecard.analysis import ANALYSES
from cuecard.audits import AUDITS
from cuecard.probes import PROBES
from cuecard.remedies import REMEDIES
from cuecard_papers import FrontierExperiment, SelectionExperiment, StubbornExperiment

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
OPENING = """# Measures

Every section of a card reports its results as measures: one number each and, where known, its confidence interval
(`low`, `high`), its value at chance (`chance`) and the number of examples (`n`). `cuecard compare`, the headline, the
key figures and the charts over several cards read only measures; other programs should read them first.

```python
import cuecard as cc

card = cc.audit(cc.load("train.parquet"), only=["partial_input"])
card.measures  # a polars frame, one row per measure
card.measure("partial_input.hypothesis_only.accuracy").low  # one of them
```

Names are `section.measure[.slice]`; braces stand for a name in the data: `{model}`, `{label}`, `{split}`. Shares and
points are fractions, and `p` is log10 of a p-value. "Worse when" is the direction in which a measure gets worse. The
headline ranks shares that are worse when higher by their gain, (lower end of the CI − chance) / (1 − chance).

Analyses of other packages declare measures in the same way; see *Adding an analysis* in CONTRIBUTING.
`scripts/list_measures.py` writes this page.
"""
TITLES = ("Audits", "Probes", "Remedies", "Experiments")


def page() -> str:
    """Return the page of measures as Markdown."""
    by_need = [analysis for analysis in ANALYSES if analysis.__module__.startswith("cuecard.audits.")]
    groups = zip(
        TITLES,
        (
            [*AUDITS, *by_need],
            PROBES,
            REMEDIES,
            [StubbornExperiment, FrontierExperiment, SelectionExperiment],
        ),
        strict=True,
    )
    return "\n".join([OPENING, *(f"## {title}\n\n{_table(kinds)}\n" for title, kinds in groups)])


def _table(analyses: Iterable[Any]) -> str:
    rows = ["| measure | what it is | unit | worse when | section |", "|---|---|---|---|---|"]
    rows += [
        f"| `{analysis.name}.{kind.name}` | {kind.label} | {kind.unit} | {_direction(kind.worse)} | {analysis.title} |"
        for analysis in analyses
        if analysis.__module__.startswith(("cuecard.", "cuecard_papers."))
        for kind in analysis.measures
    ]
    return "\n".join(rows)


def _direction(worse: str) -> str:
    return "" if worse == "neither" else worse


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
