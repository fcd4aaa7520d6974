"""Options that several verbs share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.errors import UsageError

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRAIN",
        help="A .parquet, .csv, .tsv or .jsonl(.gz/.zst) file, a folder or glob of them, a saved Hugging Face "
        "dataset folder, hf:NAME[/CONFIG]:SPLIT, or preset:NAME.",
        show_default=False,
    ),
]
TestOption = Annotated[
    str | None, typer.Option("--test", metavar="TEST", help="The test split, in any form TRAIN can have.")
]
TaskOption = Annotated[
    Literal["pair", "choice", "preference", "text"] | None,
    typer.Option("--task", help="What an example is; recognised from the columns by default."),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="ROLE=COLUMN,…",
        help="Which column is what, such as premise=a,hypothesis=b,label=c; recognised by name by default.",
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels", metavar="VALUE=NAME,…", help="Names for label values, such as 0=entailment,1=neutral."
    ),
]
HoldoutOption = Annotated[
    float | None,
    typer.Option(
        "--holdout", help="Hold out this share of the examples as a test split that shares no sentence."
    ),
]
KeepUnlabelledOption = Annotated[
    bool, typer.Option("--keep-unlabelled", help="Keep rows without a label as a class of their own.")
]
OnErrorOption = Annotated[
    Literal["stop", "skip"],
    typer.Option("--on-error", help="What to do with a bad row: stop, or skip it and say how many."),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Write card.json, report.html and tables/ here."),
]
SubsetOption = Annotated[
    int | None, typer.Option("--subset", metavar="N", help="Train on N examples drawn by the seed.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn at random.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of text.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
TokensOption = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="NAME",
        help="Tokenisation: default, stubborn, treebank, treebank-lemma, chars, words-zh, …; "
        "what suits the language by default.",
    ),
]
LanguageOption = Annotated[
    str | None,
    typer.Option("--language", metavar="CODE", help="Language of the texts, such as en; guessed by default."),
]
RegexOption = Annotated[
    list[str] | None,
    typer.Option(
        "--regex", metavar="NAME=PATTERN", help="A feature of your own; may be given several times."
    ),
]
StopWordsOption = Annotated[
    bool, typer.Option("--stop-words/--no-stop-words", help="Whether function words count as words.")
]
ScopeOption = Annotated[
    Literal["hypothesis", "premise", "both"],
    typer.Option("--scope", help="The text in which a feature is looked for."),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option("--features", metavar="A,B,…", help="Feature families, such as word,bigram,negation."),
]
EmbedOption = Annotated[
    str,
    typer.Option(
        "--embed",
        metavar="NAME|PATH",
        help="How texts become vectors for clusters: tfidf, minilm, or the folder of a trained model or checkpoint.",
    ),
]
MapOption = Annotated[
    Literal["tsne", "opentsne", "umap", "pca", "none"],
    typer.Option("--map", help="How the clusters are laid out in two dimensions."),
]
MapSizeOption = Annotated[
    int, typer.Option("--map-size", min=10, help="Sentences on the map of clusters; more are sampled.")
]
TransformOption = Annotated[
    str | None,
    typer.Option(
        "--transform",
        metavar="A,B",
        help="Score clusters again after shuffled_words, masked_nouns or masked_function_words.",
    ),
]
DynamicsOption = Annotated[
    Path | None,
    typer.Option(
        "--dynamics",
        metavar="FILE",
        help="Training dynamics (example_id, confidence), compared inside and outside biased clusters.",
    ),
]
MinCountOption = Annotated[
    int,
    typer.Option("--min-count", min=1, help="Test features that at least this many train instances have."),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="Extra column with each example's weight, such as `cuecard debias` writes.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[MODEL.]PARAMETER=VALUE",
        help="A parameter of the model, such as epochs=3; may be given several times.",
    ),
]

NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Train models anew, and keep nothing for the next run.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[SECTION|MODEL.]PARAMETER=VALUE",
        help="Any parameter of one section, such as pair_graph.forest=paper, or of a model that is trained, such as "
        "epochs=3; may be given several times.",
    ),
]


def comma_list(text: str | None) -> list[str]:
    """Return the parts of "a,b,c" without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def named_patterns(options: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Return the pairs of ["NAME=PATTERN", …]."""
    pairs = []
    for option in options or []:
        name, equals, pattern = option.partition("=")
        if not (name.strip() and equals and pattern):
            raise UsageError(f"--regex takes NAME=PATTERN, such as hedge='maybe|perhaps', not {option!r}.")
        pairs.append((name.strip(), pattern))
    return tuple(pairs)
