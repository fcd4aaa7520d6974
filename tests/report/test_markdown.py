from __future__ import annotations

from collections.abc import Callable

from cuecard.analysis import Evidence, Finding
from cuecard.card.card import Card, Section
from cuecard.report.markdown import code, dataset_card_markdown, escape, finding_markdown

CardMaker = Callable[..., Card]


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_finding_stands_alone_in_an_issue(card: Card) -> None:
    text = plain(finding_markdown(card, card.findings[0]))
    for words in (
        "### Cue for contradiction: “nobody”",
        "| Measured | 81.4 % |",
        "| 95 % CI | 78.8 % to 83.7 % |",
        "| Chance | 33.3 % |",
        "| Instances | 992 |",
        "| Data | tiny, 3,000 train, 300 test |",
        "| Fingerprint | `b2:0123abcd` |",
        "scope = hypothesis; min\\_count = 5; null = binomial",
        "> Hypothesis: Here **nobody** walks.",
        "To reproduce: `cuecard explain nobody`",
    ):
        assert words in text


def test_a_snippet_for_the_dataset_card_names_findings_cues_and_what_did_not_run(card: Card) -> None:
    text = plain(dataset_card_markdown(card))
    assert text.startswith("## Known cues\n\ntiny contains strong cues")
    assert (
        "| Cue for contradiction: “nobody” | 81.4 %, 95 % CI 78.8 % to 83.7 % | 33.3 % | 992 | high |" in text
    )
    assert "| entailment | nobody (95 %)" in text
    assert "- Partial input: skipped, there is no test split" in text
    assert "`b2:0123abcd`" in text


def test_a_card_without_findings_claims_no_more_than_was_looked_for(make_card: CardMaker) -> None:
    text = dataset_card_markdown(make_card(findings=[]))
    assert "No cue found in tiny. The data may contain cues that were not tested." in text


def test_texts_of_the_dataset_cannot_format_mention_or_link() -> None:
    assert escape("*a* <b> | `c` [d](e)") == r"\*a\* \<b\> \| \`c\` \[d\](e)"
    assert escape("@octocat #12") == "@\u200boctocat #\u200b12"


def test_code_survives_its_own_backticks() -> None:
    assert code("a `b` c") == "`` a `b` c ``"


def test_line_breaks_cannot_leave_a_table_cell(make_card: CardMaker) -> None:
    card = make_card(
        name="two\nlines", sections={"x": Section(title="a\n# b", status="skipped", reason="c\nd")}
    )
    lines = dataset_card_markdown(card).splitlines()
    assert "# b" not in lines
    assert any("two lines" in line for line in lines)


def test_the_cue_is_bold_only_in_the_text_that_was_searched_and_only_as_a_word(make_card: CardMaker) -> None:
    example = Evidence(
        example_id="1", split="train", label="neutral", premise="Go to town", hypothesis="To sit together",
        highlight=["to"],
    )  # fmt: skip
    finding = Finding(section="cues", severity="low", title="t", text="x", evidence=[example])
    card = make_card(findings=[finding])
    card["cues"].parameters["scope"] = "hypothesis"
    text = finding_markdown(card, finding)
    assert "Premise: Go to town" in text
    assert "Hypothesis: **To** sit together" in text
