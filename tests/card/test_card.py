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
