from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.features import Characters
from cuecard.text import encode
from small_sets import pair_instances

#: A text that has each feature and one that comes close.
EXAMPLES = {
    "a straight apostrophe": ("it's", "it’s"),
    "straight quotation marks": ('say "no"', "say “no”"),
    "a leading space": (" so", "so so"),
    "a trailing space": ("so ", "so\n"),
    "a trailing line break": ("so\n", "so "),
    "two spaces in a row": ("one  two", "one two  "),
    "a tab": ("one\ttwo", "one two"),
    "a carriage return": ("one\r\ntwo", "one\ntwo"),
    "a space before punctuation": ("no , yes", "no .. yes"),
    "no space after a comma": ("no,yes", "1,000"),
    "a last quotation mark": ("say “no”", "say “no”."),
    "a last closing bracket": ("yes (no)", "yes (no)."),
    "a last comma, colon or semicolon": ("yes:", "yes: no"),
    "a first letter in upper case": ("“Yes", "yes No"),
    "all words capitalised": ("Red Green", "Red green"),
    "all letters in capitals": ("NO WAY 2", "NO WAy"),
    "a thousands separator": ("12,000,000", "1,00"),
    "a decimal number": ("3.5", "3. 5"),
    "a leading zero": ("at 09:30", "at 10:30"),
    "a percent sign": ("5 %", "5 percent"),
    "a currency sign": ("5 €", "5 euros"),
    "an HTML entity": ("a &amp; b", "a & b; c"),
    "an HTML tag": ("a<br/>b", "a < b > c"),
    "an escaped line break": ("a\\nb", "a\nb"),
    "a curly apostrophe": ("it’s", "it's é"),
    "curly quotation marks": ("“no”", "«no»"),
    "an en dash": ("1–2", "1—2"),
    "an em dash": ("1—2", "1–2"),
    "an unusual hyphen or minus": ("1\u22122", "1–2"),
    "an ellipsis character": ("so…", "so... é"),
    "a non-breaking space": ("5\u00a0km", "5\u2009km"),
    "an unusual space": ("5\u2009km", "5\u00a0km"),
    "a zero-width character": ("no\u200bw", "no\u00adw"),
    "a soft hyphen": ("no\u00adw", "no\u200bw"),
    "a full-width form": ("ｎｏ", "né"),
    "an accented letter": ("né", "нет"),
    "a letter of another script": ("нет", "né"),
    "a combining mark": ("ne\u0301", "né"),
    "a replacement character": ("n\ufffd", "né"),
}


def features_of(text: str) -> set[str]:
    data = pair_instances([("train", "", text, "yes"), ("train", "", "plain words", "no")])
    presence = Characters().presence(encode(data, language="en"))
    return set(presence.names.gather(presence.indices[presence.rows() == 0]).to_list())


@pytest.mark.parametrize("feature", EXAMPLES)
def test_a_character_feature_is_seen_where_it_is_and_only_there(feature):
    with_it, without_it = EXAMPLES[feature]
    assert feature in features_of(with_it)
    assert feature not in features_of(without_it)


def test_every_character_feature_has_an_example_here():
    from cuecard.features.raw_text import ANYWHERE, OUTSIDE_ASCII

    assert set(EXAMPLES) == {*ANYWHERE, *OUTSIDE_ASCII}


def test_both_texts_of_a_pair_are_looked_at_in_scope_both():
    data = pair_instances([("train", "it’s", "no", "yes"), ("train", "is", "it’s", "no")])
    presence = Characters().presence(encode(data, scope="both", language="en"))
    column = presence.names.to_list().index("a curly apostrophe")
    assert presence.rows()[presence.indices == column].tolist() == [0, 1]


LEAKS = {
    "a curly apostrophe": lambda text: text.replace("'", "’"),
    "a trailing space": lambda text: text + " ",
    "two spaces in a row": lambda text: text.replace(" ", "  ", 1),
    "a non-breaking space": lambda text: text.replace(" ", "\u00a0", 1),
    "a zero-width character": lambda text: text + "\u200b",
    "a full-width form": lambda text: text.replace("!", "！"),
}


def questions(leak: str | None, n: int = 300) -> pl.DataFrame:
    """Questions whose right answer, and hardly another, is written with some character."""
    rng = np.random.default_rng(7)
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("ala", "emo", "iro", "onu", "uta")]
    rows = []
    for _ in range(n):
        answer = int(rng.integers(4))
        choices = [f"it's {' '.join(rng.choice(words, 8))}!" for _ in range(4)]
        for k in range(4):
            if leak and rng.random() < (0.8 if k == answer else 0.05):
                choices[k] = LEAKS[leak](choices[k])
        rows.append({"question": " ".join(rng.choice(words, 8)), "choices": choices, "answer": answer})
    return pl.DataFrame(rows)


@pytest.mark.parametrize("leak", LEAKS)
def test_a_character_in_right_answers_is_among_the_first_three_findings(leak):
    card = cc.audit(questions(leak), only=["cues"], cache=False)
    assert any(f"right choices: {leak}" in finding.title for finding in card.findings[:3])
    assert card.findings[0].severity == "high"


def test_no_character_is_a_cue_where_none_is_planted():
    card = cc.audit(questions(None), only=["cues"], cache=False)
    cues = card["cues"].table
    assert not cues.filter((pl.col("family") == "characters") & pl.col("significant")).height
