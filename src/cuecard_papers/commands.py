"""`cuecard papers`: the papers' experiments as one command each, on any dataset, and their tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuecard.cli.help import Verb, Verbs
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import Dataset
from cuecard.cli.options.shared import (
    CardOutput,
    ChartOption,
    MatchOption,
    MaxWeightOption,
    NoCacheOption,
    OutOption,
    Output,
    SeedOption,
    SettingsOption,
    SubsetOption,
    comma_list,
    explicit_options,
    grouped,
    names_of,
    option,
    path,
    required_out,
    typed_command,
)
from cuecard.wording import plural

if TYPE_CHECKING:
    from cuecard.data import Instances


app = typer.Typer(
    cls=Verbs,
    help="Repeat a paper's experiment on your own data, or its tables and figures.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

STUBBORN_EXAMPLES = """
Examples:

`cuecard papers stubborn train.parquet --test test.parquet --model fasttext,bilstm --seeds 3 --out stubborn`

`cuecard papers stubborn train.parquet --dev dev.parquet --test test.parquet --debias all --out frontier`
"""
REPRODUCE_EXAMPLES = """
Examples:

`cuecard papers reproduce icq --data data --out out/papers`

`cuecard papers reproduce all --data data --slow --out out/papers --page papers.html`
"""
THEOREM_EXAMPLES = """
Example:

`cuecard papers theorem --repetitions 600`
"""
SELECTION_EXAMPLES = """
Example:

`cuecard papers selection quora_train.tsv --test quora_test.tsv --also msrp.parquet --out selection`
"""

PECO_EXAMPLES = """
Examples:

`cuecard papers peco clusters.csv`

`cuecard papers peco points.csv --columns cluster=clid --labels 0=entailment,1=neutral --chart map.html`
"""
#: Columns that `peco` reads.
ROLES = ("label", "cluster", "x", "y", "text")

AlsoOption = Annotated[
    list[str] | None,
    option("--also", "OTHER", "Another dataset with the same labels to evaluate the models on. Repeatable."),
]


AlsoLabelsOption = Annotated[
    list[str] | None,
    option(
        "--also-labels",
        "LABELS",
        "The --labels of each --also, in their order, such as 'score>3.6=same,other'. Default: as --labels.",
    ),
]


@dataclass(frozen=True)
class Experiment(Dataset):
    """What both experiments take."""

    seeds: Annotated[
        int | None,
        option(
            "--seeds",
            "N",
            "Number of seeds to train with: --seed, --seed + 1, …",
            default="3 for stubborn, 1 for selection",
            min=1,
        ),
    ] = None
    settings: SettingsOption = None
    seed: SeedOption = 0
    subset: SubsetOption = None
    no_cache: NoCacheOption = False
    out: OutOption = None

    @property
    def training(self) -> dict[str, Any]:
        """How models are trained, as experiments take it."""
        return explicit_options(
            settings=tuple(self.settings or ()), seeds=self.seeds, seed=self.seed, cache=not self.no_cache
        )

    def check(self, output: CardOutput, also: Iterable[str] = ()) -> None:
        """Raise if the card cannot be written, before any data is read."""
        output.check(self.out, [*self.inputs, *also])

    def others(
        self, also: Sequence[str] | None, output: CardOutput, labels: Sequence[str] | None = None
    ) -> tuple[Instances, ...]:
        """Return the other datasets to evaluate models on, whole."""
        from cuecard.errors import UsageError

        sources = also or []
        if labels and len(labels) != len(sources):
            raise UsageError(
                f"--also-labels is given {plural(len(labels), 'time')} and --also {plural(len(sources), 'time')}: "
                "give --also-labels once for each --also."
            )
        own_labels: list[str | None] = [*labels] if labels else [self.labels] * len(sources)
        return tuple(
            replace(self, train=source, test=None, label_file=None, holdout=None, labels=own).load(
                self.seed, output.progress
            )
            for source, own in zip(sources, own_labels, strict=True)
        )

    def conduct(self, experiment: Any, output: CardOutput, *, dev: str | None = None) -> None:
        """Run an experiment and show its card."""
        from cuecard.cli.streams import training_bar
        from cuecard_papers import experiment as run_experiment

        self.check(output)
        told = replace(experiment, tell=lambda title: training_bar(title, silent=output.silent))
        card = run_experiment(
            lambda: self.load(self.seed, output.progress, dev=dev),
            told,
            subset=self.subset,
            seed=self.seed,
            command=typed_command(),
        )
        output.show(card, self.out)


@app.command("stubborn", epilog=STUBBORN_EXAMPLES, cls=Verb)
@grouped
def stubborn(
    options: Experiment,
    output: CardOutput,
    model: Annotated[
        str,
        option(
            "--model",
            "-m",
            "A,B",
            "Models to train, such as fasttext,bilstm.",
            autocompletion=listed_names(completion.models),
        ),
    ] = "fasttext",
    schemes: Annotated[
        str | None,
        option(
            "--schemes",
            "A,B",
            "Weights to train with. uniform: equal weights; paper: the paper's objective; words, bigrams, "
            "trigrams: entropy balancing of n-grams.",
            default="uniform,paper,words,bigrams",
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        option(
            "--min-count",
            "N",
            "Balance words that occur in at least N training instances.",
            default="100",
            min=1,
        ),
    ] = None,
    per_label: Annotated[
        int | None,
        option(
            "--per-label", "N", "Number of words with the highest z per label to test.", default="50", min=1
        ),
    ] = None,
    debias: Annotated[
        str | None,
        option(
            "--debias",
            "A,B",
            "Draw the frontier of debiasing instead: plain, words, product-of-experts, upweight, last-layer, erase, …, "
            "constraint, expert, words+constraint, ensemble, or all.",
        ),
    ] = None,
    dev: Annotated[
        str | None,
        option("--dev", "DEV", "Validation split to tune --debias on, in any form TRAIN can have."),
    ] = None,
    also: AlsoOption = None,
) -> None:
    """Train with equal and with balanced weights, and test whether each model uses words.

    With --debias, every way to train and to correct is compared: accuracy against the gap that words leave.

    Finished runs are cached, so an interrupted experiment resumes; --no-cache retrains all of them.
    """
    from cuecard.errors import UsageError
    from cuecard_papers import FrontierExperiment, StubbornExperiment

    if debias is not None:
        if schemes or min_count:
            raise UsageError(
                "--schemes and --min-count do not apply with --debias: write --debias plain,words."
            )
        options.check(output, [*([dev] if dev else []), *(also or ())])
        methods = None if debias == "all" else names_of(debias)
        frontier = FrontierExperiment(
            models=tuple(comma_list(model)),
            **options.training,
            **explicit_options(debias=methods, per_label=per_label),
        )
        others = options.others(also, output)
        options.conduct(replace(frontier, also=others), output, dev=dev)
        return
    if dev or also:
        raise UsageError("--dev and --also only apply with --debias: add --debias all.")
    explicit = explicit_options(weights=names_of(schemes), min_count=min_count, per_label=per_label)
    options.conduct(
        StubbornExperiment(models=tuple(comma_list(model)), **options.training, **explicit), output
    )


@app.command("selection", epilog=SELECTION_EXAMPLES, cls=Verb)
@grouped
def selection(
    options: Experiment,
    output: CardOutput,
    also: AlsoOption = None,
    also_labels: AlsoLabelsOption = None,
    model: Annotated[
        str,
        option(
            "--model", "-m", "NAME", "The model to train.", autocompletion=listed_names(completion.models)
        ),
    ] = "siamese-lstm",
    match: MatchOption = None,
    max_weight: MaxWeightOption = None,
    pool: Annotated[
        bool, option("--pool", "Estimate the weights of all splits together, as the paper's algorithm does.")
    ] = False,
) -> None:
    """Train with equal and with leakage-neutral weights; evaluate both with and without weights.

    Finished runs are cached, so an interrupted experiment resumes; --no-cache retrains all of them.
    """
    from cuecard_papers import SelectionExperiment

    options.check(output, also or ())
    experiment = SelectionExperiment(
        model=model, match=match, max_weight=max_weight, pool=pool, **options.training
    )
    options.conduct(replace(experiment, also=options.others(also, output, also_labels)), output)


@app.command("theorem", epilog=THEOREM_EXAMPLES, cls=Verb)
@grouped
def theorem(
    output: Output,
    repetitions: Annotated[int, option("--repetitions", "N", "Number of simulated datasets.", min=1)] = 600,
    seed: SeedOption = 0,
) -> None:
    """Check by simulation that leakage-neutral weights estimate accuracy without the leak (Selection, Theorem 1)."""
    from dataclasses import asdict

    from cuecard_papers.selection import theorem_by_simulation

    check = theorem_by_simulation(repetitions=repetitions, seed=seed)
    if output.json:
        from json import dumps

        typer.echo(dumps(asdict(check), indent=2))
        return
    output.say(
        f"Accuracy without the leak {100 * check.truth:.1f} %. With leakage-neutral weights the mean of "
        f"{check.repetitions:,} simulated datasets is {100 * check.weighted:.1f} %, and the 95 % CI covers it in "
        f"{100 * check.weighted_coverage:.1f} %; without weights {100 * check.unweighted:.1f} % and "
        f"{100 * check.unweighted_coverage:.1f} %."
    )


@app.command("reproduce", epilog=REPRODUCE_EXAMPLES, cls=Verb)
@grouped
def reproduce(
    output: Output,
    name: Annotated[
        str, typer.Argument(metavar="PAPER", help="icq, stubborn, selection, peco, or all of them: all.")
    ],
    data: Annotated[
        Path, option("--data", "DIR", "Folder of the datasets, such as DIR/copa/dev.parquet.", parser=path)
    ],
    out: Annotated[Path, required_out("DIR", "Keep the cards of the commands here; the next call resumes.")],
    slow: Annotated[bool, option("--slow", "Also run what takes long, such as training.")] = False,
    page: Annotated[
        Path | None,
        option(
            "--page",
            "FILE",
            "Write the comparison as a page to this file (.html, .md or .json).",
            parser=path,
        ),
    ] = None,
) -> None:
    """Regenerate the tables and figures of a paper, and set them beside the printed numbers."""
    from cuecard.errors import UsageError
    from cuecard.limits import check_file, check_folder
    from cuecard_papers import PAPERS, reproduce_paper, write_reproductions
    from cuecard_papers.page import render_reproduction, reproductions_json

    if page is not None:
        if page.suffix not in (".html", ".md", ".json"):
            raise UsageError(f"{page}: the page is written as .html, .md or .json, such as papers.html.")
        check_file(page, inputs=[], option="--page")
    check_folder(out, ["*"], inputs=[str(data)], option="--out")
    names = PAPERS if name == "all" else (name,)

    def tell(command: str) -> None:
        if not output.silent:
            typer.echo(f"$ {command}", err=True)

    results = [reproduce_paper(one, data, out, slow=slow, tell=tell) for one in names]
    if page is not None:
        output.say(f"Page: {write_reproductions(results, page)}")
    if output.json:
        typer.echo(reproductions_json(results), nl=False)
    elif not output.quiet:
        from rich.console import Console

        for one in results:
            render_reproduction(one, Console())


@app.command("peco", epilog=PECO_EXAMPLES, cls=Verb)
@grouped
def peco(
    output: Output,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="One row per sentence with label and cluster; x and y for a map; text for words. "
            "Format .csv, .parquet or .jsonl.",
            parser=path,
        ),
    ],
    columns: Annotated[
        str | None, option("--columns", "ROLE=COLUMN,…", f"Columns by role: {', '.join(ROLES)}.")
    ] = None,
    labels: Annotated[
        str | None,
        option("--labels", "VALUE=NAME,…", "Names for label values, such as 0=entailment,1=neutral."),
    ] = None,
    chart: ChartOption = None,
    permutations: Annotated[
        int, option("--permutations", "N", "Number of shuffles of the labels.", min=1)
    ] = 200,
    seed: SeedOption = 0,
) -> None:
    """Score clusters of your own: how far do their labels diverge from those of the whole dataset, beyond chance?"""
    from cuecard.audits.clusters.external_clusters import external_clusters, read_table
    from cuecard.data import parse_labels
    from cuecard.report.html.chart_page import check_chart

    chosen = _roles(columns)
    if chart is not None:
        check_chart(chart, inputs=[table])
    frame = read_table(
        table,
        [chosen.get(role, role) for role in ("label", "cluster")],
        "clusters",
        hint=" Name them with --columns label=COLUMN,cluster=COLUMN.",
    )
    named = frame.select(
        frame[chosen.get(role, role)].alias(role) for role in ROLES if chosen.get(role, role) in frame.columns
    )
    scored = external_clusters(
        named,
        label_names=parse_labels(labels) if labels else None,
        permutations=permutations,
        seed=seed,
    )
    drawn = None
    if chart is not None:
        from cuecard_papers.peco import write_cluster_map

        drawn = f"Map: {write_cluster_map(scored, chart, title=table.stem)}"
    if output.json:
        from json import dumps

        shown = {"scores": scored.scores.to_dicts(), "clusters": scored.clusters.to_dicts()}
        typer.echo(dumps(shown, indent=2, ensure_ascii=False))
        if drawn:
            typer.echo(drawn, err=True)
        return
    from rich.console import Console

    from cuecard_papers.peco import render_given_clusters

    if output.quiet:
        return
    render_given_clusters(scored, Console())
    if drawn:
        typer.echo(drawn)


def _roles(columns: str | None) -> dict[str, str]:
    """Return the column of every role that the user named."""
    from cuecard.data import parse_columns
    from cuecard.registry import unknown_name

    chosen = parse_columns(columns) if columns else {}
    for role in chosen:
        if role not in ROLES:
            raise unknown_name("role", role, list(ROLES))
    return chosen
