"""Audit the datasets of a data folder and write the board into docs/board.md: `python scripts/make_board.py DATA`.

A dataset that is already audited in the folder of cards is not audited again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import cuecard as cc
from cuecard.card import card_folders
from cuecard.card.card import Card
from cuecard.report.board import board_markdown

PAGE = Path(__file__).parents[1] / "docs" / "board.md"
#: What the folder of an evaluated model ends in.
PROBE = "-probe"
BEGIN, END = "<!-- board -->", "<!-- end of the board -->"

#: Dataset to its training and its test file; "(part)" where only a part of the training set is public in one file.
DATASETS: dict[str, tuple[str, str | None]] = {
    "ANLI r1": ("anli/r1_dev", "anli/r1_test"),
    "ANLI r2": ("anli/r2_dev", "anli/r2_test"),
    "ANLI r3": ("anli/r3_dev", "anli/r3_test"),
    "ARC-Challenge": ("arc_challenge/train", "arc_challenge/test"),
    "ARCT": ("arct/train", "arct/test"),
    "ARCT adversarial": ("arct_adversarial/train_adv_negated", "arct_adversarial/test_adv_negated"),
    "Auto-J pairwise": ("auto_j_pairwise/test", None),
    "Balanced COPA": ("balanced_copa/dev_all", None),
    "CAugNLI": ("caugnli/all_combined_train", "caugnli/all_combined_test"),
    "CommonsenseQA": ("commonsenseqa/train", "commonsenseqa/dev"),
    "COPA": ("copa/dev", "copa/test"),
    "FEVER symmetric": ("fever_symmetric/dev", "fever_symmetric/test"),
    "HH-RLHF harmless": ("hh_rlhf_harmless_base/test", None),
    "LLMBar": ("llmbar/test", None),
    "MMLU": ("mmlu/test", None),
    "MNLI (part)": ("mnli/train_partial", "mnli/dev_matched"),
    "MSRP": ("msrp/train", "msrp/test"),
    "OCNLI (10k)": ("ocnli/train_10k", "ocnli/dev"),
    "OpenBookQA": ("openbookqa/train", "openbookqa/test"),
    "Quora (part)": ("quora/train_partial", "quora/test"),
    "RACE-M (dev, test)": ("race/validation_middle", "race/test_middle"),
    "ReClor": ("reclor/train", "reclor/val"),
    "SICK": ("sick/train", "sick/test"),
    "SNLI (part)": ("snli/train_partial", "snli/test"),
    "SST-2": ("sst2/train", "sst2/dev"),
    "VitaminC (sample)": ("vitaminc/bigbench_sample", None),
    **{f"XNLI {code}": (f"xnli/dev_{code}", f"xnli/test_{code}") for code in ("de", "en", "fr", "sw", "zh")},
}


def main() -> None:
    """Audit what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the datasets, one folder each")
    parser.add_argument("--cards", type=Path, default=Path("out/board"), help="folder of the cards")
    options = parser.parse_args()
    for name, (train, test) in DATASETS.items():
        folder = options.cards / train.replace("/", "-")
        if not (folder / "card.json").exists() and (options.data / f"{train}.parquet").exists():
            audit(name, options.data / f"{train}.parquet", test and options.data / f"{test}.parquet", folder)
        probe = folder.with_name(folder.name + PROBE)
        of_pairs = (folder / "card.json").exists() and cc.load_card(folder).dataset.task == "pair"
        if test and of_pairs and not (probe / "card.json").exists():
            evaluate(name, options.data / f"{train}.parquet", options.data / f"{test}.parquet", probe)
    cards = [card for folder in card_folders(options.cards) for card in cards_of(folder)]
    board = cc.board(cards)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    table = board_markdown(board, [""] * len(board.rows))
    PAGE.write_text(f"{before}{BEGIN}\n{made_with(cards)}\n\n{table}{END}{after}", encoding="utf-8")


def made_with(cards: Sequence[Card]) -> str:
    """Return the versions of CueCard and Python, and the extras, that the cards were made with."""
    versions = {f"CueCard {card.provenance.versions['cuecard']}" for card in cards}
    pythons = {f"Python {card.provenance.versions['python']}" for card in cards}
    extras = sorted({extra for card in cards for extra in card.extras})
    return f"Made with {', '.join(sorted(versions | pythons))} and the extras {', '.join(extras)}."


def cards_of(folder: Path) -> list[Card]:
    """Return the card of an audit and that of the model evaluated on the same files, so that they share a row."""
    if folder.name.endswith(PROBE):
        return []
    audited = cc.load_card(folder)
    probe = folder.with_name(folder.name + PROBE)
    if not (probe / "card.json").exists():
        return [audited]
    # An audit by an earlier version may have another fingerprint of the same files.
    return [audited, cc.load_card(probe).model_copy(update={"dataset": audited.dataset})]


def audit(name: str, train: Path, test: str | Path | None, folder: Path) -> None:
    """Audit one dataset in a process of its own, so that the memory of one is free for the next."""
    run("audit", name, train, *(["--test", str(test)] if test else []), "--out", str(folder))


def evaluate(name: str, train: Path, test: Path, folder: Path) -> None:
    """Evaluate the linear model on pairs under weights that remove what the pair graph predicts."""
    options = ["--test", str(test), "--model", "linear", "--only", "debiased_evaluation"]
    run("probe", name, train, *options, "--out", str(folder))


def run(verb: str, name: str, train: Path, *options: str) -> None:
    """Run a command of CueCard on a dataset."""
    subprocess.run(
        [sys.executable, "-m", "cuecard", verb, str(train), "--name", name, *options, "--quiet"], check=True
    )


if __name__ == "__main__":
    main()
