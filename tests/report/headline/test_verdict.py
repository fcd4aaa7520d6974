from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, Section
from cuecard.errors import MissingExtraError
from cuecard.report.findings import facts, meter, ordered_findings
from cuecard.report.first_screen import answers
from cuecard.report.verdict import key_figures, verdict
from cuecard.run import audit
from small_sets import pair_instances

CardMaker = Callable[..., Card]


def finding(severity: str, section: str = "cues", **numbers: float | str) -> Finding:
    return Finding(section=section, severity=severity, title="t", text="x", **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "headline"),
    [
        ([finding("low"), finding("high")], "tiny contains strong cues that predict the label."),
        ([finding("high", role="flaw"), finding("low")], "tiny has flaws that can inflate a score."),
        ([finding("medium")], "tiny contains cues that can inflate a score."),
        ([finding("low", role="flaw")], "tiny has only small flaws."),
        ([finding("info")], "No cue found in tiny."),
    ],
)
def test_the_headline_follows_the_worst_finding(
    make_card: CardMaker, findings: list[Finding], headline: str
) -> None:
    assert verdict(make_card(findings=findings)).headline == headline


def test_what_failed_is_told_apart_from_what_does_not_apply(card: Card) -> None:
    assert verdict(card).detail.endswith("Failed: Pair graph. Not applicable here: Partial input.")
    missing = Section(title="Probe", status="skipped", reason=str(MissingExtraError("torch", "models", "It")))
    card = card.model_copy(update={"sections": card.sections | {"mine": missing}})
    assert "Not installed: Probe." in verdict(card).detail


def test_a_card_on_which_nothing_ran_claims_nothing(card: Card) -> None:
    empty = card.model_copy(update={"sections": {}, "findings": []})
    assert verdict(empty).headline == "No analysis of tiny has run."
    assert [figure.value for figure in key_figures(empty)] == ["0", "0"]


def test_findings_are_ordered_by_severity_and_then_as_they_came(make_card: CardMaker) -> None:
    given = [finding("info"), finding("low", value=0.1), finding("high"), finding("low", value=0.2)]
    ordered = ordered_findings(make_card(findings=given))
    assert [(f.severity, f.value) for f in ordered] == [
        ("high", None),
        ("low", 0.1),
        ("low", 0.2),
        ("info", None),
    ]


def test_only_a_rate_with_a_chance_level_is_drawn_on_a_line() -> None:
    assert meter(finding("low", value=37.0, chance=1.0, unit="count")) is None
    assert meter(finding("low", value=0.5)) is None
    drawn = meter(finding("low", value=0.5, low=0.4, high=0.65, chance=0.25))
    assert drawn is not None
    assert (drawn.value, drawn.low, drawn.width, drawn.chance) == pytest.approx((50, 40, 25, 25))


def test_counts_are_not_written_as_percentages() -> None:
    counted = finding("low", value=37.0, n=1200, unit="count")
    assert facts(counted) == [("Measured", "37"), ("Examples", "1,200")]


def test_a_finding_says_what_its_number_counts() -> None:
    assert facts(finding("low", n=1200, counted="instances")) == [("Instances", "1,200")]
    assert facts(finding("low", n=1200)) == [("Examples", "1,200")]


def shortcut(name: str, value: float, low: float, chance: float) -> Measure:
    return Measure(name, value, low, None, chance, unit="share", worse="higher", label=f"{name} accuracy")


def with_measures(card: Card, name: str, *measures: Measure) -> Card:
    section = Section(title=name, status="done", measures=list(measures))
    return card.model_copy(update={"sections": card.sections | {name: section}})


def test_the_headline_names_what_gives_most_away(make_card: CardMaker) -> None:
    card = make_card(findings=[finding("high")])
    card = with_measures(card, "mine", shortcut("mine.a", 0.5, 0.45, 0.4), shortcut("mine.b", 0.7, 0.65, 0.5))
    said = verdict(card).headline.replace("\N{NO-BREAK SPACE}", " ")
    assert said == "tiny contains strong cues that predict the label: mine.b accuracy 70.0 % (chance 50.0 %)."
    assert ("mine.b accuracy", "70.0 %", "chance 50.0 %") in [
        tuple(text.replace("\N{NO-BREAK SPACE}", " ") for text in (f.label, f.value, f.detail))
        for f in key_figures(card)
    ]


def test_the_headline_names_an_auc_where_its_finding_is_more_serious_than_any_accuracy(
    make_card: CardMaker,
) -> None:
    auc = Measure("mine.auc", 0.62, low=0.61, chance=0.5, unit="score", worse="higher", label="my AUC")
    ranked = finding("medium", "mine", value=0.62, low=0.61, high=0.63, chance=0.5, unit="score")
    weak, strong = shortcut("mine.a", 0.514, 0.508, 0.5), shortcut("mine.a", 0.9, 0.88, 0.5)
    card = with_measures(make_card(findings=[ranked]), "mine", weak, auc)
    assert verdict(card).headline == "tiny contains cues that can inflate a score: my AUC 0.62 (chance 0.5)."
    assert answers(card)[0].text == "Yes: t (chance 0.5)."
    card = with_measures(make_card(findings=[ranked]), "mine", strong, auc)
    assert "mine.a accuracy 90.0" in verdict(card).headline
    assert answers(card)[0].text.startswith("Yes: mine.a accuracy")


def test_without_a_shortcut_of_the_whole_dataset_the_headline_names_the_first_cue(
    make_card: CardMaker,
) -> None:
    numbers = {"low": 0.7, "high": 0.85, "chance": 0.5}
    can = finding("low", cue="can", value=0.785, coverage=0.1, **numbers)
    rare = finding("low", cue="rare", value=0.9, coverage=0.025, **numbers)
    said = verdict(make_card(findings=[rare, can])).headline.replace("\N{NO-BREAK SPACE}", " ")
    assert said == "tiny contains only weak cues. The largest is a t, 78.5 % (chance 50.0 %)."


def test_of_two_scores_of_one_severity_the_higher_leads(make_card: CardMaker) -> None:
    first, second = (
        finding("medium", value=value, low=value - 0.01, chance=0.5, unit="score") for value in (0.629, 0.64)
    )
    assert ordered_findings(make_card(findings=[first, second])) == [second, first]


@pytest.mark.parametrize(
    ("low", "headline"),
    [
        (0.60, "tiny contains strong cues that predict the label: m.x accuracy 70.0 % (chance 50.0 %)."),
        (
            0.53,
            "tiny contains cues that can inflate a score: m.x accuracy 70.0 % (chance 50.0 %).",
        ),
        (0.501, "tiny contains only weak cues: m.x accuracy 70.0 % (chance 50.0 %)."),
        (0.49, "No cue found in tiny."),
    ],
)
def test_a_section_without_findings_is_judged_by_its_measures(
    make_card: CardMaker, low: float, headline: str
) -> None:
    card = with_measures(make_card(findings=[finding("info")]), "m", shortcut("m.x", 0.7, low, 0.5))
    assert verdict(card).headline.replace("\N{NO-BREAK SPACE}", " ") == headline


def test_a_set_too_small_to_test_is_not_called_clean() -> None:
    rows = [("train", "p", f"h{i}", "yes" if i else "no") for i in range(2)]
    headline = verdict(audit(pair_instances(rows), only=["cues"])).headline
    assert "No cue found" not in headline
    assert "frequent enough" in headline


def test_a_card_of_weighted_audits_says_so_below_its_headline():
    rows = [
        ("train", f"p{i}", f"h{i % 7} {'not' if i % 2 else 'so'}", ("no", "yes")[i % 3 == 0])
        for i in range(60)
    ]
    data = pair_instances(rows)
    weighted = replace(data, table=data.table.with_columns(mine=pl.Series([1.0, 2.0] * 30)))
    assert "column 'mine'" in verdict(audit(weighted, only=["overview"], weights="mine")).detail
    assert "column" not in verdict(audit(weighted, only=["overview"])).detail


def test_a_card_of_flaws_alone_does_not_speak_of_cues(make_card: CardMaker) -> None:
    assert "cue" not in verdict(make_card(findings=[finding("medium", role="flaw")])).detail
    assert "A cue in the data does not mean" in verdict(make_card(findings=[finding("medium")])).detail


def test_headline_and_first_finding_name_the_same_of_two_leaks_that_only_their_auc_shows(
    make_card: CardMaker,
) -> None:
    first = finding("medium", "mine", value=0.699, low=0.677, high=0.72, chance=0.665)
    second = finding("medium", "mine", value=0.665, low=0.637, high=0.692, chance=0.5, unit="score")
    accuracy = shortcut("mine.a", 0.699, 0.677, 0.665)
    auc = Measure("mine.auc", 0.665, low=0.637, chance=0.5, unit="score", worse="higher", label="my AUC")
    card = with_measures(make_card(findings=[second, first]), "mine", accuracy, auc)
    assert "mine.a accuracy 69.9" in verdict(card).headline
    guessed = answers(card)[0]
    assert (guessed.severity, guessed.value[:4]) == ("medium", "69.9")


def test_where_no_text_leads_the_headline_names_the_first_finding(make_card: Callable[..., Card]) -> None:
    column = Finding(
        "columns", "medium", "The extra column date predicts the label", "…", 0.702, 0.667, 0.737, 0.554
    )
    card = make_card(findings=[column], sections={"columns": Section(title="Columns", status="done")})
    assert (
        verdict(card)
        .headline.replace("\N{NO-BREAK SPACE}", " ")
        .endswith("can inflate a score: the extra column date predicts the label, 70.2 % (chance 55.4 %).")
    )
