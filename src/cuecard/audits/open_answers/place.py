"""Does the context give the place of the answer? Its first and last sentence, tenths of it, and blind choices in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import (
    Evidence,
    Finding,
    Measure,
    MeasureKind,
    Result,
    Severity,
    Skip,
    Summary,
    severity_of,
)
from cuecard.audits.open_answers.facts import poisson_binomial_log_p
from cuecard.audits.open_answers.predictors import effect_on_mean
from cuecard.audits.open_answers.questions import Questions, words_of
from cuecard.audits.open_answers.view import place_view
from cuecard.data import Instances, Task
from cuecard.data.answer_texts import normal_answers
from cuecard.data.units import copies
from cuecard.stats import state_probability
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import wilson
from cuecard.stats.models.paired import deflated_log10_p, widened
from cuecard.stats.multiple_testing import holm
from cuecard.text.stopwords import FREQUENT_WORDS
from cuecard.wording import percent, plural

NAME = "answer_place"
PLACE = MeasureKind("{place}.share", "answers in the {place} of the context", "share")
PICKED = MeasureKind("{rule}.accuracy", "{rule} exact match", "share", "higher", key=True)
EXCESS = MeasureKind("{rule}.excess", "{rule} above chance", "points", "higher")
EXTRACTIVE = MeasureKind("extractive", "answers that stand in their context", "share")
KINDS = (PLACE, PICKED, EXCESS, EXTRACTIVE)

FEWEST_QUESTIONS = 50
#: Questions that are looked at, drawn by the seed.
MOST_QUESTIONS = 20_000
#: Contexts with fewer places have no tenths.
FEWEST_PLACES = 10
TENTHS_NAMED = tuple(
    f"{one}_tenth"
    for one in ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "last"]
)
TENTHS = len(TENTHS_NAMED)
SHOWN = 3
#: A choice that most contexts offer is about the dataset, not about a part of it.
NEARLY_ALL = 0.9
_LN10 = float(np.log(10.0))
_FREQUENT = FREQUENT_WORDS["en"]
_WORDS = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"”')\]]*\s+(?=[\"“'(\[]?[A-Z0-9])|\n+")
_NAMES = re.compile(
    r"\b(?:[A-Z][\w’'-]*)(?:\s+(?:of|de|von|van|the|and)(?=\s+[A-Z])|\s+[A-Z][\w’'-]*|\s+\d{1,4}(?=\s+[A-Z]))*"
)
_NUMBER = re.compile(r"(?<![\w.,])[$£€]?\d+(?:[.,]\d+)*\s?%?(?![\w])")
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATES = re.compile(
    rf"\b(?:\d{{1,2}} (?:{_MONTH})(?:,? \d{{4}})?|(?:{_MONTH})(?: \d{{1,2}})?(?:,? \d{{4}})?|1[0-9]\d\d|20\d\d)\b"
)
_LEADING = re.compile(
    r"^(?:The|A|An|In|On|At|It|He|She|They|This|That|These|Those|But|And|For|By|As|His|Her|Its|When|While|After|Before|However)\s+"
)


@dataclass(frozen=True)
class Context:
    """A context: its words in a row, the word that every sentence begins with, and spans that may be answers."""

    joined: str
    n_words: int
    sentences: tuple[int, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    dates: tuple[str, ...]

    def places(self, words: list[str]) -> list[int]:
        """Return the places at which these words stand in a row."""
        needle, found, at = f" {' '.join(words)} ", [], -1
        while words and (at := self.joined.find(needle, at + 1)) >= 0:
            found.append(self.joined.count(" ", 0, at))
        return found

    @property
    def candidates(self) -> frozenset[str]:
        """The different names, numbers and dates."""
        return frozenset((*self.names, *self.numbers, *self.dates))


def read_contexts(texts: Iterable[str]) -> dict[str, Context]:
    """Return what is looked at of every different text; spans are in the form in which answers are compared."""
    spans = {text: _spans(text) for text in dict.fromkeys(texts)}
    every = list(dict.fromkeys(one for kinds in spans.values() for kind in kinds for one in kind))
    form = dict(zip(every, normal_answers(pl.Series(every, dtype=pl.String)).to_list(), strict=True))
    contexts = {}
    for text, kinds in spans.items():
        words: list[str] = []
        begins = []
        for sentence in _SENTENCE.split(text):
            if own := words_of(sentence):
                begins.append(len(words))
                words += own
        names, numbers, dates = (tuple(form[one] for one in kind if form[one]) for kind in kinds)
        contexts[text] = Context(f" {' '.join(words)} ", len(words), tuple(begins), names, numbers, dates)
    return contexts


def _spans(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return the names, numbers and dates of a text; a number inside of a date is no number of its own.

    A single word that is frequent, or that the text also has without a capital, begins a sentence and is no name.
    """
    dates = _DATES.findall(text)
    rest = _DATES.sub(" ", text)
    small = {word for word in _WORDS.findall(text) if word[:1].islower()}
    names = [_LEADING.sub("", one) for one in _NAMES.findall(rest)]
    names = [one for one in names if not (one.lower() in small or one.lower() in _FREQUENT)]
    names = [one for one in names if not _LEADING.fullmatch(f"{one} ")]
    return names, _NUMBER.findall(rest), dates


def _only(texts: tuple[str, ...]) -> str | None:
    return texts[0] if len(set(texts)) == 1 else None


#: What is chosen in a context without reading the question.
RULES: Mapping[str, tuple[str, Callable[[Context], str | None]]] = {
    "longest_name": ("the longest name", lambda c: max(c.names, key=len, default=None)),
    "first_name": ("the first name", lambda c: next(iter(c.names), None)),
    "last_name": ("the last name", lambda c: c.names[-1] if c.names else None),
    "commonest_name": (
        "the commonest name",
        lambda c: Counter(c.names).most_common(1)[0][0] if c.names else None,
    ),
    "only_number": ("the only number", lambda c: _only(c.numbers)),
    "only_date": ("the only date", lambda c: _only(c.dates)),
}
SENTENCES = ("first_sentence", "last_sentence")


@dataclass(frozen=True, eq=False)
class Found:
    """What was looked up for the questions: 0/1 outcomes and their chances, by name."""

    outcomes: dict[str, tuple[Ints, Bools, Floats]]
    extractive: int
    once: int
    rows: Ints


@dataclass(frozen=True)
class AnswerPlace:
    """Test whether answers stand in some places of their context more often than their length allows.

    Args:
        alpha: level of the tests, corrected by Holm's method.
        seed: of the sample of questions, where there are very many.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Place of the answer"
    tasks: ClassVar[frozenset[Task]] = frozenset({"open"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    view = staticmethod(place_view)
    parallel: ClassVar[bool] = True
    caveat: ClassVar[str] = (
        "A place may come from how such texts are written: test whether a model goes by it."
    )

    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances) -> Result:
        """Return how often answers are in each place of their context, and how often blind choices are right."""
        questions = Questions.of(data)
        if questions.contexts is None or (questions.contexts.str.strip_chars() == "").all():
            raise Skip("needs a context beside the question, and there is none")
        rows = np.arange(len(data), dtype=np.int64)
        if len(rows) > MOST_QUESTIONS:
            rows = np.sort(np.random.default_rng(self.seed).permutation(rows)[:MOST_QUESTIONS])
        found = look_up(questions, rows)
        if found.extractive < FEWEST_QUESTIONS:
            raise Skip(
                f"needs at least {FEWEST_QUESTIONS} answers that stand in their context, found {found.extractive}"
            )
        groups = copies(questions.contexts, near=False)
        lines = [_line(name, *one, groups) for name, one in found.outcomes.items() if len(one[0])]
        if not lines:
            raise Skip("needs contexts of several sentences, of ten or more words, or with names or numbers")
        p = holm([10.0 ** line["log10_p"] for line in lines])
        for line, value in zip(lines, p, strict=True):
            line["p_value"] = float(value)
            line["clear"] = bool(value <= self.alpha and line["low"] > line["chance"])
        summary: Summary = {
            "n": len(rows),
            "all": len(data),
            "extractive": found.extractive,
            "once": found.once,
            "alpha": self.alpha,
            "lines": lines,
        }
        tables = {"places": pl.DataFrame(lines, infer_schema_length=None)}
        findings = _findings(summary, questions, found)
        measures = _measures(summary)
        return Result(
            summary, tables, findings, _examples(data, found), measures=measures, smallest_q=float(p.min())
        )


def look_up(data: Questions, rows: Ints) -> Found:
    """Return where answers stand, of those that stand in their context once, and what blind choices are right."""
    assert data.contexts is not None
    texts = data.contexts.gather(rows).to_list()
    contexts = read_contexts(texts)
    raw = data.instances.table["hypothesis"].gather(rows).to_list()
    places: dict[str, list[tuple[int, bool, float]]] = {}
    extractive = once = 0
    forms = data.forms.to_list()
    accepted = data.accepted
    for row, text, answer in zip(rows.tolist(), texts, raw, strict=True):
        context, words = contexts[text], words_of(answer)
        found = context.places(words)
        extractive += bool(found)
        if len(found) == 1:
            once += 1
            for name, hit, chance in _in_places(context, len(words), found[0]):
                places.setdefault(name, []).append((row, hit, chance))
        right = {forms[code] for code in accepted.indices[accepted.indptr[row] : accepted.indptr[row + 1]]}
        candidates = context.candidates
        if len(candidates) > 1:
            chance = len(right & candidates) / len(candidates)
            for name, (_, choose) in RULES.items():
                chosen = choose(context)
                if chosen is not None:
                    places.setdefault(name, []).append((row, chosen in right, chance))
    outcomes = {
        name: (
            np.array([one[0] for one in listed], dtype=np.int64),
            np.array([one[1] for one in listed], dtype=np.bool_),
            np.array([one[2] for one in listed]),
        )
        for name in (*SENTENCES, *TENTHS_NAMED, *RULES)
        if (listed := places.get(name))
    }
    return Found(outcomes, extractive, once, rows)


def _in_places(context: Context, length: int, start: int) -> list[tuple[str, bool, float]]:
    """Return for every place whether the answer begins in it, and the chance of that.

    By chance, an answer of this many words begins at any word of the context that leaves room for it.
    """
    n_places = context.n_words - length + 1
    listed = []
    if len(context.sentences) > 1:
        second, last = context.sentences[1], context.sentences[-1]
        listed.append(("first_sentence", start < second, min(second, n_places) / n_places))
        listed.append(("last_sentence", start >= last, max(n_places - last, 0) / n_places))
    if n_places >= FEWEST_PLACES:
        tenths = np.bincount(TENTHS * np.arange(n_places) // n_places, minlength=TENTHS) / n_places
        own = TENTHS * start // n_places
        listed += [(name, own == k, float(tenths[k])) for k, name in enumerate(TENTHS_NAMED)]
    return listed


def _line(name: str, rows: Ints, hits: Bools, chances: Floats, groups: Ints) -> Summary:
    """Return how many answers a place or a choice has, with interval, chance and the exact test."""
    effect = effect_on_mean(hits - chances, [groups[rows]])
    share = float(hits.mean())
    low, high = (float(end) for end in wilson(int(hits.sum()), len(hits)))
    log10_p = float(deflated_log10_p(poisson_binomial_log_p(hits, chances) / _LN10, effect, sides=1))
    return {
        "place": name,
        "kind": "choice" if name in RULES else "tenth" if name in TENTHS_NAMED else "sentence",
        "n": len(hits),
        "share": share,
        "low": max(0.0, float(widened(share, low, effect))),
        "high": min(1.0, float(widened(share, high, effect))),
        "chance": float(chances.mean()),
        "log10_p": log10_p,
    }


def place_name(name: str) -> str:
    """Return what a place or a choice is called in a sentence."""
    return RULES[name][0] if name in RULES else name.replace("_", " ")


def _findings(summary: Summary, data: Questions, found: Found) -> list[Finding]:
    clear = [line for line in summary["lines"] if line["clear"]]
    findings = [_choice(line, summary, data, found) for line in clear if line["kind"] == "choice"]
    places = sorted(
        (line for line in clear if line["kind"] != "choice"), key=lambda line: line["chance"] - line["low"]
    )
    if places:
        findings.append(_places(places, data, found))
    return findings


def _choice(line: Summary, summary: Summary, data: Questions, found: Found) -> Finding:
    what = RULES[line["place"]][0]
    coverage = line["n"] / summary["n"]
    gain = coverage * (line["low"] - line["chance"]) / max(1 - line["chance"], 1e-9)
    text = (
        f"{what[:1].upper()}{what[1:]} of the context is the right answer to {percent(line['share'])} of "
        f"{plural(line['n'], 'question')} whose context has one (95 % CI {percent(line['low'])} to "
        f"{percent(line['high'])}); a random name, number or date of the context would be to {percent(line['chance'])} "
        f"({state_probability('p', line['p_value'])}, corrected for all places and choices). The question is not "
        "needed for these."
    )
    title = f"The answer is {what} of the context more often than chance"
    return Finding(
        NAME, severity_of(gain), title, text, value=line["share"],
        low=line["low"], high=line["high"], chance=line["chance"], n=line["n"], key=line["place"],
        coverage=1.0 if coverage >= NEARLY_ALL else coverage, q_value=line["p_value"],
        evidence=_evidence(line["place"], data, found),
    )  # fmt: skip


def _places(lines: list[Summary], data: Questions, found: Found) -> Finding:
    best = lines[0]
    gain = (best["low"] - best["chance"]) / max(1 - best["chance"], 1e-9)
    severity: Severity = "low" if severity_of(gain) == "low" else "medium"
    text = (
        f"{percent(best['share'])} of {plural(best['n'], 'answer')} that stand in their context once begin in its "
        f"{place_name(best['place'])} (95 % CI {percent(best['low'])} to {percent(best['high'])}); answers of their "
        f"lengths at random places would in {percent(best['chance'])} ({state_probability('p', best['p_value'])}, "
        "corrected for all places and choices)."
    )
    if len(lines) > 1:
        more = ", ".join(
            f"{place_name(line['place'])} {percent(line['share'])} (chance {percent(line['chance'])})"
            for line in lines[1:3]
        )
        text += f" Also {more}."
    text += " A model may read only there: shuffle sentences to test for that."
    title = f"Answers stand in the {place_name(best['place'])} of their context more often than chance"
    return Finding(
        NAME, severity, title, text, value=best["share"], low=best["low"], high=best["high"], chance=best["chance"],
        n=best["n"], key="place", q_value=best["p_value"], evidence=_evidence(best["place"], data, found),
    )  # fmt: skip


def _evidence(name: str, data: Questions, found: Found) -> tuple[Evidence, ...]:
    """Return some questions behind the sentence of their context in which the answer is."""
    assert data.contexts is not None
    rows, hits, _ = found.outcomes[name]
    shown = rows[hits][:SHOWN]
    table = data.instances.table[shown.tolist()]
    return tuple(
        Evidence(
            str(row["example_id"]), str(row["split"]), str(row["label"]), row["hypothesis"],
            f"{_sentence_with(context, row['hypothesis'])} {question}", (row["hypothesis"],),
        )
        for row, context, question in zip(
            table.iter_rows(named=True), data.contexts.gather(shown), data.questions.gather(shown), strict=True
        )
    )  # fmt: skip


def _sentence_with(context: str, answer: str) -> str:
    """Return the first sentence of a context that has an answer, or the context."""
    wanted = f" {' '.join(words_of(answer))} "
    return next(
        (one for one in _SENTENCE.split(context) if wanted in f" {' '.join(words_of(one))} "), context
    )


def _measures(summary: Summary) -> list[Measure]:
    measures = [EXTRACTIVE.of(NAME, summary["extractive"] / summary["n"], n=summary["n"])]
    for line in summary["lines"]:
        ends = {"low": line["low"], "high": line["high"], "chance": line["chance"], "n": line["n"]}
        if line["kind"] == "choice":
            rule = line["place"]
            measures.append(PICKED.of(NAME, line["share"], **ends, rule=rule))
            above = {
                "low": line["low"] - line["chance"],
                "high": line["high"] - line["chance"],
                "chance": 0.0,
            }
            measures.append(EXCESS.of(NAME, line["share"] - line["chance"], **above, n=line["n"], rule=rule))
        else:  # the place of an answer is not the answer: it leads no card
            place = PLACE.of(NAME, line["share"], **ends, place=line["place"])
            said = f"answers in the {place_name(line['place'])} of the context"
            measures.append(replace(place, label=said))
    return measures


def _examples(data: Instances, found: Found) -> pl.DataFrame:
    """Return for every question looked at whether its answer is in the first or last sentence."""
    table: pl.DataFrame = data.table.select("example_id", pl.col("split").cast(pl.String))
    table = table.with_row_index("row")
    for name in SENTENCES:
        if name not in found.outcomes:
            continue
        rows, hits, _ = found.outcomes[name]
        own = pl.DataFrame({"row": rows.astype(np.uint32), f"answer_in_{name}": hits})
        table = table.join(own, on="row", how="left", maintain_order="left")
    kept: pl.DataFrame = table[found.rows.tolist()]
    return kept.drop("row")
