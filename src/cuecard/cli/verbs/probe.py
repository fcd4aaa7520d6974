"""`cuecard probe`: does a model use the cues?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cuecard.cli.help import TESTS, train_missing
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import Features, OptionalDataset
from cuecard.cli.options.shared import (
    CardOutput,
    MatchOption,
    NoCacheOption,
    OnlyOption,
    OutOption,
    SeedOption,
    SettingsOption,
    SkipOption,
    comma_list,
    explicit_options,
    grouped,
    option,
    typed_command,
)

PROBE_EXAMPLES = """
Examples:

`cuecard probe train.parquet --test test.parquet --predictions bert=bert.csv --predictions gpt.jsonl --out probe`

`cuecard probe train.parquet --test test.parquet --model linear --model linear-hypothesis`

`cuecard probe train.parquet --test test.parquet --model fasttext --model runs/bilstm --out probe`

`cuecard probe train.parquet --test test.parquet --predictions p.csv --cues sleeping,nobody --stratify label`

`cuecard probe train.parquet --identical-pairs biased=a.csv --identical-pairs debiased=b.csv --out probe`

`cuecard probe --judge verdicts.jsonl --out judge`

`cuecard probe --runs gpt=gpt.eval --runs logs/ --out runs`
"""


@grouped
def probe(
    dataset: OptionalDataset,
    features: Features,
    output: CardOutput,
    predictions: Annotated[
        list[str] | None,
        option(
            "--predictions",
            "-p",
            "[NAME=]FILE",
            "A model's predictions: .csv, .jsonl or .parquet with id and prediction, what `cuecard ask` wrote, a "
            "sample log of lm-evaluation-harness, a .json or .eval log of Inspect, or a folder with a Hugging Face "
            "text classifier. Repeatable.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        option(
            "--model",
            "-m",
            "NAME|DIR",
            "Train and probe linear, fasttext, bilstm, … (with partial input: fasttext-hypothesis, …), or probe "
            "the model in a folder that `cuecard train` wrote. Repeatable.",
            autocompletion=listed_names(completion.models),
        ),
    ] = None,
    cues: Annotated[
        str | None, option("--cues", "A,B", "Cues to probe. Default: the strongest in the data.")
    ] = None,
    top: Annotated[
        int | None, option("--top", "N", "Number of strongest cues to probe.", default="20", min=1)
    ] = None,
    out: OutOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    prediction_columns: Annotated[
        str | None,
        option(
            "--prediction-columns",
            "ROLE=COLUMN,…",
            "Columns of the predictions by role: id, prediction, gold, model, prompt.",
            panel=TESTS,
        ),
    ] = None,
    stratify: Annotated[
        Literal["label"] | None,
        option("--stratify", "label", "Stratify the permutation test by the correct answer.", panel=TESTS),
    ] = None,
    reading: Annotated[
        Literal["union", "twice", "difference"] | None,
        option(
            "--reading",
            "NAME",
            "union, twice or difference: how the permutation test counts examples in both sets.",
            panel=TESTS,
            default="union",
        ),
    ] = None,
    test_weights: Annotated[
        str | None,
        option(
            "--test-weights",
            "COLUMN",
            "Column of TEST with weights for the debiased evaluation. Default: leakage-neutral weights.",
            panel=TESTS,
        ),
    ] = None,
    identical_pairs: Annotated[
        list[str] | None,
        option(
            "--identical-pairs",
            "[NAME=]FILE",
            "Scores of the pairs that `cuecard stress --kind identical-pairs` wrote (score, p_LABEL or prediction "
            "by example_id), or linear to train that model. Repeatable.",
            panel=TESTS,
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        option(
            "--judge",
            "[NAME=]FILE",
            "Verdicts of a judge or scores of a reward model: judgments of MT-Bench, annotations of AlpacaEval, arena "
            "battles, outputs of RewardBench, or a table with verdict (or score_a, score_b) by id. Repeatable.",
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        option(
            "--runs",
            "[NAME=]FILE|DIR",
            "Logs of many models on one benchmark, without a dataset: Inspect, lm-evaluation-harness, HELM, promptfoo, "
            "DeepEval, Every Eval Ever, a table with item, model and correct, or a folder of them. Repeatable.",
        ),
    ] = None,
    surplus_ids: Annotated[
        bool,
        option(
            "--surplus-ids",
            "Leave out predictions whose id no test example has; otherwise an error.",
            panel=TESTS,
        ),
    ] = False,
    keep_copies: Annotated[
        bool,
        option(
            "--keep-copies",
            "Count every copy of a test example. Default: copies with the same right answer count once where they "
            "are many.",
            panel=TESTS,
        ),
    ] = False,
    match: MatchOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Probe models: do they use the cues of the data?"""
    from cuecard.audits import Cues
    from cuecard.cli.options.shared import split_settings
    from cuecard.cli.show import exit_if_failed
    from cuecard.cli.streams import training_bar
    from cuecard.probes import PROBES, is_saved_model
    from cuecard.run import parse_settings
    from cuecard.run import probe as run_probe

    sources = [
        named_source(source)[1]
        for source in (*(predictions or ()), *(identical_pairs or ()), *(judge or ()), *(runs or ()))
    ]
    if dataset.test and not dataset.train:
        raise train_missing(dataset.test)
    output.check(out, [*dataset.inputs, *sources, *(model or ())])
    kinds = {kind.name: kind for kind in (Cues, *PROBES)}
    to_train = [name for name in model or [] if not is_saved_model(name)]
    of_sections, of_models = split_settings(settings, list(kinds), to_train)
    card = run_probe(
        (lambda: dataset.load(seed, output.progress)) if dataset.train else None,
        [named_source(source) for source in predictions or []],
        models=model or (),
        model_settings=of_models,
        identical_pairs=identical_pairs or (),
        judge=[named_source(source) for source in judge or []],
        runs=[named_source(source) for source in runs or []],
        prediction_columns=_prediction_columns(prediction_columns),
        labels=dataset.label_names,
        cues=comma_list(cues),
        only=comma_list(only),
        skip=comma_list(skip),
        settings=parse_settings(of_sections, kinds),
        progress=output.progress,
        command=typed_command(),
        tell=lambda title: training_bar(title, silent=output.silent),
        cache=not no_cache,
        surplus_ids=surplus_ids,
        keep_copies=keep_copies,
        seed=seed,
        **features.of_features,
        **explicit_options(
            top=top, stratify=stratify, reading=reading, test_weights=test_weights, match=match
        ),
    )
    output.show(card, out, sections=comma_list(only))
    exit_if_failed(card, "probe")


def named_source(text: str) -> tuple[str | None, str]:
    """Return the name and the file of NAME=FILE; a file whose own name has an equals sign is one too."""
    name, equals, source = text.partition("=")
    if not equals or Path(text).exists():
        return None, text
    return name.strip() or None, source


def _prediction_columns(text: str | None) -> dict[str, str]:
    from cuecard.errors import UsageError

    pairs = {}
    for part in comma_list(text):
        role, equals, name = part.partition("=")
        if not equals or not name:
            raise UsageError(
                f"--prediction-columns takes ROLE=COLUMN, such as prediction=guess, not {part!r}."
            )
        pairs[role.strip()] = name.strip()
    return pairs
