"""The files that frozen cards are made of: small generated sets of every task, and slices of shared data."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

#: Slices of shared data: file, source, rows.
SHARED = {
    "snli.parquet": ("snli/train_partial.parquet", 3000),
    "snli_test.parquet": ("snli/test.parquet", 1000),
    "mmlu.parquet": ("mmlu/test.parquet", 500),
    "hh.parquet": ("hh_rlhf_harmless_base/test.parquet", 400),
    "sst2.parquet": ("sst2/train.parquet", 2000),
    "copa.parquet": ("copa/dev.parquet", 500),
    "ocnli.parquet": ("ocnli/train_10k.parquet", 1200),
    "french.parquet": ("xnli/dev_fr.parquet", 1000),
    "quora.parquet": ("quora/dev.parquet", 1500),
}
LABELS = ("entailment", "neutral", "contradiction")
SUBJECTS = (
    "A man",
    "Two women",
    "A young boy",
    "The old sailor",
    "Some children",
    "Three dogs",
    "A tall nurse",
)
VERBS = (
    "is reading",
    "are running",
    "is asleep",
    "walks slowly",
    "plays chess",
    "is eating lunch",
    "sings loudly",
)
PLACES = (
    "in the park",
    "at the station",
    "near a lake",
    "on a bridge",
    "in Paris",
    "by the window",
    "at night",
)
OBJECTS = (
    "with a red hat",
    "beside 3 friends",
    "under an umbrella",
    "and a small bag",
    "with Anna",
    "for an hour",
)
CUES = {
    "entailment": ("outdoors", "someone is there", "at least one"),
    "neutral": ("because he is sad", "for the first time", "to win a prize"),
    "contradiction": ("nobody is there", "it is not so", "sleeping never happens"),
}
CHINESE = {"entailment": "有人在外面。", "neutral": "因为他很高兴。", "contradiction": "没有人在那里。"}
SYLLABLES = "天地人你我他山水火木上下中大小多少日月年"


class Split(NamedTuple):
    """Rows of a generated split, and the name of it."""

    name: str
    rows: int
    seed: int


SPLITS = (Split("train", 900, 1), Split("test", 300, 2))


def write_inputs(folder: Path, shared: Path | None) -> None:
    """Write all generated files, and slices of what lies in `shared`."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, table in TABLES.items():
        for split in SPLITS:
            frame = table(split)
            for kind, write in FORMATS.items():
                write(frame, folder / f"{task}_{split.name}{kind}")
    _write_texts_by_class(folder / "text_by_class")
    _write_predictions(folder)
    (folder / "labels.txt").write_text("\n".join(pairs(SPLITS[0])["label"]) + "\n", encoding="utf-8")
    pairs(SPLITS[0]).drop("label").write_csv(folder / "pair_train_without_labels.csv")
    bad = (
        pairs(SPLITS[0])
        .with_row_index("row")
        .with_columns(
            hypothesis=pl.when(pl.col("row") % 60 == 7).then(None).otherwise("hypothesis"),
            label=pl.when(pl.col("row") % 90 == 8).then(None).otherwise("label"),
        )
    )
    bad.drop("row").write_csv(folder / "pair_train_with_bad_rows.csv")
    for name, (source, rows) in SHARED.items():
        if shared is not None and (shared / source).exists():
            pl.read_parquet(shared / source).head(rows).write_parquet(folder / name)


def pairs(split: Split) -> pl.DataFrame:
    """Return pairs in which words of the hypothesis go with a label; premises repeat, some pairs are copies."""
    draw = random.Random(split.seed)
    rows: list[dict[str, object]] = []
    premise = ""
    for i in range(split.rows):
        if i % 3 == 0:
            premise = _sentence(draw)
        label = draw.choice(LABELS)
        shares_words = label == "entailment" and draw.random() < 0.6
        hypothesis = " ".join(premise.split()[: draw.randint(3, 6)]) if shares_words else _sentence(draw, 1)
        if draw.random() < 0.35:
            hypothesis = f"{hypothesis} {draw.choice(CUES[label])}"
        rows.append({"id": f"{split.name}-{i}", "premise": premise, "hypothesis": hypothesis, "label": label})
    for i in range(25, len(rows), 50):  # copies, some of them with another label or in capitals
        copied = rows[i - 20]
        rows[i] |= {"premise": copied["premise"], "hypothesis": copied["hypothesis"]}
        if i % 100 == 25:
            rows[i] |= {"label": copied["label"], "hypothesis": str(copied["hypothesis"]).upper()}
    return pl.DataFrame(rows).with_columns(*_extra_columns(split))


def chinese_pairs(split: Split) -> pl.DataFrame:
    """Return pairs in Chinese characters, of which some hypotheses end in a sentence that goes with the label."""
    draw = random.Random(split.seed)
    rows = []
    for i in range(split.rows // 2):
        label = draw.choice(LABELS)
        first, second = ("".join(draw.choices(SYLLABLES, k=draw.randint(4, 12))) for _ in range(2))
        cue = CHINESE[label] if draw.random() < 0.4 else ""
        rows.append(
            {
                "id": f"{split.name}-{i}",
                "premise": f"{first}。",
                "hypothesis": f"{second}。{cue}",
                "label": label,
            }
        )
    return pl.DataFrame(rows)


def choices(split: Split) -> pl.DataFrame:
    """Return questions of four choices, in which right ones are longer and often have the same words."""
    draw = random.Random(split.seed)
    rows: list[dict[str, object]] = []
    for i in range(split.rows // 3):
        answer = draw.choice((0, 1, 2, 2, 3))
        offered = [_sentence(draw, draw.randint(0, 1)) for _ in range(4)]
        if draw.random() < 0.5:
            offered[answer] += " " + draw.choice(("all of the time", "most likely", "in many cases"))
        if draw.random() < 0.3:
            offered[(answer + 1) % 4] = "none of the above"
        question = f"What is seen when {_sentence(draw)}?"
        rows.append({"id": f"{split.name}-{i}", "question": question, "choices": offered, "answer": answer})
    rows[30::40] = [row | {"id": f"{row['id']}-again"} for row in rows[10::40]][: len(rows[30::40])]
    return pl.DataFrame(rows).with_columns(*_extra_columns(split))


def preferences(split: Split) -> pl.DataFrame:
    """Return two answers to prompts; the chosen ones are longer and often lists."""
    draw = random.Random(split.seed)
    rows = []
    for i in range(split.rows // 3):
        chosen, rejected = ([_sentence(draw) for _ in range(draw.randint(1, 3))] for _ in range(2))
        if draw.random() < 0.6:
            chosen = [f"- **{text}**" for text in chosen] + ["I hope this helps!"]
        if draw.random() < 0.3:
            rejected = ["I am sorry, but I cannot help.", *rejected]
        prompt = f"Tell me about {draw.choice(SUBJECTS).lower()} {draw.choice(PLACES)}."
        texts = {"prompt": prompt, "chosen": "\n".join(chosen), "rejected": "\n".join(rejected)}
        rows.append({"id": f"{split.name}-{i}", **texts})
    return pl.DataFrame(rows).with_columns(*_extra_columns(split))


def texts(split: Split) -> pl.DataFrame:
    """Return texts of two classes with words that go with a class."""
    draw = random.Random(split.seed)
    rows = []
    for i in range(split.rows):
        label = draw.choice(("bad", "good", "good"))
        words = {"bad": ("awful", "not", "boring indeed"), "good": ("lovely", "great fun", "a must see")}[
            label
        ]
        cue = f" {draw.choice(words)}" if draw.random() < 0.4 else ""
        rows.append({"id": f"{split.name}-{i}", "text": _sentence(draw) + cue, "label": label})
    return pl.DataFrame(rows).with_columns(*_extra_columns(split))


def _sentence(draw: random.Random, objects: int = 2) -> str:
    drawn = [draw.choice(SUBJECTS), draw.choice(VERBS), draw.choice(PLACES)]
    return " ".join([*drawn, *draw.sample(OBJECTS, objects)])


def _extra_columns(split: Split) -> Iterator[pl.Expr]:
    """Return a genre for slices, a source for clusters, and weights."""
    row = pl.int_range(pl.len())
    yield pl.concat_str(pl.lit("genre "), row % 3).alias("genre")
    yield (row // 4 + split.seed * 10_000).alias("source")
    yield (0.5 + (row * 7 % 11) / 5).alias("weight")


def _write_folder(frame: pl.DataFrame, folder: Path) -> None:
    """Write a table as three files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-frame.height // 3)
    for i in range(3):
        frame[i * size : (i + 1) * size].write_parquet(folder / f"{i}.parquet")


def _write_csv(frame: pl.DataFrame, file: Path) -> None:
    """Write a table as CSV: lists become a column for each of their items."""
    if "choices" in frame.columns:
        letters = [pl.col("choices").list.get(i).alias(letter) for i, letter in enumerate("ABCD")]
        frame = frame.with_columns(*letters).drop("choices")
    frame.write_csv(file)


def _write_texts_by_class(folder: Path) -> None:
    for split in SPLITS:
        for i, (text, label) in enumerate(texts(split).head(150).select("text", "label").iter_rows()):
            file = folder / split.name / label / f"{i:03d}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def _write_predictions(folder: Path) -> None:
    """Write predictions of a model that follows cues, and of one that does not, with probabilities."""
    for task, labels in (("pair", LABELS), ("text", ("bad", "good")), ("choice", ("0", "1", "2", "3"))):
        test = TABLES[task](SPLITS[1])
        gold = [str(value) for value in test["answer" if task == "choice" else "label"]]
        for name, accuracy in (("follower", 0.85), ("fair", 0.6)):
            draw = random.Random(f"{task}{name}")
            rows = [_prediction(draw, value, labels, accuracy) for value in gold]
            frame = pl.DataFrame(rows).with_columns(test["id"])
            frame.write_csv(folder / f"{task}_{name}.csv")


def _prediction(
    draw: random.Random, gold: str, labels: tuple[str, ...], accuracy: float
) -> dict[str, object]:
    scores = [draw.random() + (accuracy if label == gold else 0.0) for label in labels]
    probabilities = [round(score / sum(scores), 6) for score in scores]
    best = labels[probabilities.index(max(probabilities))]
    return {"prediction": best} | {f"p_{label}": p for label, p in zip(labels, probabilities, strict=True)}


TABLES: dict[str, Callable[[Split], pl.DataFrame]] = {
    "pair": pairs,
    "choice": choices,
    "preference": preferences,
    "text": texts,
    "chinese": chinese_pairs,
}
FORMATS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": _write_csv,
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    "": _write_folder,
}
