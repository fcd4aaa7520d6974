from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.probes import box_statistics
from cuecard.probes.model_views import identical_pairs_chart
from cuecard.report.charts.drawing import themed
from cuecard.report.charts.kinds import draw


def scores() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    frequency = rng.integers(1, 14, 600)
    leaning = np.clip(0.3 + 0.05 * frequency + rng.normal(0, 0.05, 600), 0, 1)
    level = np.clip(0.9 + rng.normal(0, 0.03, 600), 0, 1)
    return pl.concat(
        pl.DataFrame({"model": [name] * 600, "frequency": frequency, "score": score})
        for name, score in (("leaning", leaning), ("level", level))
    )


def test_every_model_has_a_box_for_every_frequency_and_the_last_one_is_open(tmp_path):
    boxes = box_statistics(scores())
    chart = draw(identical_pairs_chart(boxes, 10))
    rows = chart.data.values
    assert len(rows) == boxes.height == 20
    assert {row["occurs"] for row in rows} == {*(str(i) for i in range(1, 10)), "10+"}
    medians = {(r["model"], r["occurs"]): r["median"] for r in rows}
    assert medians["leaning", "10+"] - medians["leaning", "1"] > 0.3
    assert abs(medians["level", "10+"] - medians["level", "1"]) < 0.05
    pytest.importorskip("vl_convert", reason="needs the extra images")
    themed(chart.properties(width=600)).save(tmp_path / "boxes.svg")
    drawn = (tmp_path / "boxes.svg").read_text()
    assert "sentence frequency in the training set" in drawn
    assert drawn.count("<path") > 2 * boxes.height  # a body and a median each, beside axes and legend
    assert "NaN" not in drawn
