"""Which cues are the task and which a shortcut: what users expect, and words of single texts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import cuecard as cc
from cuecard.errors import CueCardError
from small_sets import pair_instances


def texts(long_share: float = 0.5, n: int = 600):
    """Texts in which "good" tells the label, and their length does as far as `long_share` is not a half."""
    rng = random.Random(0)
    rows = []
    for _ in range(n):
        label = rng.randrange(2)
        words = [
            f"w{rng.randrange(20)}" for _ in range(9 if (rng.random() < long_share) == (label == 1) else 5)
        ]
        if rng.random() < 0.5 and label == (rng.random() < 0.85):
            words[rng.randrange(5)] = "good"
        rows.append(("train", "", " ".join(words), str(label)))
    return replace(pair_instances(rows), task="text")


def found(data, **options):
    card = cc.audit(data, only=("cues",), **options)
    return {finding.id: finding for finding in card.findings}


def test_words_of_a_text_lead_where_they_give_more_away_than_its_form():
    word = found(texts())["cues/good/1"]
    assert word.severity == "low"
    assert word.text.endswith("may be the task or a shortcut. If it is the task, type --expect words.")
    with_length = found(texts(0.97))
    assert with_length["cues/good/1"].severity == "info"
    assert any(f.severity in ("high", "medium") for f in with_length.values() if "length" in f.cue)


@pytest.mark.parametrize("expect", [("words",), ("word", "bigram")])
def test_what_is_expected_is_listed_and_is_no_shortcut(expect):
    word = found(texts(), expect=expect)["cues/good/1"]
    assert (word.severity, word.text.endswith("expected as a part of the task (--expect).")) == ("info", True)
    pairs = replace(texts(), task="pair")
    assert found(pairs)["cues/good/1"].severity in ("high", "medium", "low")
    assert all(f.severity == "info" for f in found(pairs, expect=expect).values() if "length" not in f.id)


def test_an_unknown_family_is_not_expected(cuecard, tmp_path):
    with pytest.raises(CueCardError, match="Unknown expected family 'wrods'"):
        found(texts(), expect=("wrods",))
    texts().table.select("hypothesis", "label").rename({"hypothesis": "text"}).write_csv(tmp_path / "t.csv")
    ran = cuecard("audit", tmp_path / "t.csv", "--only", "cues", "--expect", "words")
    assert (ran.code, "type --expect" in ran.out) == (0, False)


@pytest.mark.parametrize(("expect", "severity"), [((), "medium"), (("overlap",), "info")])
def test_shared_words_of_pairs_are_a_finding_unless_they_are_expected(expect, severity):
    rng, rows = random.Random(0), []
    for i in range(300):
        words = [f"w{rng.randrange(2_000)}" for _ in range(16)]
        shares = rng.random() < (0.8 if i % 2 else 0.2)
        hypothesis = words[:6] if shares else [f"w{rng.randrange(2_000)}" for _ in range(6)]
        rows.append(("train", " ".join(words), " ".join(hypothesis), str(i % 2)))
    card = cc.audit(pair_instances(rows), only=("partial_input",), expect=expect)
    [finding] = [finding for finding in card.findings if finding.key == "overlap"]
    assert (finding.severity, "type --expect overlap" in finding.text) == (severity, not expect)
    # The section's only signal counts where it is no part of the task.
    assert (finding.card_q <= 0.05) == (not expect)
