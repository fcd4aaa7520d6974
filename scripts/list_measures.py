"""Write docs/measures.md: every measure that an analysis of this package declares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cuecard.audits import AUDITS
from cuecard.probes import PROBES
from cuecard.remedies import REMEDIES
from cuecard.reproduce import SelectionExperiment, StubbornExperiment

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
OPENING = """# Measures

Every section of a card says what it learned as measures: one number each, with its interval (`low`, `high`), the value
at chance (`chance`) and the number of examples it rests on (`n`), where these are known. `cuecard compare`, the
headline, the key figures and the charts over several cards read measures and nothing else; other programs should read
them first.

```python
import cuecard as cc

card = cc.audit(cc.load("train.parquet"), only=["partial_input"])
card.measures  # a polars frame, a row per measure
card.measure("partial_input.hypothesis_only.accuracy").low  # one of them
```

Names are `section.measure[.slice]`; a slot in braces stands for a name of the data: `{model}`, `{label}`, `{split}`.
Shares and points are fractions, and `p` is log10 of a p-value. "Worse when" says in which direction a measure gets
worse. A share that is worse when higher and has a chance level takes its place in the headline by its gain: the share
of the way from chance to 1, at the lower end of its interval.

An analysis of another package declares its own in the same way; see *Adding an analysis* in CONTRIBUTING.
`scripts/list_measures.py` writes this page.
"""
TITLES = ("Audits", "Probes", "Remedies", "Experiments")


def page() -> str:
    """Return the page of measures as Markdown."""
    groups = zip(TITLES, (AUDITS, PROBES, REMEDIES, [StubbornExperiment, SelectionExperiment]), strict=True)
    return "\n".join([OPENING, *(f"## {title}\n\n{_table(kinds)}\n" for title, kinds in groups)])


def _table(analyses: Iterable[Any]) -> str:
    rows = ["| measure | what it is | unit | worse when | section |", "|---|---|---|---|---|"]
    rows += [
        f"| `{analysis.name}.{kind.name}` | {kind.label} | {kind.unit} | {_direction(kind.worse)} | {analysis.title} |"
        for analysis in analyses
        if analysis.__module__.startswith("cuecard.")
        for kind in analysis.measures
    ]
    return "\n".join(rows)


def _direction(worse: str) -> str:
    return "" if worse == "neither" else worse


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
