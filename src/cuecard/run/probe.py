"""Probe models with their predictions and put what they do with the cues on a card."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import polars as pl

from cuecard.analysis import Finding, Result, most_serious_first
from cuecard.audits import Cues
from cuecard.card.card import Card, FindingModel, Provenance, Section
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.features import count_cues
from cuecard.probes import (
    PROBES,
    CueSet,
    IdenticalPairTest,
    Predictions,
    Probe,
    PromptStudy,
    choose_cues,
    distinctly_named,
    read_predictions,
)
from cuecard.registry import unknown_name
from cuecard.run.audit import (
    Progress,
    answered,
    assemble,
    check_labels,
    describe,
    examples_table,
    versions,
)
from cuecard.run.settings import Settings, with_settings

#: What `probe` takes for predictions: read ones, sources to read, or sources by the name of their model.
ManyPredictions = Any

#: Probes that ask nothing about cues: a card of them alone does not list any.
_CUELESS = frozenset({"debiased_evaluation", "identical_pairs"})


def probe(
    data: Instances,
    predictions: ManyPredictions,
    *,
    cues: Sequence[str] = (),
    top: int = 20,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Card:
    """Return the card of one or several models: do they use the cues of the data they were trained for?

    Args:
        data: what `cuecard.load` returned, with a test split.
        predictions: `Predictions`, a file, a frame or a function (see `read_predictions`); a list of them; or
            a mapping from the names of models to them. None are needed where `identical_pairs` alone is asked.
        cues: cues to probe, such as "sleeping" or "length:longest"; the strongest of the data by default.
        top: how many of the strongest cues to probe.
        only: names of the probes to run; all by default. The cues are on the card if one of them is about cues.
        skip: names of probes to leave out.
        settings: parameters of single probes or of the cue audit, such as ``{"permutation_test": {"per_label": 20}}``.
        progress: called with each probe's title; returns a context manager the probe runs in.
        command: what the user typed, for the findings and the provenance.
        options: parameters of the probes and of the cue audit, such as ``scope="both"``.
    """
    check_labels(data)
    audit, probes = configured_probes(only, skip, options, settings)
    scored = [asked for asked in probes if isinstance(asked, IdenticalPairTest) and asked.identical_pairs]
    if (
        scored
        and not callable(predictions)
        and not isinstance(predictions, Predictions)
        and not len(predictions)
    ):
        return assemble(data, scored, progress=progress, command=command)
    if not only and not scored:
        probes = [asked for asked in probes if not isinstance(asked, IdenticalPairTest)]
    models = distinctly_named(_all_predictions(predictions, data))
    if not only and not any(model.prompt for model in models):
        probes = [asked for asked in probes if not isinstance(asked, PromptStudy)]
    sections: dict[str, Section] = {}
    tables: dict[str, pl.DataFrame] = {}
    findings: list[Finding] = []
    seconds: dict[str, float] = {}

    def keep(name: str, started: float, section: Section, result: Result | None) -> None:
        seconds[name] = round(time.perf_counter() - started, 3)
        sections[name] = section
        if result is not None:
            tables.update(result.tables)
            findings.extend(result.findings)

    started = time.perf_counter()
    with progress(audit.title) if progress else nullcontext():
        encoded, families = audit.prepared(data)
        counts = count_cues(encoded, families, minimum=audit.min_count)
        section, result = answered(audit, data, lambda: audit.result(counts, encoded, families))
        table = result.tables["cues"] if result is not None else pl.DataFrame()
        chosen = choose_cues(data, audit, table, names=cues, top=top, encoded=encoded, families=families)
    of_cues = (audit.name, started, section, result)
    for asked in probes:
        started = time.perf_counter()
        with progress(asked.title) if progress else nullcontext():
            run = _bound(asked, data, models, chosen)
            keep(asked.name, started, *answered(asked, data, run))
    if not only or not _CUELESS.issuperset(only):
        keep(*of_cues)
    tables["examples"] = examples_table(data, [_about_examples(models, chosen)])
    findings = most_serious_first(findings)
    card = Card(
        dataset=describe(data),
        findings=[FindingModel.of(finding, command) for finding in findings],
        sections=sections,
        provenance=Provenance(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            versions=versions(),
            seconds=seconds,
        ),
    )
    card.attach(tables)
    return card


def configured_probes(
    only: Sequence[str] | None,
    skip: Sequence[str],
    options: Mapping[str, Any],
    settings: Settings | None = None,
) -> tuple[Cues, list[Probe]]:
    """Return the cue audit and the probes to run with the options and settings that concern them."""
    for name in (*(only or ()), *skip):
        PROBES.get(name)
    kinds = [PROBES.get(n) for n in PROBES.names() if (not only or n in only) and n not in skip]
    accepted = {kind: {f.name for f in fields(kind)} for kind in (Cues, *PROBES)}
    known = set().union(*accepted.values())
    for name in options:
        if name not in known:
            raise unknown_name("option", name, sorted(known))
    audit = Cues(**{k: v for k, v in options.items() if k in accepted[Cues]})
    probes = [kind(**{k: v for k, v in options.items() if k in accepted[kind]}) for kind in kinds]
    named = {kind.name: kind for kind in (Cues, *PROBES)}
    found: list[Any] = with_settings([audit, *probes], settings, named)
    return found[0], found[1:]


def _all_predictions(given: ManyPredictions, data: Instances) -> list[Predictions]:
    if isinstance(given, Mapping):
        named = [(name, source) for name, source in given.items()]
    elif isinstance(given, (list, tuple)):
        named = [(None, source) for source in given]
    else:
        named = [(None, given)]
    models = []
    for name, source in named:
        if isinstance(source, Predictions):
            models.append(source)
        else:
            models += read_predictions(source, data, model=name)
    if not models:
        raise UsageError("There is nothing to probe: give the predictions of at least one model.")
    return models


def _bound(asked: Probe, data: Instances, models: Sequence[Predictions], cues: CueSet) -> Any:
    return lambda: asked.run(data, models, cues)


def _about_examples(models: Sequence[Predictions], cues: CueSet) -> pl.DataFrame:
    """Return what every model answered and whether it was right, one row per test example."""
    examples = cues.examples
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
