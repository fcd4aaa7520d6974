"""How far the built-in English annotator agrees with a parser, and how fast it is.

Run `python -m benchmarks.annotators`. The parser's answers are a file of sentences with columns `text, tense, negation,
entities, root_tag`; even rows were used for tuning the rules, odd rows are reported.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import cohen_kappa_score

from benchmarks.measure import in_fresh_process, seconds
from cuecard.errors import MissingExtraError
from cuecard.text.annotate import PROPERTIES, TENSES, Annotations, get_annotator
from cuecard.text.annotate.spacy_parser import ENTITY_TYPES
from cuecard.text.tokenisers import tokenise

ORACLE = Path(__file__).resolve().parents[2] / "shared" / "oracles" / "spacy_en_annotations.parquet"
N_TEXTS = 550_000


@dataclass(frozen=True)
class Agreement:
    """One property of one half: how often both say yes, and how far they agree."""

    name: str
    parser: int
    ours: int
    coverage: float | None
    accuracy: float
    kappa: float


def halves(sentences: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tuning half (even rows) and the report half (odd rows)."""
    return {"tuning": sentences.gather_every(2), "report": sentences.gather_every(2, offset=1)}


def parser_tense(sentences: pl.DataFrame) -> npt.NDArray[np.int8]:
    """Return the parser's tense of every sentence as an index into `TENSES`."""
    numbers = {name: number for number, name in enumerate(TENSES)}
    return sentences["tense"].fill_null("none").replace_strict(numbers, return_dtype=pl.Int8).to_numpy()


def parser_entities(sentences: pl.DataFrame, name: str) -> npt.NDArray[np.bool_]:
    """Return in which sentences the parser sees an entity of one of our types, or of any."""
    if name == "any":
        return (sentences["entities"].list.len() > 0).to_numpy()
    labels = [label for label, ours in ENTITY_TYPES.items() if ours == name]
    frame = sentences.select(pl.col("entities").list.eval(pl.element().is_in(labels)).list.any())
    return frame.to_series().to_numpy()


def agreements(sentences: pl.DataFrame, ours: Annotations) -> Iterator[Agreement]:
    """Yield the agreement of every property that the parser tells."""
    tense = parser_tense(sentences)
    told, answered = tense > 0, ours.tense > 0
    both = told & answered
    yield Agreement(
        "tense, where both tell one",
        int(told.sum()),
        int(answered.sum()),
        float(answered[told].mean()),
        *_accuracy_and_kappa(tense[both], ours.tense[both]),
    )
    yield Agreement(
        "tense, none included",
        len(tense),
        len(tense),
        None,
        *_accuracy_and_kappa(tense, ours.tense),
    )
    pairs = {"negation": (sentences["negation"].to_numpy(), ours.negation)}
    for name, found in ours.entities.items():
        pairs[f"entity {name}"] = (parser_entities(sentences, name), found)
    for name, (theirs, found) in pairs.items():
        yield Agreement(name, int(theirs.sum()), int(found.sum()), None, *_accuracy_and_kappa(theirs, found))


def tense_disagreements(sentences: pl.DataFrame, ours: Annotations) -> Counter[tuple[str, str, str]]:
    """Return how often the parser and we differ, by (its tense, the tag of its root, our tense)."""
    theirs = parser_tense(sentences)
    tags = sentences["root_tag"].to_list()
    differ = np.flatnonzero(theirs != ours.tense)
    return Counter((TENSES[theirs[i]], tags[i], TENSES[ours.tense[i]]) for i in differ)


def speed(path: Path) -> dict[str, float]:
    """Return seconds per property for 550,000 texts, with CountVectorizer's on the same texts."""
    sentences = pl.read_parquet(path)["text"]
    texts = pl.concat([sentences] * (N_TEXTS // len(sentences) + 1)).head(N_TEXTS)
    annotator = get_annotator("en", "builtin")
    warm = annotator.annotate(sentences)
    names = [name for name in PROPERTIES if _is_told(warm, name)]
    tokens = tokenise(texts)
    fresh = annotator.annotate(texts, tokens)
    times = {name: seconds(partial(getattr, fresh, name)) for name in names}
    times["all properties"] = sum(times.values())
    listed = texts.to_list()
    times["CountVectorizer"] = seconds(lambda: CountVectorizer(binary=True).fit_transform(listed))
    return times


def main(argv: Sequence[str] | None = None) -> int:
    """Print agreement on both halves, the commonest disagreements on the report half, and speed."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--oracle", type=Path, default=ORACLE, help="the parser's answers (parquet)")
    options.add_argument("--no-speed", action="store_true", help="measure agreement only")
    chosen = options.parse_args(argv)
    if not chosen.oracle.exists():
        print(f"The parser's answers are not at {chosen.oracle}: give their place with --oracle FILE.")
        return 2
    sentences = pl.read_parquet(chosen.oracle)
    for half, frame in halves(sentences).items():
        ours = get_annotator("en", "builtin").annotate(frame["text"])
        print(f"\n{half} half, {len(frame):,} sentences")
        print(f"{'property':28}{'parser':>8}{'ours':>8}{'coverage':>10}{'agreement':>11}{'kappa':>8}")
        for row in agreements(frame, ours):
            coverage = "" if row.coverage is None else f"{row.coverage:.3f}"
            print(
                f"{row.name:28}{row.parser:8}{row.ours:8}{coverage:>10}{row.accuracy:11.3f}{row.kappa:8.3f}"
            )
    print("\nwhere tense differs on the report half: parser's tense, tag of its root, ours")
    for (theirs, tag, found), n in tense_disagreements(frame, ours).most_common(12):
        print(f"{n:6}  {theirs:8} {tag:5} {found}")
    if not chosen.no_speed:
        times, peak = in_fresh_process(speed, chosen.oracle)
        print(f"\nseconds for {N_TEXTS:,} texts, words annotated and texts tokenised (peak {peak:.1f} GiB)")
        for name, time in times.items():
            print(f"{name:28}{time:8.2f}")
    return 0


def _is_told(annotations: Annotations, name: str) -> bool:
    """Return whether the packages for a property are installed, and have it computed."""
    try:
        getattr(annotations, name)
    except MissingExtraError as error:
        print(error)
        return False
    return True


def _accuracy_and_kappa(
    theirs: npt.NDArray[np.generic], ours: npt.NDArray[np.generic]
) -> tuple[float, float]:
    return float((theirs == ours).mean()), float(cohen_kappa_score(theirs, ours))


if __name__ == "__main__":
    raise SystemExit(main())
