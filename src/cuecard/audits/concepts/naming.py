"""Names of concepts: the words that separate texts, or a description by a model, scored on unseen texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.cache import cache_folder
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.features.family import Presence
from cuecard.models.answers import AnswerCache, Question
from cuecard.models.discovered_concepts import FoundConcepts
from cuecard.models.endpoint import Endpoint, EndpointError
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import wilson
from cuecard.stats.scores.auc import label_auc
from cuecard.text import Encoded, Tokens, presence_counts

#: Words of a name, and words that the table lists.
NAMED, LISTED = 3, 8
#: Between the words of a name, which is typed in commands: no comma, no blank.
JOINT = "+"
#: Texts that the prior counts as, in the shares of words of all texts.
PRIOR = 50.0
#: Examples with a concept that are shown, and as many that just lack it.
EXAMPLES = 3
#: The strongest texts that are listed one by one, and how many weaker ones at growing distances; the last ones lack the
#: concept, up to as many as have it.
STRONGEST, WEAKER = 20, 40


def telling_words(tokens: Tokens, having: Bools) -> list[list[str]]:
    """Return for every concept the words that texts with it have more often than texts without, most telling first.

    Words are ranked by z of their log-odds with an informative prior, the shares of words of all texts (Monroe,
    Colaresi & Quinn 2008); a word that half of the texts have may be among them, a word of fewer than three texts not.
    """
    listed = []
    for i in range(having.shape[1]):
        counts = presence_counts(tokens, having[:, i].astype(np.int32), 2).astype(np.float64)
        z = log_odds_z(counts[:, 1], counts[:, 0])
        z[counts[:, 1] < 3] = -np.inf
        best = np.argsort(-z, kind="stable")[:LISTED]
        listed.append([tokens.vocabulary[int(word)] for word in best if z[word] > 0])
    return listed


def log_odds_z(inside: Floats, outside: Floats) -> Floats:
    """Return how far the log-odds of every word differ between two groups of texts, in standard errors.

    >>> log_odds_z(np.array([30.0, 10.0]), np.array([10.0, 30.0])).round(1)
    array([ 3. , -3. ])
    """
    every = inside + outside
    prior = PRIOR * every / max(every.sum(), 1.0)
    logs = []
    for counts in (inside, outside):
        total = counts.sum() + PRIOR
        logs.append(np.log(counts + prior) - np.log(np.maximum(total - counts - prior, 1e-9)))
    spread = np.sqrt(1 / np.maximum(inside + prior, 1e-9) + 1 / np.maximum(outside + prior, 1e-9))
    return np.asarray((logs[0] - logs[1]) / spread)


def names_of(words: Sequence[Sequence[str]]) -> list[str]:
    """Return a name of every concept, no two alike: its most telling words, and more of them where these are taken."""
    names: list[str] = []
    for number, telling in enumerate(words, 1):
        lengths = range(NAMED, len(telling) + 1) if len(telling) > NAMED else [max(len(telling), 1)]
        options = [JOINT.join(telling[:n]) or f"concept {number}" for n in lengths]
        name = next((one for one in options if one not in names), f"{options[0]}{JOINT}{number}")
        names.append(name)
    return names


def example_table(
    data: Instances,
    texts: pl.Series,
    concepts: FoundConcepts,
    scores: Floats,
    shown: Sequence[str],
    units: Ints,
) -> pl.DataFrame:
    """Return for some concepts the clearest texts with it and the nearest without: distinct ones, by score."""
    rows = []
    for name in shown:
        i = concepts.names.index(name)
        above = scores[:, i] - concepts.thresholds[i]
        for kind, order in (("clear", np.argsort(-above, kind="stable")), ("near miss", _below(above))):
            seen: set[int] = set()
            for row in order.tolist():
                if units[row] not in seen and len(seen) < EXAMPLES and (above[row] > 0) == (kind == "clear"):
                    seen.add(int(units[row]))
                    rows.append((name, kind, row, float(above[row])))
                if len(seen) >= EXAMPLES:
                    break
    schema = {"concept": pl.String, "kind": pl.String, "row": pl.Int64, "score": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    about = data.table.select(
        pl.col("example_id").cast(pl.String), pl.col("split").cast(pl.String), pl.col("label").cast(pl.String)
    ).with_columns(texts.alias("text"))
    return pl.concat([table.drop("row"), about[table["row"]]], how="horizontal")


def strength_table(
    data: Instances, texts: pl.Series, concepts: FoundConcepts, scores: Floats, labels: Mapping[str, str]
) -> pl.DataFrame:
    """Return for some concepts, with the label of each, distinct texts from the strongest on, by falling strength.

    `strength` is the score above the threshold; `texts` says how many distinct texts are at least as strong, and
    `share` how many of those have the label: what the concept would be with its threshold there.
    """
    first = texts.is_first_distinct().to_numpy()
    rows = np.flatnonzero(first)
    parts = []
    for name, label in labels.items():
        i = concepts.names.index(name)
        above = scores[rows, i] - concepts.thresholds[i]
        order = np.argsort(-above, kind="stable")
        most = min(2 * max(int((above > 0).sum()), STRONGEST), len(order))
        ranks = np.unique(
            np.concatenate(
                [np.arange(min(STRONGEST, most)), np.geomspace(1, most, WEAKER).astype(np.int64) - 1]
            )
        )
        hits = np.cumsum((data.table["label"] == label).to_numpy()[rows[order]])[ranks]
        low, high = wilson(hits, ranks + 1)
        listed = rows[order[ranks]]
        parts.append(
            pl.DataFrame(
                {
                    "concept": [name] * len(ranks),
                    "strength": above[order[ranks]],
                    "texts": ranks + 1,
                    "of_label": [label] * len(ranks),
                    "share": hits / (ranks + 1),
                    "share_low": low,
                    "share_high": high,
                    "example_id": data.table["example_id"].cast(pl.String).gather(listed),
                    "label": data.table["label"].cast(pl.String).gather(listed),
                    "text": texts.gather(listed),
                }
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def _below(above: Floats) -> Ints:
    """Return the rows below the threshold, the nearest first."""
    rows = np.flatnonzero(above <= 0)
    return np.asarray(rows[np.argsort(-above[rows], kind="stable")])


#: Concepts that are described, the strongest first, and examples of each kind that a description is proposed from.
MOST_DESCRIBED, PROPOSED_FROM = 10, 8
#: Unseen texts with and without a concept that a description is scored on, of each kind.
SCORED_ON = 25
#: A description is shown if its AUC is at least this.
LEAST_AUC = 0.7
#: Characters of a text that a model is shown, and tokens it may answer with.
SHOWN, TOKENS_OF_DESCRIPTION, TOKENS_OF_ANSWER = 600, 60, 6
#: Stream of random numbers of the texts that are asked about.
ASKED = 36_004

_PROPOSE = """\
Some texts have a property in common that the other texts lack.

Texts with the property:
{clear}

Texts without it:
{other}

Describe the property in one short line, as a statement about a text. Write only that line."""
_DECIDE = """\
Statement: {statement}

Text: {text}

Is the statement true of this text? Answer with yes or no."""
_YES = re.compile(r"\byes\b|\btrue\b", re.IGNORECASE)
_NO = re.compile(r"\bno\b|\bfalse\b|\bnot\b", re.IGNORECASE)
#: Tables of descriptions, and of the prompts and answers that they rest on.
DESCRIPTIONS = {
    "concept": pl.String, "description": pl.String, "auc": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "n": pl.Int64, "shown": pl.Boolean,
}  # fmt: skip
ANSWERS = {"about": pl.String, "prompt": pl.String, "answer": pl.String}


@dataclass(eq=False)
class Asker:
    """A model behind an endpoint, its cached answers, and all prompts of a run with their answers."""

    endpoint: Endpoint
    cache: AnswerCache
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    sent: int = 0

    @classmethod
    def of(cls, url: str, model: str, *, max_requests: int | None, seed: int) -> Asker:
        """Return the model of that name at an address; answers are cached with those of `cuecard ask`."""
        endpoint = Endpoint(url, model, max_requests=max_requests, seed=seed)
        return cls(endpoint, AnswerCache(cache_folder() / "answers.jsonl"))

    def answers(self, about: str, prompts: Sequence[str], tokens: int) -> list[str]:
        """Return the answers to some prompts, in their order."""
        questions = [Question(prompt, tokens) for prompt in prompts]
        endpoint, most = self.endpoint, self.endpoint.max_requests
        new = endpoint.estimate(questions, self.cache).requests
        if most is not None and new:
            if self.sent >= most:
                raise EndpointError(
                    f"The limit of {most:,} requests is reached; answers are saved: raise it, and repeat the command."
                )
            endpoint = replace(endpoint, max_requests=most - self.sent)
        replies = endpoint.ask(questions, self.cache)
        self.sent += new
        texts = [reply.text for reply in replies]
        self.asked += [(about, prompt, text) for prompt, text in zip(prompts, texts, strict=True)]
        return texts

    def holds(self, statement: str, texts: Sequence[str]) -> Floats:
        """Return 1 where the model says that a statement is true of a text, 0 where not, 0.5 where it says neither."""
        prompts = [_DECIDE.format(statement=statement, text=text[:SHOWN]) for text in texts]
        answers = self.answers(statement, prompts, TOKENS_OF_ANSWER)
        return np.array([_decided(answer) for answer in answers], dtype=np.float64)

    def table(self) -> pl.DataFrame:
        """Return every prompt of this run with its answer."""
        return pl.DataFrame(self.asked, schema=ANSWERS, orient="row")


def _decided(answer: str) -> float:
    """Return what an answer says: its first yes or no.

    >>> [_decided(text) for text in ("Yes.", "No, it is not", "The text is false", "perhaps")]
    [1.0, 0.0, 0.0, 0.5]
    """
    yes, no = _YES.search(answer), _NO.search(answer)
    if yes is None and no is None:
        return 0.5
    return 1.0 if no is None or (yes is not None and yes.start() < no.start()) else 0.0


def described(
    asker: Asker,
    names: Sequence[str],
    first: tuple[pl.Series, Floats],
    second: tuple[pl.Series, Bools],
    columns: Mapping[str, int],
    units: Ints,
    *,
    seed: int,
) -> pl.DataFrame:
    """Return a description of every named concept with the AUC of what the model says by it of unseen texts.

    Args:
        asker: the model.
        names: concepts to describe, the strongest first.
        first: texts of the first half, and how far each is above the threshold of each concept.
        second: texts of the second half, and which has which concept.
        columns: the column of every concept in both.
        units: codes that copies of texts of the second half share.
        seed: of the texts that are drawn.
    """
    rows = []
    for name in names[:MOST_DESCRIBED]:
        i = columns[name]
        rng = np.random.default_rng((ASKED, seed, i))
        order = np.argsort(-first[1][:, i], kind="stable")
        lacking = order[first[1][order, i] <= 0]
        clear = [first[0][int(row)] for row in order[:PROPOSED_FROM]]
        other = [first[0][int(row)] for row in rng.permutation(lacking)[:PROPOSED_FROM]]
        prompt = _PROPOSE.format(clear=_lines(clear), other=_lines(other))
        description = asker.answers(name, [prompt], TOKENS_OF_DESCRIPTION)[0].strip().splitlines()
        statement = description[0].strip(" -*\"'“”") if description else ""
        having = second[1][:, i]
        drawn = np.concatenate(
            [rng.permutation(np.flatnonzero(having == kind))[:SCORED_ON] for kind in (True, False)]
        )
        says = asker.holds(statement, [second[0][int(row)] for row in drawn])
        auc = label_auc(np.column_stack([1 - says, says]), having[drawn].astype(np.int64), units=units[drawn])
        shown = bool(auc.value >= LEAST_AUC)
        rows.append((name, statement, auc.value, auc.low, auc.high, len(drawn), shown))
    return pl.DataFrame(rows, schema=DESCRIPTIONS, orient="row")


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())[:SHOWN]}" for text in texts)


@dataclass(frozen=True, eq=False)
class StatementFamily:
    """A statement of the user's as a cue: a text has it if the model says that it is true of the text."""

    name: ClassVar[str] = "statement"
    description: ClassVar[str] = "a model says that a statement of yours is true of the text"
    phrase: ClassVar[str] = "the statement “{}”"
    languages: ClassVar[frozenset[str] | None] = None

    statement: str
    asker: Asker

    def presence(self, data: Encoded) -> Presence:
        """Return of which instances the statement is true."""
        texts = data.instances.table["hypothesis"].fill_null("")
        distinct = texts.unique(maintain_order=True)
        says = self.asker.holds(self.statement, distinct.to_list())
        holds = dict(zip(distinct, (says > 0.5).tolist(), strict=True))
        having = np.array([holds[text] for text in texts], dtype=np.bool_)
        return Presence.from_columns({self.statement: having}, len(having))


def check_asking(endpoint: str | None, model: str | None, statement: str | None) -> None:
    """Raise if a model is named without its endpoint, or the other way round, or a statement without both."""
    if (endpoint is None) != (model is None):
        missing = "--endpoint-model NAME" if model is None else "--endpoint URL"
        raise UsageError(f"A model behind an endpoint needs an address and a name: add {missing}.")
    if statement is not None and endpoint is None:
        raise UsageError(
            "--statement asks a model about the texts: add --endpoint URL and --endpoint-model NAME."
        )
    if statement is not None and not statement.strip():
        raise UsageError("--statement is empty: write a sentence such as 'the right answer hedges'.")
