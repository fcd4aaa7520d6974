"""Whole cards of every task: measures are declared, ids of findings are unique, units are right."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import cuecard as cc
from claims import contradictions
from cuecard.analysis import Measure, MeasureKind
from cuecard.audits import AUDITS
from cuecard.card import Card
from cuecard.data import Instances
from cuecard.data.demo import demo_choice, demo_nli, demo_predictions
from cuecard.probes import PROBES
from cuecard.remedies import REMEDIES
from small_sets import choice_instances, pair_instances

KINDS = {kind.name: kind for kind in (*AUDITS, *PROBES, *REMEDIES)}
TASKS = ("pair", "choice", "preference", "text")
QUICK = {"clusters": {"map": "none", "sweep": False, "permutations": 20, "restarts": 2}}


def planted(n: int = 400) -> list[tuple[str, str, int]]:
    """Split, text and label of texts that end in "indeed" mostly where the label is 1."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        label = int(rng.integers(0, 2))
        words = [f"w{rng.integers(0, 12)}" for _ in range(4)]
        words[-1] = "indeed" if rng.random() < (0.7 if label else 0.1) else words[-1]
        rows.append(("test" if i % 4 == 0 else "train", " ".join(words), label))
    return sorted(rows, key=lambda row: row[0], reverse=True)


def dataset(task: str) -> Instances:
    if task == "pair":
        return demo_nli(900, seed=1).instances
    if task == "choice":
        return demo_choice(600, seed=1).instances
    rows = planted()
    if task == "text":
        texts = pair_instances([(split, "", text, str(label)) for split, text, label in rows])
        return replace(texts, task="text")
    answers = [
        (split, f"q{i % 90}", [text, f"w{i % 7} so"], 1 - y) for i, (split, text, y) in enumerate(rows)
    ]
    return replace(choice_instances(answers), task="preference")


@cache
def cards(task: str) -> list[Card]:
    data = dataset(task)
    made = [cc.audit(data, settings=QUICK), cc.debias(data, min_count=20, reaudit=("all",), shuffles=2).card]
    if task in ("pair", "choice"):
        demo = demo_nli(900, seed=1) if task == "pair" else demo_choice(600, seed=1)
        models = {"m_1": demo_predictions(demo, 0.8, seed=1), "even": demo_predictions(demo, 0.0, seed=2)}
        settings = {"debiased_evaluation": {"folds": 5, "trees": 10}}
        made.append(cc.probe(data, models, settings=settings, features=("word",)))
    if task == "pair":
        made.append(cc.debias(data, "neutral", folds=5, trees=10).card)
    return made


def declares(kind: MeasureKind, section: str, measure: Measure) -> bool:
    pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(kind.name))
    same = (kind.unit, kind.worse) == (measure.unit, measure.worse)
    return same and re.fullmatch(f"{re.escape(section)}\\.{pattern}", measure.name) is not None


@pytest.mark.parametrize("task", TASKS)
def test_every_section_that_ran_has_measures_that_its_analysis_declares(task):
    for card in cards(task):
        for name, section in card.sections.items():
            assert section.status != "failed", section.reason
            if section.status == "done":
                assert section.measures, name
                assert section.about == getattr(KINDS[name], "about", "data")
            for measure in section.measures:
                assert any(declares(kind, name, measure) for kind in KINDS[name].measures), measure


@pytest.mark.parametrize("task", TASKS)
def test_names_and_labels_of_measures_are_unique_and_their_numbers_in_order(task):
    for card in cards(task):
        frame = card.measures
        assert frame["name"].is_unique().all()
        assert frame["label"].is_unique().all(), frame.filter(frame["label"].is_duplicated())[
            "name"
        ].to_list()
        for m in card.all_measures():
            if m.value is not None and m.unit == "share":
                assert 0 <= m.value <= 1, m


@pytest.mark.parametrize("task", TASKS)
def test_no_claim_of_a_card_contradicts_another_or_its_own_interval(task):
    assert {name: contradictions(card) for name, card in enumerate(cards(task)) if contradictions(card)} == {}


@pytest.mark.parametrize("task", TASKS)
def test_ids_of_findings_are_unique_and_units_fit_their_numbers(task):
    for card in cards(task):
        ids = [finding.id for finding in card.findings]
        assert len(ids) == len(set(ids)), sorted(ids)
        for finding in card.findings:
            assert finding.id.startswith(f"{finding.section}/"), finding.title
            numbers = [x for x in (finding.value, finding.low, finding.high, finding.chance) if x is not None]
            if finding.unit == "share":
                assert all(0 <= x <= 1 for x in numbers), finding
            elif finding.unit == "points":
                assert all(-1 <= x <= 1 for x in numbers), finding
            elif finding.unit == "count":
                assert all(x == round(x) for x in numbers), finding


def test_differences_are_points_and_counts_are_counts():
    units = {f.id: f.unit for card in cards("pair") for f in card.findings if f.value is not None}
    assert units["permutation_test/m_1"] == "points"
    assert units["paired_comparison/m_1/even"] == "points"
    assert units["lexical_weights/cues"] == "count"
    assert units["cues/indeed/entailment"] == "share"
