from __future__ import annotations

from cuecard.analysis import Finding
from cuecard.run.finishing import merged_findings


def finding(
    title: str, words: tuple[str, ...], *, label: str = "c", low: float = 0.8, section: str = "cues"
) -> Finding:
    return Finding(section, "low", title, "", low + 0.05, low, low + 0.1, 0.3, label=label, words=words)  # type: ignore[arg-type]


def titles(findings: list[Finding]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.title, one.parts) for one in findings]


def test_a_phrase_and_a_region_named_by_a_word_are_parts_of_its_finding() -> None:
    word, phrase = finding("nobody", ("nobody",)), finding("nobody is", ("nobody", "is"), low=0.7)
    region = finding("nobody, empty", ("nobody", "empty"), low=0.6, section="clusters")
    assert titles(merged_findings([region, phrase, word])) == [("nobody", ("nobody is", "nobody, empty"))]


def test_what_gives_more_away_is_told() -> None:
    word, region = (
        finding("nobody", ("nobody",), low=0.5),
        finding("region", ("nobody", "empty"), section="clusters"),
    )
    assert titles(merged_findings([word, region])) == [("region", ("nobody",))]


def test_other_words_and_other_labels_stay_apart() -> None:
    kept = [finding("a", ("a",)), finding("b", ("b",)), finding("a of e", ("a",), label="e")]
    assert len(merged_findings(kept)) == 3


def test_findings_without_words_stay_apart() -> None:
    assert len(merged_findings([finding("one", ()), finding("two", ())])) == 2


def test_a_rule_over_all_examples_and_a_cue_of_its_family_are_one_finding_whichever_gives_more_away() -> None:
    cue = finding("the most tokens", ("length:",), label="right")
    rule = finding("always the longest", ("length:",), label="", low=0.6, section="partial_input")
    assert titles(merged_findings([rule, cue])) == [("the most tokens", ("always the longest",))]
    weaker = finding("the most tokens", ("length:",), label="right", low=0.5)
    assert titles(merged_findings([weaker, rule])) == [("always the longest", ("the most tokens",))]
