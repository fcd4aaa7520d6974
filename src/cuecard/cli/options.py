"""Options that several verbs share, declared once: single ones, and groups that belong together."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cuecard.cli.groups import typed
from cuecard.cli.help import CLUSTERS, DATA, FEATURES, MODELS, OUTPUT, WEIGHTS
from cuecard.errors import UsageError

if TYPE_CHECKING:
    from cuecard.card import Card
    from cuecard.data import Instances
    from cuecard.run import Progress

TestOption = Annotated[
    str | None, typer.Option("--test", metavar="TEST", help="The test split, in any form TRAIN can have.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Write card.json, report.html and tables/ here."),
]
OnlyOption = Annotated[
    str | None, typer.Option("--only", metavar="A,B", help="Run these sections of the card only.")
]
SkipOption = Annotated[str | None, typer.Option("--skip", metavar="A,B", help="Leave these sections out.")]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of everything that is drawn at random.")
]
SubsetOption = Annotated[
    int | None,
    typer.Option(
        "--subset", metavar="N", help="Train on N random training examples.", rich_help_panel=MODELS
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="Column with each example's weight, such as `cuecard debias` writes.",
        rich_help_panel=WEIGHTS,
    ),
]
MaxWeightOption = Annotated[
    float | None,
    typer.Option("--max-weight", metavar="W", help="Largest weight; the mean is 1.", rich_help_panel=WEIGHTS),
]
MatchOption = Annotated[
    str | None,
    typer.Option("--match", metavar="LABEL", help="The label of two sentences that mean the same."),
]
ChartOption = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Draw it: .html, .png or .svg."),
]
NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Retrain models; ignore the cache and keep nothing in it.", rich_help_panel=MODELS
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[SECTION.]NAME=VALUE",
        help="A parameter of one section, such as pair_graph.forest=paper, or of a model that is trained, such as "
        "epochs=3. Repeatable.",
    ),
]


@dataclass(frozen=True)
class Rows:
    """The rows of a dataset, and how they are read."""

    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="A .parquet, .csv, .tsv, .jsonl or .json(.gz/.zst) file, a folder or glob of them, a folder of texts "
            "for every class, a saved Hugging Face dataset folder, - for standard input, hf:NAME[/CONFIG]:SPLIT, or "
            "preset:NAME.",
            show_default=False,
        ),
    ]
    task: Annotated[
        Literal["pair", "choice", "preference", "text"] | None,
        typer.Option(
            "--task",
            metavar="TASK",
            help="pair, choice, preference or text; recognised from the columns by default.",
            rich_help_panel=DATA,
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="ROLE=COLUMN,…",
            help="Which column is what, such as premise=a,hypothesis=b,label=c; recognised by name by default.",
            rich_help_panel=DATA,
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="VALUE=NAME,…",
            help="Names for label values, such as 0=entailment,1=neutral, or two classes of a column of numbers, "
            "such as 'score>3.6'.",
            rich_help_panel=DATA,
        ),
    ] = None
    label_file: Annotated[
        list[str] | None,
        typer.Option(
            "--label-file",
            metavar="FILE",
            help="A file with one label per row of TRAIN. Repeatable: the second is that of TEST.",
            rich_help_panel=DATA,
        ),
    ] = None
    header: Annotated[
        str | None,
        typer.Option(
            "--header",
            metavar="none|A,B",
            help="For a .csv or .tsv without a header line: none, or names for its columns.",
            rich_help_panel=DATA,
        ),
    ] = None
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(
            "--on-error",
            metavar="stop|skip",
            help="Whether a bad row stops the command, or is skipped and counted.",
            rich_help_panel=DATA,
        ),
    ] = "stop"
    max_skipped: Annotated[
        float | None,
        typer.Option(
            "--max-skipped",
            metavar="N",
            min=0,
            help="Bad rows that may be skipped: a share below 1, or a number of rows.",
            show_default="0.05",
            rich_help_panel=DATA,
        ),
    ] = None

    @property
    def reading(self) -> dict[str, Any]:
        """How to read the rows, as `load` takes it."""
        from cuecard.data import parse_columns

        return {
            "task": self.task,
            "columns": parse_columns(self.columns) if self.columns else None,
            "labels": self.labels or None,
            "on_error": self.on_error,
        } | typed(max_skipped=self.max_skipped)

    @property
    def files(self) -> dict[str, Any]:
        """What to know about the files themselves, as `load` takes it."""
        return {"label_file": self.label_file or None, "header": self.header}

    @property
    def label_names(self) -> dict[str, str] | None:
        """Names of raw label values, None where there are none."""
        from cuecard.data import parse_labels

        return (parse_labels(self.labels) if self.labels else None) or None


@dataclass(frozen=True)
class Dataset(Rows):
    """A dataset with its splits."""

    test: TestOption = None
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="Hold out this share of the examples as a test split that shares no sentence with the rest.",
            rich_help_panel=DATA,
        ),
    ] = None
    keep_unlabelled: Annotated[
        bool,
        typer.Option(
            "--keep-unlabelled",
            help="Keep rows without a label as a class of their own.",
            rich_help_panel=DATA,
        ),
    ] = False

    def load(self, seed: int, progress: Progress, *, dev: str | None = None) -> Instances:
        """Return the instances that the options describe."""
        from cuecard.data import load

        with progress("Reading"):
            return load(
                self.train,
                test=self.test,
                dev=dev,
                holdout=self.holdout,
                keep_unlabelled=self.keep_unlabelled,
                seed=seed,
                **self.files,
                **self.reading,
            )


@dataclass(frozen=True)
class Texts:
    """What a feature is looked for in."""

    tokens: Annotated[
        str | None,
        typer.Option(
            "--tokens",
            metavar="NAME",
            help="Tokenisation: default, stubborn, treebank, treebank-lemma, chars, words-zh, …; what suits the "
            "language by default.",
            rich_help_panel=FEATURES,
        ),
    ] = None
    scope: Annotated[
        Literal["hypothesis", "premise", "both"] | None,
        typer.Option(
            "--scope",
            metavar="TEXT",
            help="hypothesis, premise or both: the text in which a feature is looked for.",
            show_default="hypothesis; both in debias",
            rich_help_panel=FEATURES,
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="Language of the texts, such as en; guessed by default.",
            rich_help_panel=FEATURES,
        ),
    ] = None
    regex: Annotated[
        list[str] | None,
        typer.Option(
            "--regex",
            metavar="NAME=PATTERN",
            help="A feature of your own. Repeatable.",
            rich_help_panel=FEATURES,
        ),
    ] = None

    @property
    def of_texts(self) -> dict[str, Any]:
        """Those that the user typed, as analyses take them."""
        return typed(
            tokens=self.tokens, scope=self.scope, language=self.language, regex=named_patterns(self.regex)
        )


@dataclass(frozen=True)
class Features(Texts):
    """Which features are looked at."""

    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="A,B",
            help="Feature families, such as word,bigram,negation; all by default.",
            rich_help_panel=FEATURES,
        ),
    ] = None
    min_count: Annotated[
        int | None,
        typer.Option(
            "--min-count",
            metavar="N",
            min=1,
            help="Test features that at least N training instances have.",
            show_default="5",
            rich_help_panel=FEATURES,
        ),
    ] = None
    stop_words: Annotated[
        bool | None,
        typer.Option(
            "--stop-words/--no-stop-words",
            help="Whether function words count as words.",
            show_default="--stop-words",
            rich_help_panel=FEATURES,
        ),
    ] = None

    @property
    def of_features(self) -> dict[str, Any]:
        """Those that the user typed, as analyses take them."""
        return self.of_texts | typed(
            features=names_of(self.features), min_count=self.min_count, stop_words=self.stop_words
        )


@dataclass(frozen=True)
class ClusterOptions:
    """How texts are embedded, clustered and drawn."""

    embed: Annotated[
        str | None,
        typer.Option(
            "--embed",
            metavar="NAME|DIR",
            help="How texts become vectors: tfidf, minilm, or the folder of a trained model or checkpoint.",
            show_default="tfidf",
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    map: Annotated[
        Literal["tsne", "opentsne", "umap", "pca", "none"] | None,
        typer.Option(
            "--map",
            metavar="NAME",
            help="tsne, opentsne, umap, pca or none: the map of clusters in two dimensions.",
            show_default="tsne",
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    map_size: Annotated[
        int | None,
        typer.Option(
            "--map-size",
            metavar="N",
            min=10,
            help="Sentences on the map; more are sampled.",
            show_default="2000",
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    transform: Annotated[
        str | None,
        typer.Option(
            "--transform",
            metavar="A,B",
            help="Score clusters again after shuffled_words, masked_nouns or masked_function_words.",
            rich_help_panel=CLUSTERS,
        ),
    ] = None
    dynamics: Annotated[
        Path | None,
        typer.Option(
            "--dynamics",
            metavar="FILE",
            help="Training dynamics (example_id, confidence), compared inside and outside biased clusters.",
            rich_help_panel=CLUSTERS,
        ),
    ] = None

    @property
    def of_clusters(self) -> dict[str, Any]:
        """Those that the user typed, as the audit takes them."""
        return typed(
            embed=self.embed,
            map=self.map,
            map_size=self.map_size,
            transformations=names_of(self.transform),
            dynamics=str(self.dynamics) if self.dynamics else None,
        )


@dataclass(frozen=True)
class Output:
    """What is printed."""

    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON instead of text.", rich_help_panel=OUTPUT)
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)
    ] = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the result may be printed."""
        return self.json or self.quiet

    @property
    def progress(self) -> Progress:
        """What shows that something is under way."""
        from cuecard.cli.progress import progress

        return progress(silent=self.silent)

    def show(self, card: Card, out: Path | None) -> None:
        """Write the card to `out` if there is one, and print it."""
        from cuecard.cli.show import show_card

        show_card(card, out=out, json=self.json, quiet=self.quiet)


def typed_command() -> str:
    """Return what the user typed, for the card."""
    return shlex.join(["cuecard", *sys.argv[1:]])


def comma_list(text: str | None) -> list[str]:
    """Return the parts of "a,b,c" without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Return the parts of "a,b,c", or None where there are none."""
    return tuple(comma_list(text)) or None


def named_patterns(options: list[str] | None) -> tuple[tuple[str, str], ...] | None:
    """Return the pairs of ["NAME=PATTERN", …], or None where there are none."""
    pairs = []
    for option in options or []:
        name, equals, pattern = option.partition("=")
        if not (name.strip() and equals and pattern):
            raise UsageError(f"--regex takes NAME=PATTERN, such as hedge='maybe|perhaps', not {option!r}.")
        pairs.append((name.strip(), pattern))
    return tuple(pairs) or None
