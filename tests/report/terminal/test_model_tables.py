"""Tables about models in the terminal: the most important rows first, and no result column lost at 80 columns."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import cuecard as cc
from cuecard.card.card import Card
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.report import render_terminal
from cuecard.report.findings import facts, meter
from cuecard.report.sections import section_view
from cuecard.report.verdict import key_figures, verdict


@pytest.fixture(scope="module")
def probed() -> Card:
    demo = demo_nli(6000, seed=1)
    models = {
        "a-model-with-a-long-name": demo_predictions(demo, 0.7, seed=1),
        "fair": demo_predictions(demo, 0.0, seed=2),
    }
    return cc.probe(demo.instances, models, features=("word", "bigram", "length"))


def printed(card: Card, width: int = 80) -> dict[str, str]:
    out = io.StringIO()
    render_terminal(card, Console(file=out, width=width))
    parts = re.split(r"^(.+?) ─{5,}$", out.getvalue(), flags=re.MULTILINE)
    return {"top": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Cues and reliance", ("Reliance", "label", "usual", "other", "balanced", "ΔAcc")),
        ("Accuracy test", ("ΔAcc", "low", "high", "q", "with", "without")),
        ("Distribution test", ("Share", "Chance", "No cue", "train", "q")),
        ("Permutation test", ("usual", "other", "q", "Usual", "Other")),
        ("Paired comparison", ("A−B", "low", "high", "q", "Only", "cue")),
    ],
)
def test_all_result_columns_are_shown_at_80_columns(probed: Card, title: str, words: tuple[str, ...]) -> None:
    shown = printed(probed)[title]
    head = shown[: shown.index(" ───")]
    heading = "\n".join(head.splitlines()[-4:])
    for word in words:
        assert re.search(rf"(?<!\S){re.escape(word)}(?!\S)", heading), (word, heading)
    assert max(map(len, shown.splitlines())) <= 80


def test_rows_come_by_verdict_and_gaps_by_size(probed: Card) -> None:
    rows = section_view(probed, "reliance").tables[0].rows
    verdicts = [row[2] for row in rows]
    assert verdicts == sorted(
        verdicts, key=["relies", "signs", "no sign", "too few"].index
    ) or verdicts == sorted(verdicts, key=["relies", "signs", "too few", "no sign"].index)
    assert rows[0][1] == "a-model-with-a-long-name"
    gaps = section_view(probed, "accuracy_test").tables[0]
    q = [column.title for column in gaps.columns].index("q")
    significant = [row[q] is not None and row[q] <= 0.05 for row in gaps.rows]
    assert significant == sorted(significant, reverse=True)


def test_what_to_do_next_is_said_once_per_kind_of_advice(probed: Card) -> None:
    said = " ".join(section_view(probed, "reliance").lead)
    assert "Next: Balance these cues before training (cuecard debias)" in said


def test_the_headline_and_the_figures_are_about_the_models(probed: Card) -> None:
    headline = verdict(probed).headline
    assert re.match(
        r"On demo-nli, a-model-with-a-long-name relies on \d+ of \d+ cues \(accuracy [\d.]+\s%\) and fair",
        headline,
    )
    labels = [figure.label for figure in key_figures(probed)]
    assert labels[0] == "accuracy of a-model-with-a-long-name"
    assert "cues fair relies on" in labels
    assert headline.split(" relies")[0] in printed(probed)["top"].replace("\n", " ")


def test_without_the_reliance_section_the_headline_still_tells_accuracies() -> None:
    demo = demo_nli(900, seed=1)
    card = cc.probe(demo.instances, {"m": demo_predictions(demo)}, only=["accuracy_test"], features=("word",))
    assert re.match(r"On demo-nli, m has an accuracy of [\d.]+\s%\.", verdict(card).headline)


def test_a_difference_of_accuracies_is_told_in_points_and_not_drawn_as_a_rate(probed: Card) -> None:
    found = next(f for f in probed.findings if f.section == "reliance" and f.severity != "info")
    assert meter(found) is None
    names = dict(facts(found))
    assert re.fullmatch(r"\+[\d.]+ points", names["Difference"])
    assert "Chance" not in names


@pytest.mark.parametrize(
    ("corrected", "said"), [(0.123, "12.3 corrected for noise"), (-0.066, "no more than expected from noise")]
)
def test_the_weakness_without_noise_has_its_interval(probed: Card, corrected: float, said: str) -> None:
    card = probed.model_copy(deep=True)
    card.attach(probed.tables)
    card["accuracy_test"].summary["models"]["fair"]["weakness_corrected"] = corrected
    sentences = " ".join(printed(card)["Accuracy test"].split())
    assert re.search(
        rf"fair has an accuracy of .* points, {said} \(95 % CI of the true sum [\d.]+ to [\d.]+\)", sentences
    )


def test_leans_count_apart_where_the_cue_is_what_makes_them(probed: Card) -> None:
    models = probed["distribution_test"].summary["models"]
    for found in models.values():
        assert found["with_cue_only"] <= found["towards_usual"]
    assert models["a-model-with-a-long-name"]["with_cue_only"] > 0
    assert "more than without the cue" in section_view(probed, "distribution_test").lead[0]


def test_both_p_values_of_the_permutation_test_are_said_and_which_is_which() -> None:
    demo = demo_nli(900, seed=1)
    leads = []
    for stratify in (None, "label"):
        settings = {"permutation_test": {"stratify": stratify}}
        card = cc.probe(
            demo.instances,
            {"m": demo_predictions(demo)},
            only=["permutation_test"],
            features=("word",),
            settings=settings,
        )
        leads.append(section_view(card, "permutation_test").lead[0])
    pattern = r"p = (\S+), the larger of (\S+) over all examples and (\S+) stratified by correct answer; by the paper"
    said = [re.search(pattern, lead) for lead in leads]
    assert said[0] is not None
    assert said[1] is not None
    assert said[0].groups() == said[1].groups()
    assert said[0][1] in (said[0][2], said[0][3])
    assert said[0][2] != said[0][3]
