"""In Python, data are tables with named columns, or texts with labels, and errors name arguments."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import InputError, UsageError, in_form, in_python

TEXTS = [f"text number {i} is {'good' if i % 2 else 'bad'}" for i in range(60)]
LABELS = ["pos" if i % 2 else "neg" for i in range(60)]
ONLY = {"only": ["overview"]}


@pytest.mark.parametrize("kind", [list, pl.Series, np.array, tuple])
def test_texts_and_labels(kind):
    card = cc.audit(kind(TEXTS), kind(LABELS), **ONLY)
    assert (card.dataset.task, card.dataset.labels) == ("text", ["neg", "pos"])
    assert card.dataset.splits["train"].examples == 60


def test_premises_and_hypotheses():
    card = cc.audit(premises=TEXTS, hypotheses=TEXTS[::-1], labels=LABELS, **ONLY)
    assert card.dataset.columns == {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}


def test_columns_of_a_table():
    frame = pl.DataFrame({"one": TEXTS, "two": LABELS})
    card = cc.audit(frame, columns={"text": "one", "label": "two"}, **ONLY)
    assert card.dataset.columns == {"text": "one", "label": "two"}
    named = cc.audit(frame, {"neg": "bad", "pos": "good"}, columns={"text": "one", "label": "two"}, **ONLY)
    assert named.dataset.labels == ["bad", "good"]


def test_the_verdict_is_one_sentence():
    card = cc.audit(TEXTS, LABELS, **ONLY)
    assert card.verdict.endswith(".")
    assert "verdict" in dir(card)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cc.audit(TEXTS, LABELS[:3]), "data has 60, labels has 3"),
        (lambda: cc.audit(premises=TEXTS, labels=LABELS), "given as premises, hypotheses and labels"),
        (lambda: cc.audit(), "There is no data"),
        (
            lambda: cc.audit(TEXTS, LABELS, columns={"text": "a"}),
            "Texts and labels have no columns",
        ),
        (
            lambda: cc.audit(cc.load(pl.DataFrame({"text": TEXTS, "label": LABELS})), task="text"),
            r"cuecard\.load",
        ),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_errors_in_python_name_arguments():
    with pytest.raises(InputError) as caught:
        cc.load(pl.DataFrame({"xx": TEXTS, "yy": LABELS}))
    message = str(caught.value)
    assert 'columns={"text": "xx", "label": "yy"}' in message
    assert "--" not in message
    scores = pl.DataFrame({"text": TEXTS, "worth": [i / 7 for i in range(60)]})
    with pytest.raises(InputError, match=r'labels="worth>4\.21"'):
        cc.audit(scores)


@pytest.mark.parametrize(
    ("message", "python", "form"),
    [
        ("type --on-error skip.", 'type on_error="skip".', "type --on-error skip."),
        ("type --max-skipped 66", "type max_skipped=66", "type --max-skipped 66"),
        ("type --header none if", 'type header="none" if', "choose none in the field Header line if"),
        (
            "type --labels 0=a,1=b.",
            'type labels={"0": "a", "1": "b"}.',
            "enter 0=a,1=b in the field Names of label values.",
        ),
        (
            "type --columns 'text=my text,label=b';",
            'type columns={"text": "my text", "label": "b"};',
            "choose text for my text, label for b in the table of columns;",
        ),
        ("with --holdout 0.2.", "with holdout=0.2.", "with --holdout 0.2."),
        ("name it with --columns.", "name it with columns.", "name it with --columns."),
    ],
)
def test_options_in_other_words(message, python, form):
    assert in_python(message) == python
    assert in_form(message) == form


def test_functions_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(cc.audit)) is cc.audit
