"""The accuracy, distribution and permutation tests of models."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.data import GROUPED_TASKS
from cuecard.features.cue_names import spoken_cue
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.wording import TRAINING_SET, display_text

MOST_CUE_CHARTS = 8
MOST_ROWS = 300


@SECTION_VIEWS.register("accuracy_test")
def accuracy_test(card: Card, section: Section) -> SectionView:
    """Return accuracy gaps per model and cue, and the weakness of every model."""
    table = card.tables["accuracy_test"]
    models = section.summary["models"]
    lead = [_accuracy(name, scores, section.summary["cues"]) for name, scores in models.items()]
    figures = [
        KeyFigure(
            f"{display_text(name, 40)} accuracy",
            wording.percent(scores["accuracy"]),
            f"95 % CI {wording.percent(scores['low'])} to {wording.percent(scores['high'])}",
        )
        for name, scores in models.items()
    ]

    def heatmap() -> Any:
        from cuecard.report.charts.probes.probes import gap_heatmap

        return gap_heatmap(table)

    def weakness() -> Any:
        from cuecard.report.charts.probes.probes import weakness_bars

        return weakness_bars(section)

    charts = []
    if table.height:
        charts = [
            ChartView(
                "Accuracy gap by cue",
                heatmap,
                alt="Map of the accuracy gap of each model for each cue; the table has the same numbers.",
                caption="Accuracy with the cue minus without, in points; ° marks a gap that is not significant.",
                name="gaps",
            ),
            ChartView(
                "Model weakness",
                weakness,
                alt="Bars of the sum of absolute accuracy gaps of each model, raw and corrected for noise.",
                caption="Grey: raw sum. Blue: corrected for noise. Line: 95 % CI.",
                name="weakness",
            ),
        ]
    notes = [
        f"{display_text(name, 60)}: {display_text(note, 300)}"
        for name, scores in models.items()
        for note in ([f"read as {scores['read_as']}."] if scores.get("read_as") else []) + scores["notes"]
    ]
    return SectionView(lead, figures, charts, [_gaps(table)] if table.height else [], notes)


def _accuracy(name: str, scores: dict[str, Any], cues: int) -> str:
    accuracy = (
        f"{display_text(name, 60)} has an accuracy of {wording.percent(scores['accuracy'])} on {scores['n']:,} test "
        "examples"
    )
    if "weakness" not in scores:
        return f"{accuracy}."
    corrected = scores["weakness_corrected"]
    # The estimate has no bias, so it is below zero where chance alone would give a larger sum.
    left = (
        f"{100 * corrected:z.1f} corrected for noise" if corrected > 0 else "no more than expected from noise"
    )
    return (
        f"{accuracy}. Its absolute accuracy gaps over {wording.plural(cues, 'cue')} sum to "
        f"{100 * scores['weakness']:z.1f} points, {left} (95 % CI of the true sum "
        f"{100 * scores['weakness_low']:z.1f} to {100 * scores['weakness_high']:z.1f})."
    )


def several(table: pl.DataFrame) -> bool:
    """Return whether a table is about more than one model, so that its rows must name theirs."""
    return table["model"].n_unique() > 1


def _gaps(table: pl.DataFrame) -> TableView:
    columns = {
        "feature": Column("Cue"),
        "model": Column("Model", brief=several(table)),
        "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        "gap_low": Column("CI low", "points", "lower end of the 95 % CI"),
        "gap_high": Column("CI high", "points", "upper end of the 95 % CI"),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
        "accuracy_with": Column("Acc. with", "percent"),
        "accuracy_without": Column("Acc. without", "percent"),
        "with_cue": Column("With cue", "count", "test examples with the cue"),
        "label": Column("Usual label", "label"),
    }
    shown = table.sort(~pl.col("significant"), -pl.col("gap").abs(), nulls_last=True, maintain_order=True)
    return TableView.of(
        "Accuracy with and without each cue",
        "accuracy_test",
        shown,
        columns,
        most=MOST_ROWS,
        total=table.height,
        searchable=True,
    )


@SECTION_VIEWS.register("distribution_test")
def distribution_test(card: Card, section: Section) -> SectionView:
    """Return what each model predicts on flattened examples, one chart per cue."""
    tests, shares = card.tables["distribution_test"], card.tables["distribution_shares"]
    by_choice = card.dataset.task in GROUPED_TASKS
    source = section.summary.get("source", TRAINING_SET)
    lead = [
        _leaning(display_text(name, 60), counts, by_choice=by_choice, source=source)
        for name, counts in section.summary["models"].items()
    ]
    tested = tests.drop_nulls("log10_p").unique(["family", "feature"], keep="first", maintain_order=True)
    charts = [
        _cue_chart(card, shares, family, feature, source)
        for family, feature in tested.select("family", "feature").head(MOST_CUE_CHARTS).rows()
    ]
    notes = []
    if section.summary["untested"]:
        names = [display_text(name, 40) for name in section.summary["untested"]]
        notes.append(
            f"Not tested, because they occur in fewer than {section.summary['min_per_label']} test examples of a "
            f"label: {', '.join(names)}."
        )
    return SectionView(lead, (), charts, [_leans(tests, by_choice=by_choice, source=source)], notes)


def _leaning(name: str, counts: dict[str, Any], *, by_choice: bool, source: str) -> str:
    """Return for how many cues a model leans to the usual label; the choices of an example are compared in it."""
    cues = f"{counts['towards_usual']} of {wording.plural(counts['tested'], 'cue')}"
    if by_choice:
        return (
            "The test examples are reweighted so that choices with a cue are correct at chance. On them, "
            f"{name} follows {source} for {cues} and does the opposite for {counts['away_from_usual']}."
        )
    return (
        f"On test examples with balanced labels, {name} prefers the usual label for {cues}"
        + (f" (for {counts['with_cue_only']} more than without the cue)" if counts["towards_usual"] else "")
        + f" and avoids it for {counts['away_from_usual']}."
    )


def _cue_chart(card: Card, shares: pl.DataFrame, family: str, feature: str, source: str) -> ChartView:
    def draw() -> Any:
        from cuecard.report.charts.probes.probes import predicted_labels

        return predicted_labels(shares, card.dataset.labels, family, feature, source.removeprefix("the "))

    return ChartView(
        display_text(spoken_cue(family, feature), 60),
        draw,
        alt=f"Stacked bars of label shares for {display_text(feature, 40)}: {source}, balanced, and each model.",
        caption=f"Labels with the cue in {source}, in the balanced test sample, and as predicted on it.",
        wide=False,
    )


def in_source(source: str) -> str:
    """Return the head of a column about where cues come from."""
    return "In train" if source == TRAINING_SET else "Cue half"


def _leans(tests: pl.DataFrame, *, by_choice: bool, source: str) -> TableView:
    columns = {
        "feature": Column("Cue"),
        "model": Column("Model", brief=several(tests)),
        "label": Column("Usual label", "label"),
        "usual_share": Column("Share", "percent", "share of the usual label among the predictions"),
        "flat": Column("Chance", "percent", "share expected from an unbiased model"),
        "usual_share_without": Column("No cue", "percent", "the same share without the cue"),
        "train_share": Column(in_source(source), "percent", f"share of the usual label in {source}"),
        "q_value": Column("q", "probability", "adjusted p-value: predictions differ from balanced"),
        "contrast_q": Column(
            "q, no cue", "probability", "adjusted p-value: predictions differ from those without the cue"
        ),
        "n": Column("Examples", "count", "test examples with the cue", brief=False),
        "per_label": Column("Per label", "count", "examples per label in a balanced sample", brief=False),
        "usual_low": Column(
            "CI low", "percent", "lower end of the 95 % CI of the predicted share", brief=False
        ),
        "usual_high": Column(
            "CI high", "percent", "upper end of the 95 % CI of the predicted share", brief=False
        ),
        "amplification": Column(
            "Bits", "decimal", "divergence of the predictions from balanced labels", brief=False
        ),
        "amplification_low": Column("CI low", "decimal", "lower end of the 95 % CI of the bits", brief=False),
        "amplification_high": Column(
            "CI high", "decimal", "upper end of the 95 % CI of the bits", brief=False
        ),
        "amplification_null": Column(
            "Bits, chance",
            "decimal",
            "95th percentile of the bits of an unbiased model",
            brief=False,
        ),
    }
    if by_choice:  # what the choices without the cue get is what is left, so it says nothing more
        del columns["usual_share_without"], columns["contrast_q"]
    tests = tests.sort(
        ~(pl.col("towards_usual") & pl.col("with_cue_only")),
        -pl.col("lean"),
        nulls_last=True,
        maintain_order=True,
    )
    return TableView.of(
        "Predictions on balanced examples",
        "distribution_test",
        tests,
        columns,
        most=MOST_ROWS,
        searchable=True,
    )


@SECTION_VIEWS.register("permutation_test")
def permutation_test(card: Card, section: Section) -> SectionView:
    """Return each model's accuracy on usual and unusual examples with its exact p-value."""
    summary = section.summary
    lead = [
        f"{display_text(name, 60)} has an accuracy of {wording.percent(test['usual_accuracy'])} on {test['usual']:,} "
        f"test examples that contain a strong word with its usual label, and "
        f"{wording.percent(test['unusual_accuracy'])} on {test['unusual']:,} that contain one with another label: a "
        f"difference of {wording.points(test['difference'])} points (95 % CI {wording.points(test['low'])} to "
        f"{wording.points(test['high'])}; p = {wording.probability(None, test['log10_p'])}, {_other_p(test)})."
        for name, test in summary["models"].items()
    ]

    def bars() -> Any:
        from cuecard.report.charts.probes.probes import usual_and_unusual

        return usual_and_unusual(section)

    def dots() -> Any:
        from cuecard.report.charts.probes.probes import p_values

        return p_values(section)

    charts = [
        ChartView(
            "Usual and other labels",
            bars,
            alt="Bars of each model's accuracy if words have their usual label and if they have another.",
            caption=f"{summary['words_in_test']} of {summary['words']} words occur in the test set; "
            f"{summary['both_sets']:,} examples are in both groups.",
            wide=False,
            name="usual",
        ),
        ChartView(
            "p-values",
            dots,
            alt="Points of each model's p-value on a logarithmic scale, over all examples and within labels.",
            caption="Further right is stronger evidence; the dashed line is 0.05.",
            wide=False,
            name="p_values",
        ),
    ]
    notes = [display_text(note, 400) for note in summary.get("notes", ())]
    return SectionView(lead, (), charts, [_words(card.tables["permutation_words"])], notes)


def _other_p(test: dict[str, Any]) -> str:
    """Return the p-value of the other shuffle: within each correct answer, or over all examples."""
    if "log10_p_stratified" in test:
        return f"stratified by correct answer {wording.probability(None, test['log10_p_stratified'])}"
    return f"stratified by correct answer; not stratified {wording.probability(None, test['log10_p_unstratified'])}"


def _words(table: pl.DataFrame) -> TableView:
    columns = {
        "feature": Column("Word"),
        "model": Column("Model", brief=several(table)),
        "label": Column("Usual label", "label"),
        "usual_accuracy": Column("Acc. usual", "percent", "accuracy if the word has its usual label"),
        "unusual_accuracy": Column("Acc. other", "percent", "accuracy if it has another label"),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
        "usual": Column("Usual", "count", "test examples with the word and its usual label"),
        "unusual": Column("Other", "count", "test examples with the word and another label"),
        "z": Column("z", "decimal", "in the training set", brief=False),
    }
    ordered = table.sort("log10_p", nulls_last=True, maintain_order=True)
    return TableView.of(
        "Word by word",
        "permutation_words",
        ordered,
        columns,
        most=MOST_ROWS,
        total=table.height,
        searchable=True,
    )
