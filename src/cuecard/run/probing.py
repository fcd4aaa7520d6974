"""Probe models with their predictions and put what they do with the cues on a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cuecard.analysis import Analysis, Need
from cuecard.audits import Cues
from cuecard.card.card import Card
from cuecard.data import Instances, Source
from cuecard.errors import UsageError
from cuecard.models.recipe import Tell, silently
from cuecard.probes import (
    PROBES,
    CueSet,
    Predictions,
    Verdicts,
    asked_recipes,
    check_test,
    choose_cues,
    distinctly_named,
    is_saved_model,
    read_many_predictions,
    read_verdicts,
    trained_predictions,
)
from cuecard.probes.formats.open_texts import TextAnswers, read_text_answers
from cuecard.probes.identical_pair_scores import check_source
from cuecard.probes.judge.scored import Scored, holds_scores, read_scored, scored_instances
from cuecard.probes.judge.verdicts import together
from cuecard.probes.predictions import CUE_HALF, DistinctAnswers, as_split, distinct_answers, read_one_file
from cuecard.probes.runs import Runs, joined, read_runs, runs_of
from cuecard.probes.variants import told_apart
from cuecard.run.choosing import (
    Settings,
    check_extras,
    check_inputs,
    check_objects,
    chosen,
    configured,
    inputs_of,
    names_in,
    of_its_kind,
    that_can_run,
)
from cuecard.run.finishing import check_labels
from cuecard.run.running import (
    Data,
    Progress,
    ProgressOption,
    SectionRun,
    card_of,
    ensure_loaded,
    in_steps,
    require_any,
    run_section,
    shown_progress,
)
from cuecard.wording import listed

#: What `probe` takes for predictions: read ones, sources to read, or sources by the name of their model.
ManyPredictions = Any

#: What `probe` takes for the verdicts of judges, in the same forms.
Judges = Any

#: What `probe` takes for logs of runs, in the same forms.
ManyRuns = Any

#: Inputs that come from the predictions of models.
_FROM_PREDICTIONS: frozenset[Need] = frozenset(
    {"predictions", "cues", "prompts", "input_parts", "permutations", "runs"}
)
#: What probes take that need no training set, so that a benchmark of one file is not halved for them.
_WITHOUT_TRAIN: frozenset[Need] = frozenset({"input_parts", "permutations", "runs"})
#: Inputs that come from judges.
_JUDGED: tuple[Need, Need] = ("judge", "scores")
#: Two models are compared by a section of their own; of more, the predictions are runs as well.
_FEWEST_RUNS = 3


def probe(
    data: Data | None = None,
    predictions: ManyPredictions = (),
    *,
    test: Source | None = None,
    models: Sequence[str] = (),
    model_settings: Sequence[str] = (),
    identical_pairs: Sequence[str] = (),
    judge: Judges = (),
    runs: ManyRuns = (),
    probes: Sequence[Analysis] | None = None,
    audit: Cues | None = None,
    cues: Sequence[str] = (),
    top: int = 20,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    prediction_columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    progress: ProgressOption = None,
    tell: Tell = silently,
    command: str = "",
    cache: bool = True,
    surplus_ids: bool = False,
    keep_copies: bool = False,
    **options: Any,
) -> Card:
    """Return the card of one or several models: do they use the cues of the data they were trained for?

    Args:
        data: what `cuecard.load` returned, with a test split; or what it takes, such as ``"train.csv"``; or a function
            that returns the dataset, called once the options are checked.
        test: the test split, where `data` is a file or a table.
        predictions: `Predictions`, a file, a frame or a function (see `read_predictions`); a list of them, or of
            (name, source); or a mapping from the names of models to them. Answers that `cuecard ask` wrote may be about
            a part of the test split: then models are probed on that part.
        models: models to train on train and to probe ("linear", "fasttext-hypothesis"), or folders of
            trained ones.
        model_settings: their parameters, such as "epochs=3" or "fasttext.epochs=3".
        identical_pairs: `[NAME=]FILE` with a model's scores of sentences paired with themselves, or the name of a
            built-in model to train; needs neither predictions nor a test split.
        judge: verdicts of judges or scores of reward models (see `read_verdicts`), as predictions are given. The
            dataset may be left out where the verdicts come with texts and labels, or none are needed.
        runs: logs of many models on one benchmark (see `read_runs`), as predictions are given; they need no dataset.
            Predictions of three or more models are runs as well.
        probes: the probes to run, such as ``[cc.PermutationTest(stratify="label")]``.
        audit: the cue audit that the cues come from, such as ``cc.Cues(scope="both")``.
        cues: cues to probe, such as "sleeping" or "length:longest"; the strongest of the data by default.
        top: how many of the strongest cues to probe.
        only: names of the probes to run; by default all whose inputs are there. The cues are on the card if one of
            them is about cues.
        skip: names of probes to leave out.
        settings: parameters of single probes or of the cue audit, such as ``{"permutation_test": {"per_label": 20}}``.
        prediction_columns: which column of the predictions is what: id, prediction, gold, model, prompt.
        labels: names of raw label values in the predictions, such as ``{"0": "entailment"}``.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        tell: called with the name of a model that is trained; returns a context manager that gives what to call with
            the progress.
        command: what the user typed, for the findings and the provenance.
        cache: whether what models gave before may come from the user's cache folder, and this go there.
        surplus_ids: leave out predictions whose id no test example has, instead of raising an error.
        keep_copies: count every copy of a test example, as the papers do; by default, copies with the same right
            answer count once where they are many.
        options: parameters of the probes and of the cue audit, such as ``scope="both"``.
    """
    progress = shown_progress(progress)
    selection = selected_probes(
        probes,
        audit=audit,
        inputs=_inputs(predictions, models, identical_pairs, judge, runs),
        only=only,
        skip=skip,
        settings=settings,
        options=options,
    )
    to_train = [name for name in models if not is_saved_model(name)]
    recipes = dict(zip(to_train, asked_recipes(to_train, model_settings), strict=True))
    for source in identical_pairs:
        check_source(source)
    inputs: dict[Need, Any] = {}
    if _given_sources(runs):
        inputs["runs"] = logged = _runs(runs)
        data = logged.instances() if data is None and not _given_sources(judge) else data
    data = None if data is None else ensure_loaded(data, test)
    if data is None or _given_sources(judge):
        judges, scores = _judges(judge, data)
        inputs |= {"judge": judges} if judges else {}
        inputs |= {"scores": scores} if scores else {}
        if data is None:
            data = together(judges) if judges else scored_instances(scores)
    check_labels(data, open_answers=True)
    if not data.labelled and not inputs:
        in_words: dict[str, Any] = {"columns": prediction_columns, "surplus_ids": surplus_ids}
        return _of_open_answers(data, selection, predictions, models, in_words, progress, command)
    if not selection.named:
        selection = replace(selection, probes=of_its_kind(selection.probes, data))
    tested = data
    answers, examples, notes = [], [], []
    about_verdicts = [note for kind in _JUDGED for one in inputs.get(kind, ()) for note in one.notes]
    halved = ""
    if identical_pairs:
        inputs["identical_pairs"] = tuple(identical_pairs)
    if (models or _sources(predictions)) and selection.need(*_FROM_PREDICTIONS):
        with progress("Reading predictions") if progress else nullcontext():
            sources = _sources(predictions)
            reader: dict[str, Any] = {
                "columns": prediction_columns,
                "labels": labels,
                "surplus_ids": surplus_ids,
            }
            if data.test is None and sources and not models and not selection.need_train:
                data = tested = as_split(data, "test")
                data, read = read_many_predictions(sources, data, **reader)
            elif data.test is None and sources and not models:
                seed = options.get("seed", 0)
                data, read, halved = read_one_file(sources, data, **reader, seed=seed)
                tested = data
            else:
                data, read = read_many_predictions(sources, data, **reader)
        for name in models:
            with tell(f"Training {name}") as watch:
                trained = trained_predictions(
                    data,
                    recipes.get(name, name),
                    tokens=selection.audit.tokens,
                    seed=options.get("seed", 0),
                    watch=watch,
                    cache=cache,
                )
            read.append(trained)
        variants = told_apart(read)
        everyone = distinctly_named(variants.models)
        examples = [_about_examples(everyone, data)]
        notes = [halved] if halved else []
        notes += _read_as(everyone)
        kept = DistinctAnswers(data) if keep_copies else distinct_answers(data)
        tested, note = kept.data, kept.note
        notes += [note] if note else []
        everyone = [kept.of(model) for model in everyone]
        inputs["predictions"] = everyone
        if variants.parts:
            inputs["input_parts"] = {
                name: {part: kept.of(one) for part, one in parts.items()}
                for name, parts in variants.parts.items()
            }
        if variants.orders:
            inputs["permutations"] = {
                name: [kept.of(one) for one in ways] for name, ways in variants.orders.items()
            }
        if len(everyone) >= _FEWEST_RUNS and "runs" not in inputs:
            inputs["runs"] = runs_of(everyone, check_test(tested))
        if len(prompts := [model for model in everyone if model.prompt]) > 1:
            inputs["prompts"] = prompts
    if selection.need("cues"):
        cue_result, cue_set = _cues(data, tested, selection.audit, cues, top, progress)
        if cue_set is not None:
            inputs["cues"] = replace(cue_set, source=CUE_HALF) if halved else cue_set
        answers = [cue_result]
    # Probes of cues that could not be found are on the card, skipped with that reason.
    there: set[Need] = {*inputs, "cues"} if answers else {*inputs}
    to_run = selection.probes if selection.named else that_can_run(selection.probes, there)
    shown = in_steps(progress, len(to_run))
    answers = [
        *(run_section(one, tested, inputs, progress=shown, named=bool(only)) for one in to_run),
        *answers,
    ]
    card = card_of(data, answers, examples=examples, command=command, notes=[*about_verdicts, *notes])
    require_any(card, names_in(only))
    return card


def _of_open_answers(
    data: Instances,
    selection: ProbeSelection,
    predictions: ManyPredictions,
    models: Sequence[str],
    reader: Mapping[str, Any],
    progress: Progress | None,
    command: str,
) -> Card:
    """Return the card of models that answer in words."""
    if models:
        raise UsageError(
            "--model trains models that predict labels, and these questions have answers in words: give what a model "
            "answered with --predictions FILE."
        )
    able = that_can_run(selection.probes, {"answers"})
    probes = selection.probes if selection.named else [one for one in able if data.task in one.tasks]
    if not probes:
        raise UsageError("There is nothing to probe: add --predictions FILE with the answers of a model.")
    with progress("Reading predictions") if progress else nullcontext():
        answers = read_text_answers(_sources(predictions), data, **reader)
    shown = in_steps(progress, len(probes))
    inputs: dict[Need, Any] = {"answers": answers}
    runs = [run_section(one, data, inputs, progress=shown, named=selection.named) for one in probes]
    notes = [*_read_as(answers), *(note for one in answers for note in one.notes)]
    card = card_of(data, runs, command=command, notes=notes)
    require_any(card, [one.name for one in probes] if selection.named else ())
    return card


@dataclass(frozen=True)
class ProbeSelection:
    """The probes to run, the cue audit behind their cues, and whether the user named the probes."""

    audit: Cues
    probes: list[Analysis]
    named: bool

    def need(self, *inputs: Need) -> bool:
        """Return whether one of the probes takes one of these inputs."""
        return any(inputs_of(one) & set(inputs) for one in self.probes)

    @property
    def need_train(self) -> bool:
        """Return whether one of the probes reads more than what models answered to all examples."""
        return not all(inputs_of(one) and inputs_of(one) <= _WITHOUT_TRAIN for one in self.probes)


def selected_probes(
    probes: Sequence[Analysis] | None = None,
    *,
    audit: Cues | None = None,
    inputs: frozenset[Need] = _FROM_PREDICTIONS,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    options: Mapping[str, object],
) -> ProbeSelection:
    """Return what is to run, or raise if a name, an option or an input is missing; no data is read for that."""
    if probes is not None:
        check_objects("probes", probes, only=only, skip=skip, settings=settings, options=options)
        selection = ProbeSelection(audit or Cues(), list(probes), named=True)
    else:
        kinds: list[type[Analysis]] = [Cues, *chosen(PROBES, only, skip)]
        cue_audit, *rest = configured(kinds, options, settings, among=[Cues, *PROBES])
        assert isinstance(cue_audit, Cues)
        selection = ProbeSelection(audit or cue_audit, rest, named=bool(only))
    if selection.named:
        check_inputs(selection.probes, inputs)
        check_extras(selection.probes)
        return selection
    possible = that_can_run(selection.probes, inputs)
    if not possible:
        raise UsageError(
            "There is nothing to probe: add --predictions FILE, --model NAME, --runs FILE or --identical-pairs FILE."
        )
    return ProbeSelection(selection.audit, possible, named=False)


def _judges(sources: Judges, data: Instances | None) -> tuple[list[Verdicts], list[Scored]]:
    """Return verdicts about pairs and scores of single responses, those of every judge under a name of its own."""
    read: list[Verdicts] = []
    scores: list[Scored] = []
    for name, source in _sources(sources):
        if isinstance(source, Scored) or (not isinstance(source, Verdicts) and holds_scores(source)):
            own = [source] if isinstance(source, Scored) else read_scored(name, source)
            scores += own
            read += [verdicts for one in own if (verdicts := one.verdicts()) is not None]
        else:
            read.append(source if isinstance(source, Verdicts) else read_verdicts(name, source, data))
    if not read and not scores:
        raise UsageError(
            "A dataset is missing: type its file before the options, or --judge FILE for verdicts."
        )
    both = ([one.name for one in read], [one.name for one in scores])
    if names := next((names for names in both if len(set(names)) < len(names)), None):
        raise UsageError(
            f"Two judges are called alike ({', '.join(names)}): name them with --judge NAME=FILE."
        )
    return read, scores


def _runs(sources: ManyRuns) -> Runs:
    """Return the items that all logs are about."""
    if isinstance(sources, Runs):
        return sources
    return joined([log for name, source in _sources(sources) for log in read_runs(name, source)])


def _given_sources(sources: Judges) -> bool:
    return not (isinstance(sources, (list, tuple, Mapping)) and not len(sources))


def _inputs(
    predictions: ManyPredictions,
    models: Sequence[str],
    identical_pairs: Sequence[str],
    judge: Judges,
    runs: ManyRuns,
) -> frozenset[Need]:
    """Return which inputs there will be."""
    there = _FROM_PREDICTIONS if models or _sources(predictions) else frozenset[Need]()
    there = there | {"runs"} if _given_sources(runs) else there
    there = there | {"answers"} if _sources(predictions) else there
    there = there | {"identical_pairs"} if identical_pairs else there
    return there | set(_JUDGED) if _given_sources(judge) else there


def _cues(
    data: Instances,
    tested: Instances,
    audit: Cues,
    names: Sequence[str],
    top: int,
    progress: Progress | None,
) -> tuple[SectionRun, CueSet | None]:
    """Return the section of the cue audit and the cues to probe, from one count; `tested` has the examples to probe.

    There are no cues where the audit failed.
    """
    with progress(audit.title) if progress else nullcontext():
        counts, encoded, families, weights = audit.counted(data)
        result = run_section(audit, data, run=lambda: audit.result(counts, encoded, families, weights))
        if result.result is None:
            return result, None
        table = result.result.tables["cues"]
        if tested is not data:
            encoded, families = audit.prepared(tested)
        return result, choose_cues(
            tested, audit, table, names=names, top=top, encoded=encoded, families=families
        )


def _sources(predictions: ManyPredictions) -> list[tuple[str | None, Any]]:
    """Return every source of predictions with the name of its model, if it has one."""
    if isinstance(predictions, Mapping):
        return list(predictions.items())
    several = predictions if isinstance(predictions, (list, tuple)) else [predictions]
    return [source if isinstance(source, tuple) else (None, source) for source in several]


def _read_as(models: Sequence[Predictions] | Sequence[TextAnswers]) -> list[str]:
    """Return how predictions were read, one sentence for all models that were read alike."""
    alike: dict[str, list[str]] = {}
    for model in models:
        if model.read_as:
            alike.setdefault(model.read_as, []).append(model.model)
    return [f"{listed(names)} read as {roles}." for roles, names in alike.items()]


def _about_examples(models: Sequence[Predictions], data: Instances) -> pl.DataFrame:
    """Return what every model answered and whether it was right, one row per test example."""
    examples = check_test(data)
    names = pl.Series(examples.answer_names, dtype=pl.String)
    table = pl.DataFrame({"example_id": examples.ids, "split": ["test"] * len(examples)})
    for model in models:
        codes = pl.Series(model.answers)
        answers = names.gather(pl.select(pl.when(codes >= 0).then(codes)).to_series())
        table = table.with_columns(
            answers.alias(f"prediction {model.model}"),
            pl.Series(f"right {model.model}", model.correct(examples)),
        )
        if model.probabilities is not None:
            gold = model.probabilities[range(len(examples)), examples.gold]
            table = table.with_columns(pl.Series(f"probability {model.model}", gold))
    return table
