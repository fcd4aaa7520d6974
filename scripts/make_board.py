"""Audit the datasets of a data folder and write the board into docs/board.md: `python scripts/make_board.py DATA`.

A dataset that is already audited in the folder of cards is not audited again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import cuecard as cc
from cuecard.card import card_folders
from cuecard.report.board.page import board_markdown

PAGE = Path(__file__).parents[1] / "docs" / "board.md"
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
    board = cc.board([cc.load_card(folder) for folder in card_folders(options.cards)])
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    table = board_markdown(board, [""] * len(board.rows))
    PAGE.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")


def audit(name: str, train: Path, test: str | Path | None, folder: Path) -> None:
    """Audit one dataset in a process of its own, so that the memory of one is free for the next."""
    options = ["--test", str(test)] if test else []
    command = [sys.executable, "-m", "cuecard", "audit", str(train), *options, "--name", name]
    subprocess.run([*command, "--out", str(folder), "--quiet"], check=True)


if __name__ == "__main__":
    main()
