"""Options of the verbs that read a dataset: where it is, how it is read, what is counted in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cuecard.cli.help import CLUSTERS, DATA, FEATURES
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.shared import explicit_options, named_patterns, names_of, option
from cuecard.cli.streams import set_examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuecard.data import Instances, ReadOptions
    from cuecard.data.loading import DatasetSpec, LoadedRows
    from cuecard.run import Progress


#: Bytes of files that are read within a fraction of a second.
SMALL = 4 << 20

_SOURCES = (
    "A .parquet, .csv, .tsv, .jsonl or .json(.gz/.zst) file, a folder or glob of them, a folder of texts for every "
    "class, a saved Hugging Face dataset folder, - for standard input, hf:NAME[/CONFIG]:SPLIT, or preset:NAME."
)
TestOption = Annotated[str | None, option("--test", "TEST", "The test split, in any form TRAIN can have.")]


@dataclass(frozen=True)
class Rows:
    """The rows of a dataset, and how they are read."""

    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help=_SOURCES,
            show_default=False,
        ),
    ]
    task: Annotated[
        Literal["pair", "choice", "preference", "text", "open"] | None,
        option(
            "--task",
            "TASK",
            "pair, choice, preference or text. Default: recognised from the columns.",
            panel=DATA,
        ),
    ] = None
    columns: Annotated[
        str | None,
        option(
            "--columns",
            "ROLE=COLUMN,…",
            "Columns by role, such as premise=a,hypothesis=b,label=c. Default: recognised by name.",
            panel=DATA,
        ),
    ] = None
    labels: Annotated[
        str | None,
        option(
            "--labels",
            "VALUE=NAME,…",
            "Names for label values, such as 0=entailment,1=neutral; a threshold on a column of numbers, such as "
            "'score>3.6'; or one of several labels per row, such as 'labels has joy'.",
            panel=DATA,
        ),
    ] = None
    label_file: Annotated[
        list[str] | None,
        option(
            "--label-file",
            "FILE",
            "File with one label per row of TRAIN; given twice, the second is for TEST.",
            panel=DATA,
        ),
    ] = None
    header: Annotated[
        str | None,
        option(
            "--header",
            "none|A,B",
            "For a .csv or .tsv without a header line: none, or names for its columns.",
            panel=DATA,
        ),
    ] = None
    on_error: Annotated[
        Literal["stop", "skip"],
        option(
            "--on-error",
            "stop|skip",
            "stop at the first bad row, or skip and count bad rows.",
            panel=DATA,
        ),
    ] = "stop"
    max_skipped: Annotated[
        float | None,
        option(
            "--max-skipped",
            "N",
            "Maximum bad rows to skip: a share below 1, or a number of rows.",
            panel=DATA,
            default="0.05",
            min=0,
        ),
    ] = None

    cluster: Annotated[
        str | None,
        option(
            "--cluster",
            "COLUMN",
            "Column whose equal values mark rows that count as one observation. Default: copies of a text.",
            panel=DATA,
        ),
    ] = None

    name: Annotated[
        str | None,
        option("--name", "NAME", "What the dataset is called. Default: the name of its file.", panel=DATA),
    ] = None

    @property
    def read_options(self) -> ReadOptions:
        """How to read the rows."""
        from cuecard.data import ReadOptions, parse_columns

        options = ReadOptions(
            task=self.task,
            columns=parse_columns(self.columns) if self.columns else None,
            labels=self.labels or None,
            label_file=self.label_file or None,
            header=self.header,
            on_error=self.on_error,
            name=self.name,
            cluster=self.cluster,
        )
        return options if self.max_skipped is None else replace(options, max_skipped=self.max_skipped)

    @property
    def inputs(self) -> list[str]:
        """What is read, as it was typed."""
        return [self.train, *(self.label_file or ())]

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
        option(
            "--holdout",
            "SHARE",
            "Hold out this share of the examples as a test split that shares no sentence with the training set.",
            panel=DATA,
        ),
    ] = None
    keep_unlabelled: Annotated[
        bool, option("--keep-unlabelled", "Keep rows without a label as a class of their own.", panel=DATA)
    ] = False

    @property
    def inputs(self) -> list[str]:
        """What is read, as it was typed."""
        return [*super().inputs, *([self.test] if self.test else ())]

    def load(
        self, seed: int, progress: Progress, *, dev: str | None = None, texts: bool = False
    ) -> Instances:
        """Return the instances that the options describe; with `texts`, rows without labels too."""
        with progress("Reading"):
            spec = self.spec(seed, dev=dev)
            data = spec.texts() if texts else spec()
        set_examples(data.n_examples)
        return data

    def spec(
        self,
        seed: int,
        when_loaded: Callable[[Instances], object] | None = None,
        *,
        dev: str | None = None,
    ) -> DatasetSpec:
        """Return the dataset that the options describe, before anything is read."""
        from cuecard.data import DatasetSpec

        options = replace(
            self.read_options, holdout=self.holdout, keep_unlabelled=self.keep_unlabelled, seed=seed
        )
        return DatasetSpec(self.train, self.test, dev, options, when_loaded)

    @property
    def is_small(self) -> bool:
        """Whether reading takes so little time that it comes before everything that takes longer to import."""
        files = [Path(name) for name in self.inputs]
        try:
            return all(file.is_file() for file in files) and sum(f.stat().st_size for f in files) <= SMALL
        except (OSError, ValueError):  # its reader says what is wrong
            return False

    def load_rows(self, seed: int, progress: Progress) -> LoadedRows:
        """Return the instances that the options describe, with the rows that they come from."""
        with progress("Reading"):
            read = self.spec(seed).with_rows()
        set_examples(read.data.n_examples)
        return read


@dataclass(frozen=True)
class OptionalDataset(Dataset):
    """A dataset that may be left out where another file says everything."""

    train: Annotated[
        str,
        typer.Argument(
            metavar="[TRAIN]",
            help=f"{_SOURCES} May be left out with --judge.",
            show_default=False,
        ),
    ] = ""

    @property
    def inputs(self) -> list[str]:
        """What is read, as it was typed."""
        return [source for source in super().inputs if source]


def what_was_read(data: Instances) -> str:
    """Return how many examples were read, as which task, from which columns."""
    from cuecard.wording import SPLIT_NAMES, left_out, listed

    sizes = {name: data.split(name).n_examples for name in data.splits}
    counts = listed([f"{n:,} {SPLIT_NAMES.get(name, name)}" for name, n in sizes.items()])
    columns = ", ".join(f"{role} = {column}" for role, column in data.report.recognised.items())
    line = f"Read {counts} examples. Task: {data.task}{f'. Columns: {columns}' if columns else ''}."
    dropped = listed([left_out(reason, n) for reason, n in data.report.dropped.items()])
    return "\n".join([line + (f" Left out: {dropped}." if dropped else ""), first_example(data)])


def first_example(data: Instances, width: int = 60) -> str:
    """Return how the first example is read, in one line."""
    from cuecard.data.answer_texts import NO_ANSWER

    def cut(text: str) -> str:
        line = " ".join(text.split())
        return repr(line if len(line) <= width else line[: width - 1] + "…")

    rows = data.table.slice(0, int(data.first_rows[1]) if len(data) and data.grouped else 1)
    premise = f"{cut(rows['premise'][0])} → " if rows["premise"][0] else ""
    texts = ", ".join(
        f"{cut(text) if text or data.labelled else NO_ANSWER} ({label})"
        for text, label in rows.select("hypothesis", "label").head(4).iter_rows()
    )
    return f"The first example is read as: {premise}{texts}{', …' if rows.height > 4 else ''}"


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
