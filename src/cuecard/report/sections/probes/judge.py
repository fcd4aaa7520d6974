"""What judges follow besides quality: one row per judge, and a chart of what their verdicts go with."""

from __future__ import annotations

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView, drawn
from cuecard.wording import listed

_COLUMNS = {
    "judge": Column("Judge"),
    "named": Column(
        "Depends on", hint="biases whose q-value is at most alpha; chance: κ does not differ from 0"
    ),
    "verdicts": Column("Verdicts", "count", brief=False),
    "consistency": Column("Consistent", "percent", "verdicts that stay when the order is swapped"),
    "to_first": Column("To first", "count", "flips to the response shown first", brief=False),
    "to_second": Column("To second", "count", "flips to the response shown second", brief=False),
    "length": Column("Length", "decimal", "log odds ratio per SD at equal quality"),
    "length_low": Column("CI low", "decimal", brief=False),
    "length_high": Column("CI high", "decimal", brief=False),
    "accuracy": Column("Agreement", "percent", "with people"),
    "balanced": Column("Balanced", "percent", "agreement with the longer response preferred half the time"),
    "kappa": Column("κ", "decimal", "Cohen's κ with people"),
    "self_preference": Column("Own family", "points", "preference for it beyond people's", brief=False),
    "stability": Column("Stable", "percent", "repeated verdicts that agree", brief=False),
}
_NAMED = {
    "position": "position",
    "length": "length",
    "self": "its own family",
}


@SECTION_VIEWS.register("judge")
def judge(card: Card, section: Section) -> SectionView:
    """Return the table of judges and the chart of what they follow."""
    del card
    judges = section.summary["judges"]
    lead = []
    for name, part in judges.items():
        properties = [_NAMED[bias] for bias in part["biases"] if bias in _NAMED]
        biases = [f"depends on {listed(properties)}"] if properties else []
        if "chance" in part["biases"]:
            below = part["agreement"]["kappa"]["high"] < 0
            biases.append(f"agrees with people {'less' if below else 'no more'} than by chance")
        sentence = f"{display_text(name, 60)}: {listed(biases) or 'no bias found'}"
        calibrated = part.get("calibrated")
        if calibrated:
            sentence += (
                f"; agreement of its scores with people {numbers.percent(calibrated['score'])}, calibrated by length "
                f"{numbers.percent(calibrated['calibrated'])}"
            )
        lead.append(f"{sentence}.")
    charts = []
    if any(part["style"] for part in judges.values()):
        charts.append(
            ChartView(
                "What verdicts follow",
                drawn("probes.judge", "reliance", judges),
                alt="Log odds ratio of quality, length, formatting and position for every judge.",
                caption="● log odds ratio with 95 % CI over prompts; 0: the verdict does not depend on it",
                name="reliance",
            )
        )
    tables = [TableView.of("Judges", "judges", section["judges"], _COLUMNS)]
    notes = []
    if "judge_rewards" in section.tables:
        notes.append(
            "Scores without their smooth part by length are in tables/judge_rewards.parquet (calibrated)."
        )
    return SectionView(lead=lead, charts=charts, tables=tables, notes=notes)
