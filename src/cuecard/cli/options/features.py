"""Options about features and clusters: what is looked for, and in which text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cuecard.cli.help import CLUSTERS, FEATURES
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.shared import explicit_options, named_patterns, names_of, option

StopWordsOption = Annotated[
    bool | None,
    option(
        "--stop-words/--no-stop-words",
        "Whether stop words count as words.",
        panel=FEATURES,
        default="--stop-words",
    ),
]


@dataclass(frozen=True)
class Texts:
    """What a feature is looked for in."""

    tokens: Annotated[
        str | None,
        option(
            "--tokens",
            "NAME",
            "Tokenisation: default, stubborn, treebank, treebank-lemma, chars, words-zh, …. Default: what suits "
            "the language.",
            panel=FEATURES,
            autocompletion=listed_names(completion.tokenisers),
        ),
    ] = None
    scope: Annotated[
        Literal["hypothesis", "premise", "both"] | None,
        option(
            "--scope",
            "TEXT",
            "Text in which features are counted: hypothesis, premise or both.",
            panel=FEATURES,
            default="hypothesis; both in debias",
        ),
    ] = None
    language: Annotated[
        str | None,
        option("--language", "CODE", "Language of the texts, such as en. Default: detected.", panel=FEATURES),
    ] = None
    regex: Annotated[
        list[str] | None,
        option("--regex", "NAME=PATTERN", "Add a feature by regular expression. Repeatable.", panel=FEATURES),
    ] = None

    @property
    def of_texts(self) -> dict[str, Any]:
        """Explicit options, as keyword arguments of the analyses."""
        return explicit_options(
            tokens=self.tokens, scope=self.scope, language=self.language, regex=named_patterns(self.regex)
        )


@dataclass(frozen=True)
class Features(Texts):
    """Which features are looked at."""

    features: Annotated[
        str | None,
        option(
            "--features",
            "A,B",
            "Feature families, such as word,bigram,negation. Default: all.",
            panel=FEATURES,
            autocompletion=listed_names(completion.families),
        ),
    ] = None
    min_count: Annotated[
        int | None,
        option(
            "--min-count",
            "N",
            "Test features that occur in at least N training instances.",
            panel=FEATURES,
            default="5",
            min=1,
        ),
    ] = None
    stop_words: StopWordsOption = None

    @property
    def of_features(self) -> dict[str, Any]:
        """Explicit options, as keyword arguments of the analyses."""
        return self.of_texts | explicit_options(
            features=names_of(self.features), min_count=self.min_count, stop_words=self.stop_words
        )


@dataclass(frozen=True)
class ClusterOptions:
    """How texts are embedded, clustered and drawn."""

    embed: Annotated[
        str | None,
        option(
            "--embed",
            "NAME|DIR",
            "Embedding of the texts: tfidf, minilm, or the folder of a trained model or checkpoint.",
            panel=CLUSTERS,
            default="tfidf",
        ),
    ] = None
    map: Annotated[
        Literal["tsne", "opentsne", "umap", "pca", "none"] | None,
        option(
            "--map",
            "NAME",
            "Two-dimensional map of the clusters: tsne, opentsne, umap, pca or none.",
            panel=CLUSTERS,
            default="tsne",
        ),
    ] = None
    map_size: Annotated[
        int | None,
        option(
            "--map-size",
            "N",
            "Number of sentences on the map; larger datasets are sampled.",
            panel=CLUSTERS,
            default="1000",
            min=10,
        ),
    ] = None
    transform: Annotated[
        str | None,
        option(
            "--transform",
            "A,B",
            "Score clusters again after shuffled_words, masked_nouns or masked_function_words.",
            panel=CLUSTERS,
        ),
    ] = None
    dynamics: Annotated[
        Path | None,
        option(
            "--dynamics",
            "FILE",
            "File of training dynamics (example_id, confidence) to compare inside and outside biased clusters.",
            panel=CLUSTERS,
        ),
    ] = None

    @property
    def of_clusters(self) -> dict[str, Any]:
        """Those that the user typed, as the audit takes them."""
        return explicit_options(
            embed=self.embed,
            map=self.map,
            map_size=self.map_size,
            transformations=names_of(self.transform),
            dynamics=str(self.dynamics) if self.dynamics else None,
        )
