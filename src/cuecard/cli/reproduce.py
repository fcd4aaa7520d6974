"""`cuecard reproduce PAPER`: the papers' experiments as one command each, on any dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from cuecard.cli.data_options import Dataset
from cuecard.cli.groups import grouped, option, typed
from cuecard.cli.help import Verb
from cuecard.cli.options import (
    MatchOption,
    MaxWeightOption,
    NoCacheOption,
    OutOption,
    Output,
    SeedOption,
    SettingsOption,
    SubsetOption,
    comma_list,
    names_of,
    typed_command,
)

app = typer.Typer(
    help="Repeat a paper's experiment on your own data.", no_args_is_help=True, rich_markup_mode="markdown"
)

STUBBORN_EXAMPLES = """
Example:

`cuecard reproduce stubborn train.parquet --test test.parquet --model fasttext,bilstm --seeds 3 --out stubborn`
"""
SELECTION_EXAMPLES = """
Example:

`cuecard reproduce selection quora_train.tsv --test quora_test.tsv --also msrp.parquet --out selection`
"""


@dataclass(frozen=True)
class Experiment(Dataset):
    """What both experiments take."""

    seeds: Annotated[
        int | None,
        option(
            "--seeds",
            "N",
            "How often to train each: with --seed, --seed + 1, …",
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
        return typed(
            settings=tuple(self.settings or ()), seeds=self.seeds, seed=self.seed, cache=not self.no_cache
        )

    def conduct(self, experiment: Any, output: Output) -> None:
        """Run an experiment and show its card."""
        from cuecard.cli.progress import training_bar
        from cuecard.run import experiment as run_experiment

        told = replace(experiment, tell=lambda title: training_bar(title, silent=output.silent))
        card = run_experiment(
            lambda: self.load(self.seed, output.progress),
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
    output: Output,
    model: Annotated[
        str, option("--model", "-m", "A,B", "Models to train, such as fasttext,bilstm.")
    ] = "fasttext",
    schemes: Annotated[
        str | None,
        option(
            "--schemes",
            "A,B",
            "Weights to train with. uniform; paper: its own objective; words, bigrams, trigrams: entropy "
            "balancing of n-grams.",
            default="uniform,paper,words,bigrams",
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        option(
            "--min-count", "N", "Balance words that at least N training instances have.", default="100", min=1
        ),
    ] = None,
    per_label: Annotated[
        int | None,
        option(
            "--per-label", "N", "Words of highest z per label that the test looks at.", default="50", min=1
        ),
    ] = None,
) -> None:
    """Train on equal and on balanced weights; test every model for its use of words.

    Finished runs are kept, unless --no-cache is given: an experiment that was stopped resumes.
    """
    from cuecard.reproduce import StubbornExperiment

    given = typed(weights=names_of(schemes), min_count=min_count, per_label=per_label)
    options.conduct(StubbornExperiment(models=tuple(comma_list(model)), **options.training, **given), output)


@app.command("selection", epilog=SELECTION_EXAMPLES, cls=Verb)
@grouped
def selection(
    options: Experiment,
    output: Output,
    also: Annotated[
        list[str] | None,
        option("--also", "OTHER", "Another set with the same labels to score both models on. Repeatable."),
    ] = None,
    model: Annotated[str, option("--model", "-m", "NAME", "The model to train.")] = "siamese-lstm",
    match: MatchOption = None,
    max_weight: MaxWeightOption = None,
) -> None:
    """Train with equal and with leakage-neutral weights; evaluate both as they stand, under weights and elsewhere.

    Finished runs are kept, unless --no-cache is given: an experiment that was stopped resumes.
    """
    from cuecard.reproduce import SelectionExperiment

    experiment = SelectionExperiment(model=model, match=match, max_weight=max_weight, **options.training)
    others = tuple(
        replace(options, train=source, test=None, label_file=None, holdout=None).load(
            options.seed, output.progress
        )
        for source in also or []
    )
    options.conduct(replace(experiment, also=others), output)
