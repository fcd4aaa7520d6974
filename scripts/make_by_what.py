"""Write by what the labels of public datasets can be predicted into docs/partial-input.md.

`python scripts/make_by_what.py DATA` audits the datasets of a data folder; one that has its card already is not audited
again. Words are printed, and no text.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import cuecard as cc
from cuecard.card.by_what import by_what
from cuecard.card.card import Card
from cuecard.report.markdown import escape
from cuecard.wording import percent

PAGE = Path(__file__).parents[1] / "docs" / "partial-input.md"
BEGIN, END = "<!-- by what -->", "<!-- end of by what -->"
DATASETS: dict[str, tuple[str, str | None]] = {
    "SNLI (part)": ("snli/train_partial", "snli/test"),
    "MNLI (part)": ("mnli/train_partial", "mnli/dev_matched"),
    "ReClor": ("reclor/train", "reclor/val"),
    "OpenBookQA": ("openbookqa/train", "openbookqa/test"),
    "RACE-M (dev, test)": ("race/validation_middle", "race/test_middle"),
    "HH-RLHF harmless": ("hh_rlhf_harmless_base/test", None),
    "SST-2": ("sst2/train", "sst2/dev"),
    "OCNLI (10k)": ("ocnli/train_10k", "ocnli/dev"),
}


def main() -> None:
    """Audit what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the datasets, one folder each")
    parser.add_argument("--cards", type=Path, default=Path("out/by-what"), help="folder of the cards")
    options = parser.parse_args()
    parts = []
    for name, (train, test) in DATASETS.items():
        folder = options.cards / train.replace("/", "-")
        if not (folder / "card.json").exists():
            tested = ["--test", str(options.data / f"{test}.parquet")] if test else []
            command = [
                "audit",
                str(options.data / f"{train}.parquet"),
                *tested,
                "--only",
                "cues,partial_input",
            ]
            subprocess.run(
                [sys.executable, "-m", "cuecard", *command, "--name", name, "--out", str(folder), "--quiet"],
                check=True,
            )
        parts.append(described(name, cc.load_card(folder)))
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{''.join(parts)}{END}{after}", encoding="utf-8")


def described(name: str, card: Card) -> str:
    """Return the lists of a dataset as Markdown, with the accuracy that they are about."""
    model = next(
        line for line in card["partial_input"].summary["baselines"] if line["name"] == _explained(card)
    )
    called = {"full": "full-text"}.get(model["name"], model["name"].replace("_", "-"))
    title = f"**{name}**: {called} accuracy {percent(model['accuracy'])} (chance {percent(model['chance'])})"
    lines = [f"- {lists.question} {escape(lists.sentence(), limit=1000)}" for lists in by_what(card)]
    if not any("most?" in line for line in lines):
        lines.insert(
            0, "- The log score of the model is not surely above that of chance, so it is not divided."
        )
    return "\n".join([title, "", *lines, "", ""])


def _explained(card: Card) -> str:
    return {"pair": "hypothesis_only", "text": "full"}.get(card.dataset.task, "choices_only")


if __name__ == "__main__":
    main()
