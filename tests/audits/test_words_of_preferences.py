"""A card about preferences calls what is compared responses, in every sentence and name."""

from __future__ import annotations

import re

from benchmarks.demo_shapes import demo_long_answers

import cuecard as cc

SECTIONS = ["overview", "partial_input", "cues", "style", "pair_graph", "slices"]


def test_sentences_and_names_about_preferences_speak_of_responses():
    card = cc.audit(demo_long_answers(300, seed=0), only=SECTIONS)
    sentences = [part for f in card.findings for part in (f.title, f.text, *f.parts)]
    names = card.measures["label"].to_list()
    other = re.compile(r"\b(answers?|questions?|premises?|hypothes[ei]s|sentences?)\b", re.IGNORECASE)
    assert not [text for text in (*sentences, *names) if other.search(text)]
    assert any("Always choosing the longest response" in text for text in sentences)
    assert "longest-response accuracy" in names
