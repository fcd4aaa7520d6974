"""A finished training run in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.report.terminal.correction import gap_table
from cuecard.wording import display_text, plural

#: Answers shown; all have their place in `metrics.json`.
MOST_LABELS = 10


def render_training(metrics: Mapping[str, Any], console: Console) -> None:
    """Print what was trained and how good it is on every split."""
    reads = {"full": "the full input"}.get(metrics["condition"], f"the {metrics['condition']} only")
    console.print(
        Text(
            f"{metrics['model']} trained on {metrics['train_examples']:,} examples of "
            f"{display_text(metrics['data']['name'], 60)}, with {reads}",
            style="bold",
        )
    )
    summary = f"{metrics['seconds']['training']:.1f} s of training"
    if metrics["weights"] is not None:
        kept = wording.percent(metrics["weights"]["effective_share"])
        summary += f", weighted (effective sample size {kept} of the examples)"
    if metrics.get("debias"):
        how = metrics["debias"]
        summary += f", debiased by {how['method']} (expert {how['expert']}, strength {how['strength']:g})"
    console.print(Text(summary, style="dim"))
    for sentence in (best_epoch_note(metrics), chosen_rate(metrics)):
        if sentence:
            console.print(Text(sentence, style="dim"))
    console.print(_splits(metrics["splits"]))
    split, part = list(metrics["splits"].items())[-1]
    if metrics["data"].get("task") != "preference":  # there the right answer is always the chosen one
        console.print(_answers(split, part))
    if sentence := one_answer(split, part):
        console.print(Text(sentence))
    if metrics.get("gap"):
        console.print(Text("Accuracy of test examples whose cues have their usual label, and of others"))
        console.print(gap_table({"test": metrics["gap"]}))


def best_epoch_note(metrics: Mapping[str, Any]) -> str:
    """Return after which epoch the model was best, and whether more of them may help; empty if not recorded."""
    epochs = metrics.get("epochs") or []
    judged = [epoch for epoch in epochs if epoch["validation_accuracy"] is not None]
    if not judged:
        return f"{plural(len(epochs), 'epoch')}, no validation split for early stopping." if epochs else ""
    # The order in which the models themselves choose the weights they keep.
    best = max(judged, key=lambda epoch: (epoch["validation_accuracy"], -epoch["validation_loss"]))
    where = "the dev split" if "dev" in metrics["splits"] else "the validation split"
    right = wording.percent(best["validation_accuracy"])
    if best["number"] == epochs[-1]["number"]:
        sentence = f"Best on {where} after the last of {plural(len(epochs), 'epoch')} (accuracy {right})"
        return (
            f"{sentence}." if best["validation_accuracy"] == 1 else f"{sentence}: more may help (--epochs)."
        )
    return f"Best on {where} after epoch {best['number']} of {len(epochs)} (accuracy {right}); this model is kept."


def chosen_rate(metrics: Mapping[str, Any]) -> str:
    """Return which learning rate was chosen where none was given, otherwise nothing."""
    epochs = metrics.get("epochs") or []
    if metrics.get("parameters", {}).get("learning_rate") != 0 or not epochs:
        return ""
    return (
        f"Learning rate {epochs[0]['learning_rate']:g}, the best of those tried (--learning-rate to set it)."
    )


def one_answer(split: str, part: Mapping[str, Any]) -> str:
    """Return that a model gives all examples the same answer, if it does."""
    predicted = [name for name, line in part["labels"].items() if line["predicted"]]
    if len(predicted) != 1 or sum(line["examples"] > 0 for line in part["labels"].values()) < 2:
        return ""
    return (
        f"The model predicts {display_text(predicted[0], 30)} for every {split} example: "
        "it has not learned to distinguish the labels."
    )


def _splits(splits: Mapping[str, Mapping[str, Any]]) -> Table:
    table = _headed("Split", "Examples", "Accuracy", "95 % CI", "Chance", "Log loss", "Calib. error")
    for name, part in splits.items():
        table.add_row(
            name,
            wording.count(part["examples"]),
            wording.percent(part["accuracy"]),
            _range(part["low"], part["high"]),
            wording.percent(part["chance"]),
            f"{part['log_loss']:.3f}",
            f"{part['calibration_error']:.3f}",
        )
    return table


def _answers(split: str, part: Mapping[str, Any]) -> Table:
    table = _headed(f"Label ({split})", "Examples", "Recall", "95 % CI", "Predicted", "Precision")
    for name, line in list(part["labels"].items())[:MOST_LABELS]:
        table.add_row(
            Text(display_text(name, 30)),
            wording.count(line["examples"]),
            wording.percent(line["recall"]),
            _range(line["recall_low"], line["recall_high"]),
            wording.count(line["predicted"]),
            wording.percent(line["precision"]),
        )
    return table


def _headed(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _range(low: float | None, high: float | None) -> str:
    return wording.MISSING if low is None or high is None else f"{100 * low:.1f} – {100 * high:.1f}"
