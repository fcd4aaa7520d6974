"""The frozen cards: the commands that make them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

#: So little memory that every dataset is larger.
SMALL = "--memory 1KB"
#: Where the weights of debias go: the rows have a column of that name.
WEIGHED = "--weight-column balanced"
QUICK = "--set clusters.permutations=50 --set clusters.restarts=2"


@dataclass(frozen=True)
class Frozen:
    """A card, or what another verb prints: its name, the command line, and the file it needs beside generated ones.

    In a command `OUT` is the card's folder, `TASK` stands for `inputs/TASK`, and the folder is the current one.
    """

    name: str
    command: str
    needs: str = ""

    @property
    def arguments(self) -> list[str]:
        """The command line in the folder of all cards."""
        return [part.replace("OUT", f"cards/{self.name}") for part in shlex.split(self.command)]


def _audit(name: str, train: str, options: str = "", test: str = "", needs: str = "") -> Frozen:
    tested = f"--test inputs/{test}" if test else ""
    return Frozen(name, f"audit inputs/{train} {tested} {options} --out OUT --quiet", needs)


def _of_task(task: str) -> list[Frozen]:
    """Return the cards of a task: every format, with weights, with clusters, in parts."""
    tables = "--only overview,cues,partial_input"
    train, test = f"{task}_train", f"{task}_test.parquet"
    return [
        _audit(f"{task}-parquet", f"{train}.parquet", QUICK, test),
        _audit(f"{task}-csv", f"{train}.csv", tables, f"{task}_test.csv"),
        _audit(f"{task}-jsonl", f"{train}.jsonl", tables),
        _audit(f"{task}-folder", train, "--only overview,cues,slices,pair_graph,style", test),
        _audit(f"{task}-weights", f"{train}.parquet", f"{tables} --weights weight", test),
        _audit(f"{task}-cluster", f"{train}.parquet", f"{tables} --cluster source", test),
        _audit(f"{task}-parts", train, f"{QUICK} {SMALL}", test),
    ]


def _shared(name: str, file: str, options: str = "", test: str = "") -> Frozen:
    return _audit(f"shared-{name}", file, options or QUICK, test, needs=file)


_PROBED = "--predictions follower=inputs/{0}_follower.csv --predictions fair=inputs/{0}_fair.csv"

FROZEN = [
    *(card for task in ("pair", "choice", "preference", "text") for card in _of_task(task)),
    _audit(
        "pair-both-scopes",
        "pair_train.parquet",
        "--only cues --scope both --sort cueness",
        "pair_test.parquet",
    ),
    _audit(
        "pair-premise", "pair_train.csv", "--only cues,partial_input --scope premise --features word,bigram"
    ),
    _audit("pair-holdout", "pair_train.jsonl", "--only overview,cues,partial_input --holdout 0.25"),
    _audit("pair-stubborn", "pair_train.csv", "--only cues --tokens stubborn --no-stop-words --min-count 3"),
    _audit("pair-regex", "pair_train.csv", "--only cues --regex hedge=sad|prize"),
    _audit("pair-label-file", "pair_train_without_labels.csv", "--only cues --label-file inputs/labels.txt"),
    _audit(
        "pair-skipped",
        "pair_train_with_bad_rows.csv",
        "--only overview,cues --on-error skip --max-skipped 0.1",
    ),
    _audit(
        "pair-both-parts", "pair_train", f"--only overview,cues --scope both {SMALL}", "pair_test.parquet"
    ),
    _audit(
        "text-by-class", "text_by_class/train", "--only overview,cues,partial_input", "text_by_class/test"
    ),
    _audit(
        "text-learner",
        "text_train.csv",
        "--only partial_input --learner fasttext --no-cache",
        "text_test.csv",
    ),
    _audit("chinese", "chinese_train.parquet", QUICK, "chinese_test.parquet"),
    _audit("chinese-parts", "chinese_train", f"--only overview,cues {SMALL}", "chinese_test.parquet"),
    Frozen("demo-choice", "demo --task choice --rows 600 --out OUT --quiet"),
    *(
        Frozen(
            f"probe-{task}",
            f"probe inputs/{task}_train.parquet --test inputs/{task}_test.parquet {_PROBED.format(task)} "
            "--set debiased_evaluation.folds=5 --set debiased_evaluation.trees=10 --out OUT --quiet",
        )
        for task in ("pair", "choice", "text")
    ),
    Frozen(
        "probe-linear",
        "probe inputs/text_train.csv --test inputs/text_test.csv --model linear --out OUT --quiet",
    ),
    Frozen(
        "debias-lexical",
        f"debias inputs/pair_train.parquet --min-count 20 {WEIGHED} --reaudit cues,partial_input "
        "--report OUT --out OUT/weighted.parquet --quiet",
    ),
    Frozen(
        "debias-significant",
        f"debias inputs/choice_train.parquet --features significant {WEIGHED} "
        "--report OUT --out OUT/weighted.parquet --quiet",
    ),
    Frozen(
        "debias-neutral",
        "debias inputs/pair_train.parquet --method neutral --set neutral.trees=10 --set neutral.folds=5 "
        f"{WEIGHED} --report OUT --out OUT/weighted.parquet --quiet",
    ),
    Frozen(
        "debias-parts",
        f"debias inputs/text_train --min-count 20 {SMALL} {WEIGHED} "
        "--report OUT --out OUT/weighted.parquet --quiet",
    ),
    *(
        Frozen(
            f"correct-{task}",
            f"correct inputs/{task}_train.parquet --test inputs/{task}_test.parquet "
            f"--predictions inputs/{task}_follower.csv --method {method} --out OUT/corrected.parquet --json",
        )
        for task, method in (("pair", "constraint"), ("choice", "expert"))
    ),
    Frozen("explain", "explain outdoors inputs/pair_train.parquet --test inputs/pair_test.parquet --json"),
    Frozen(
        "plan",
        "plan inputs/text_train.csv --goal 'cues.cues == 0' --budget 60 --out OUT/worksheet.csv --json",
    ),
    Frozen(
        "stress", "stress inputs/pair_train.parquet --test inputs/pair_test.parquet --out OUT/hard --json"
    ),
    _shared("snli", "snli.parquet", test="snli_test.parquet"),
    _shared("mmlu", "mmlu.parquet"),
    _shared("hh", "hh.parquet"),
    _shared("sst2", "sst2.parquet"),
    _shared("copa", "copa.parquet"),
    _shared("ocnli", "ocnli.parquet", "--only overview,cues,partial_input"),
    _shared("french", "french.parquet", "--only overview,cues,partial_input"),
    _shared("quora", "quora.parquet", "--only overview,cues,pair_graph"),
]
