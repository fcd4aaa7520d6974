from __future__ import annotations

import io
import json
from dataclasses import replace

import polars as pl
from rich.console import Console

import cuecard as cc
from cuecard.analysis import Evidence
from cuecard.audits import Explanation
from cuecard.report import explanation_html, explanation_json, render_explanation
from small_sets import pair_instances

LABEL = "[/b]\x1b[31mred"


def explanation(association: dict[str, object] | None) -> Explanation:
    """A cue of a label that would be markup and an escape sequence if it were not shown as text."""
    share = None if association is None else 0.5
    shares = pl.DataFrame(
        [("train", LABEL, 1, 2, share, float("nan"), float("nan"), 0.5)],
        schema=["split", "label", "count", "with_feature", "share", "share_low", "share_high", "prior"],
        orient="row",
    )
    companions = pl.DataFrame({"word": ["[/i]"], "lift": [2.0]})
    examples = {LABEL: (Evidence("1", "train", LABEL, "text [/b]", "premise [/b]", ("text",)),)}
    return Explanation("word", "[/b]text", shares, association, {"train": 0.5}, companions, examples)


def shown(told: Explanation) -> str:
    out = io.StringIO()
    render_explanation(told, Console(file=out, width=200, force_terminal=False))
    return out.getvalue()


POINTS: dict[str, object] = {
    "label": LABEL, "share": 0.5, "lift": 1.0, "z": float("nan"), "log10_p": -1.0, "cueness": float("inf")
}  # fmt: skip


def test_labels_and_texts_are_shown_as_they_are_and_cannot_steer_the_terminal():
    text = shown(explanation(POINTS))
    assert "It is associated with [/b]⟨U+001B⟩[31mred" in text
    assert "premise [/b]" in text
    assert "\x1b" not in text


def test_a_cue_without_train_instances_points_to_no_label():
    assert "It does not occur in the training set" in shown(explanation(None))


def test_json_has_null_where_a_number_is_not_finite():
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    document = json.loads(explanation_json(explanation(POINTS)), parse_constant=refuse)
    assert document["association"]["z"] is None
    assert document["shares"][0]["share_low"] is None
    assert document["examples"][LABEL][0]["highlight"] == ["text"]


def test_an_explanation_prints_itself_and_shows_itself_in_a_notebook():
    rows = [
        ("train", "p", "nobody sleeps" if i % 2 else f"some{i} sleep", "yes" if i % 2 else "no")
        for i in range(40)
    ]
    told = cc.explain(pair_instances(rows), "nobody")
    assert repr(told) == "Explanation(word:nobody, yes, share=1.000)"
    assert str(told).startswith("nobody  (word)")
    assert "DataFrame" not in str(told)
    assert "<b" in told._repr_html_() or "font-weight: bold" in told._repr_html_()


def test_a_hostile_text_is_text_in_a_notebook():
    assert "<script>" not in explanation_html(
        replace(explanation(POINTS), feature="<script>alert(1)</script>")
    )


def test_two_intervals_of_one_cue_say_what_each_is():
    told = replace(
        explanation({**POINTS, "q_value": 0.0}),
        sentence="62.0 % of the 7,971 training examples are neutral (95 % CI 60.8 % to 63.2 %).",
        touched={"train": 0.086, "test": 0.085},
    )
    text = " ".join(shown(told).replace("\N{NO-BREAK SPACE}", " ").split())
    assert "The table counts every instance, copies too, and its CIs are Wilson intervals." in text
    assert "corrects its CI for selecting this cue among many" in text
    assert "q < 10⁻³⁰⁰" in text
    assert "It occurs in 8.6 % of the training set and 8.5 % of the test set." in text
