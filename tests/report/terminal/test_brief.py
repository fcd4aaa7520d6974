from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.audits.cues.audit import Cues
from cuecard.card.card import Card
from cuecard.data import load
from cuecard.report import render_html
from cuecard.report.markdown import dataset_card_markdown
from cuecard.report.terminal.card import render_brief, render_terminal
from cuecard.run import audit

CardMaker = Callable[..., Card]


def printed(
    card: Card,
    *,
    width: int = 80,
    whole: bool = False,
    sections: tuple[str, ...] = (),
    terminal: bool = False,
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    if whole:
        render_terminal(card, console)
    else:
        render_brief(card, console, sections=sections)
    return out.getvalue()


def long_finding(number: int) -> Finding:
    return Finding(
        section="cues",
        severity="high" if number < 5 else "low",
        title=f"Cue {number}" + ": “a feature with a name of some length that has to be cut”" * (number % 2),
        text="A sentence with numbers, 62.0 % of 7,971 and chance 34.6 %, " * 5,
        value=0.62,
        chance=0.346,
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_card_of_many_findings_fits_on_a_screen_and_no_line_is_cut(
    make_card: CardMaker, width: int
) -> None:
    text = printed(make_card(findings=[long_finding(i) for i in range(40)]), width=width, terminal=True)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= width
    assert "… and 30 more findings." in text
    assert "62.0 %, chance 34.6 %" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_titles_are_whole_where_nobody_watches(make_card: CardMaker) -> None:
    findings = [long_finding(i) for i in range(40)]
    text = printed(make_card(findings=findings))
    lines = text.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    for finding in findings[:10]:
        assert [
            line
            for line in lines
            if line.endswith((finding.title, f"{finding.title}  62.0 %, chance 34.6 %"))
        ]


def test_tables_are_printed_only_for_the_sections_that_the_user_names(card: Card) -> None:
    assert "Cues ─" not in printed(card)
    assert "Cues ─" in printed(card, sections=("cues",))
    assert "Overview ─" not in printed(card, sections=("cues",))


ROWS = [
    {
        "premise": f"A person {i} stands on street {i % 17}.",
        "hypothesis": f"{'Nobody' if i % 2 else 'Somebody'} stands {'outside' if i % 3 else 'maybe inside'} {i % 290}.",
        "label": "contradiction" if i % 2 else "entailment",
    }
    for i in range(400)
]


@pytest.fixture(scope="module")
def real_card() -> Card:
    data = load(ROWS[:300], test=ROWS[250:], name="streets")
    return audit(
        data, audits=[Cues(regex=(("hedge", "maybe"), ("rare", "zebra")), features=("length", "negation"))]
    )


def test_what_the_user_named_is_shown_even_if_it_is_no_cue(real_card: Card) -> None:
    text = printed(real_card)
    assert re.search(r"^ hedge +regex", text, re.MULTILINE)
    assert re.search(r"(?m)^ .* length +(for|against)", text)
    assert "Not tested: rare, negation (occur in fewer than" in text


@pytest.fixture(scope="module")
def whole_card() -> Card:
    from cuecard.audits import AUDITS

    data = load(ROWS[:300], test=ROWS[250:], name="streets")
    return audit(data, only=[name for name in AUDITS.names() if name != "clusters"])


def plain(html: str) -> str:
    text = re.sub(r"(?s)<(script|style).*?</\1>", " ", html)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def renderings(card: Card) -> dict[str, str]:
    texts = {
        "brief": printed(card, width=200),
        "terminal": printed(card, width=200, whole=True),
        "html": plain(render_html(card)),
        "markdown": dataset_card_markdown(card).replace("\\", ""),
    }
    return {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}


def test_every_rendering_of_a_card_counts_findings_features_and_shared_texts_alike(whole_card: Card) -> None:
    texts = renderings(whole_card)
    for what, pattern, places in (
        ("findings", r"(\d[\d,]*) findings: \d", ("brief", "terminal", "html", "markdown")),
        ("features tested", r"of ([\d,]+) features", ("terminal", "html")),
        ("shared", r"([\d,]+) of [\d,]+ test examples(?: \([\d.]+ %\))? share a text", ("terminal", "html")),
    ):
        counts = {name: set(re.findall(pattern, texts[name])) for name in places}
        assert all(counts.values()), (what, counts)
        assert len(set.union(*counts.values())) == 1, (what, counts)
    counted = sum(finding.severity != "info" for finding in whole_card.findings)
    assert f"{counted} findings" in repr(whole_card)
    shared = wording.percent(whole_card.measure("overview.test_overlap").value).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert f"test examples ({shared}) share a text" in texts["terminal"]


@pytest.mark.parametrize("rows", [300, 90])
def test_the_share_measured_by_a_finding_about_a_cue_is_in_its_sentence(whole_card: Card, rows: int) -> None:
    without_test = audit(load(ROWS[:rows]), only=["cues"])
    cues = [f for f in (*whole_card.findings, *without_test.findings) if f.cue and f.section == "cues"]
    assert len(cues) > 1
    for finding in cues:
        assert finding.value is not None
        assert wording.percent(finding.value) in finding.text


def test_the_share_of_a_flaw_is_not_compared_with_chance(make_card: CardMaker) -> None:
    flaw = Finding(
        section="overview", severity="low", title="Test examples also occur in the training set", text="", value=0.002,
        chance=0.0, role="flaw",
    )  # fmt: skip
    text = printed(make_card(findings=[long_finding(0), flaw])).replace("\N{NO-BREAK SPACE}", " ")
    assert "also occur in the training set  0.2 %\n" in text
    assert "chance 0 %" not in text
