"""A model behind an endpoint describes concepts, and its descriptions are scored on texts it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits import Concepts
from cuecard.audits.concepts.naming import SCORED_ON
from cuecard.errors import UsageError
from scripted_server import Script, serving


def _texts(n: int = 700) -> pl.DataFrame:
    """Return texts about the sea or the town; those about the sea are more often "yes"."""
    rng = np.random.default_rng(8)
    sea = rng.random(n) < 0.3
    yes = rng.random(n) < np.where(sea, 0.9, 0.33)
    words = {True: ["ship", "wave", "sail", "harbour"], False: ["street", "tram", "shop", "square"]}
    texts = [
        " ".join([*rng.choice(words[bool(one)], 3), f"number{i % 97}", f"thing{i}"])
        for i, one in enumerate(sea)
    ]
    return pl.DataFrame({"text": texts, "label": np.where(yes, "yes", "no")})


def _is_of_the_sea(prompt: str) -> bool:
    text = prompt.partition("Text: ")[2].partition("\n")[0]
    return any(word in text for word in ("ship", "wave", "sail", "harbour"))


def _knowing(prompt: str) -> str:
    """Answer as a model that reads: it proposes the sea where clear examples have it."""
    if prompt.startswith("Some texts"):
        clear = prompt.partition("Texts without it:")[0]
        return (
            "The text is about the sea." if clear.count("ship") + clear.count("wave") > 3 else "About a town."
        )
    of_sea = "sea" in prompt.partition("Text: ")[0]
    return "Yes" if _is_of_the_sea(prompt) == of_sea else "No."


def _card(
    answer: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: object
) -> cc.Card:
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    with serving(Script(answer=answer)) as script:
        audit = Concepts(embed="tfidf", endpoint=script.url, endpoint_model="m", **options)  # type: ignore[arg-type]
        card = cc.audit(_texts(), audits=[audit])
        asked = sum(script.asked.values())
        again = cc.audit(_texts(), audits=[audit])
        assert sum(script.asked.values()) == asked  # answers are cached
    assert card["concepts"].status == "done", card["concepts"].reason
    assert again["concepts"].summary == card["concepts"].summary
    return card


def test_a_good_description_is_shown_with_its_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = _card(_knowing, tmp_path, monkeypatch)
    descriptions = card.tables["concept_descriptions"]
    sea = descriptions.filter(pl.col("description") == "The text is about the sea.")
    assert sea.height >= 1
    assert sea["auc"].max() > 0.9  # type: ignore[operator]
    assert sea["shown"].any()
    assert sea["n"].max() <= 2 * SCORED_ON  # type: ignore[operator]
    assert any("A model describes it as “The text is about the sea.” (AUC" in f.text for f in card.findings)
    prompts = card.tables["concept_answers"]
    assert prompts.height == descriptions["n"].sum() + descriptions.height


def test_a_poor_description_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def poor(prompt: str) -> str:
        return "Something." if prompt.startswith("Some texts") else ("yes" if len(prompt) % 2 else "no")

    card = _card(poor, tmp_path, monkeypatch)
    descriptions = card.tables["concept_descriptions"]
    assert not descriptions.filter(pl.col("auc") < 0.7)["shown"].any()
    assert (~descriptions["shown"]).any()
    overall = next(f for f in card.findings if f.title.startswith("Discovered concepts"))
    assert "agree with them too little (AUC below 0.7) and are not shown" in overall.text
    assert not any("Something." in f.text for f in card.findings if "AUC" not in f.text)


def test_a_statement_is_tested_as_a_cue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = _card(_knowing, tmp_path, monkeypatch, statement="it is about the sea", statement_texts=400)
    row = card.tables["statement_cues"].row(0, named=True)
    assert row["significant"]
    assert row["label"] == "yes"
    assert row["share"] == pytest.approx(0.9, abs=0.08)
    assert row["train_count"] == pytest.approx(120, abs=40)
    finding = next(f for f in card.findings if f.title.startswith("Statement for yes"))
    assert "A model was asked about 400 texts" in finding.text


def test_a_statement_that_says_nothing_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def even(prompt: str) -> str:
        if prompt.startswith("Some texts"):
            return "Something."
        return "yes" if sum(map(ord, prompt)) % 2 else "no"

    card = _card(even, tmp_path, monkeypatch, statement="the sum is odd", statement_texts=300)
    finding = next(f for f in card.findings if "the sum is odd" in f.title)
    assert finding.severity == "info"
    assert "does not predict the label" in finding.title


def test_an_endpoint_and_its_model_belong_together() -> None:
    with pytest.raises(UsageError, match="add --endpoint-model NAME"):
        Concepts(endpoint="http://localhost:1/v1")
    with pytest.raises(UsageError, match="add --endpoint URL"):
        Concepts(endpoint_model="m")
    with pytest.raises(UsageError, match="--statement asks a model"):
        Concepts(statement="it hedges")
