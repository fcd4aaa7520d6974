from __future__ import annotations

import subprocess
import sys

import pytest

import cuecard as cc
from cuecard.errors import UsageError
from small_sets import pair_instances

DATA = pair_instances([("train", f"p{i}", f"h{i % 3} <b>", "yes" if i % 2 else "no") for i in range(40)])


def test_a_notebook_shows_the_card_with_its_texts_escaped():
    shown = cc.audit(DATA)._repr_html_()
    assert shown is not None
    assert "pairs" in shown
    assert "<b>" not in shown.replace("<b>No", "")


def test_a_section_that_does_not_exist_is_answered_with_near_ones():
    card = cc.audit(DATA)
    with pytest.raises(UsageError, match="Did you mean 'cues'"):
        card["cue"]
    with pytest.raises(UsageError, match="Did you mean 'associations'"):
        card["cues"]["association"]


def test_loading_a_card_draws_nothing():
    code = "import sys, cuecard as cc; cc.load_card; print('altair' in sys.modules, 'sklearn' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split()[0] == "False"


def test_a_card_writes_itself_and_lists_only_what_a_user_calls(tmp_path):
    rows = [{"text": f"a {i % 7} b", "label": "x" if i % 2 else "y"} for i in range(40)]
    card = cc.audit(rows, only=["overview"])
    assert card.save(tmp_path / "run") == tmp_path / "run" / "report.html"
    assert cc.load_card(tmp_path / "run").findings == card.findings
    assert card.report(tmp_path / "alone.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(dir(card)) < 12
    assert all(hasattr(card, name) for name in dir(card))


def test_a_file_is_audited_by_its_path_and_a_loaded_set_takes_no_second_test_split(tmp_path):
    file = tmp_path / "towns_train.csv"
    file.write_text("text,label\n" + "".join(f"town {i},{'a' if i % 2 else 'b'}\n" for i in range(40)))
    card = cc.audit(str(file), only=["overview"])
    assert card.dataset.name == "towns"
    with pytest.raises(cc.CueCardError, match=r"give its test split to cuecard\.load"):
        cc.audit(cc.load(file), test=file, only=["overview"])


def test_a_card_prints_one_finding_in_the_singular():
    from cuecard.analysis import Finding
    from policy_cards import card_with

    card = card_with()
    card.findings = [
        Finding(section="cues", severity=severity, title="t", text="t")
        for severity in ("low", "info", "info")
    ]
    assert repr(card).startswith("Card('tiny', 1 finding, 2 remarks; ")
