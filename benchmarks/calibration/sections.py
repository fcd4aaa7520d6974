"""The simulations of every section of a card, as rows of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.calibration.asked import ASKED_SECTIONS
from benchmarks.calibration.audit_sections import AUDIT_SECTIONS
from benchmarks.calibration.intervals import INTERVAL_SECTIONS
from benchmarks.calibration.judge_scores import JUDGE_SCORE_SECTIONS
from benchmarks.calibration.judged import JUDGED_SECTIONS
from benchmarks.calibration.probe_sections import PROBE_SECTIONS
from benchmarks.calibration.remedy_sections import REMEDY_SECTIONS
from benchmarks.calibration.rows import Row
from benchmarks.calibration.runs import RUN_SECTIONS

SECTIONS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    **AUDIT_SECTIONS,
    **INTERVAL_SECTIONS,
    **PROBE_SECTIONS,
    **REMEDY_SECTIONS,
    **JUDGED_SECTIONS,
    **ASKED_SECTIONS,
    **RUN_SECTIONS,
    **JUDGE_SCORE_SECTIONS,
}
