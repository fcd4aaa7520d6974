"""What verbs print that make no card: training, correction, plan, stress sets and presets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.analysis import Measure, Row, Summary
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Preset
from cuecard.remedies.correction import cost_sentence
from cuecard.remedies.plan.unseen import Left
from cuecard.remedies.stress_sets import StressSet
from cuecard.report.terminal.card import headed
from cuecard.run.applying import Goal, Plan
from cuecard.stats import format_p
from cuecard.wording import display_text, listed, plural


def render_correction(metrics: Row, console: Console) -> None:
    """Print both sets of predictions beside each other, and the cost in a sentence."""
    title = f"{display_text(metrics['model'], 60)} corrected for {plural(metrics['cues'], 'cue')}"
    console.print(Text(f"{title}, method {metrics['method']}", style="bold"))
    console.print(Text(tuning_note(metrics), style="dim"))
    console.print(gap_table({name: metrics[name] for name in ("before", "after")}))
    console.print(Text(cost_sentence(metrics)))


def gap_table(rows: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the accuracy of predictions, over all and by whether cues have their usual label, and the gap between."""
    table = headed(
        "", "accuracy (95 % CI)", "usual label", "unusual label", "gap (95 % CI)", "p", "p within labels", "paper's p"
    )  # fmt: skip
    for name, row in rows.items():
        table.add_row(
            name,
            f"{wording.percent(row['accuracy'])} ({100 * row['low']:.1f} to {100 * row['high']:.1f})",
            *(wording.percent(row[key]) for key in ("usual_accuracy", "unusual_accuracy")),
            f"{100 * row['gap']:+z.1f} ({100 * row['gap_low']:+z.1f} to {100 * row['gap_high']:+z.1f})",
            *(format_p(min(0.0, row[key])) for key in ("log10_p", "log10_p_within_label", "log10_p_exact")),
        )
    return table


def tuning_note(metrics: Row) -> str:
    """Return the strength, what it was chosen on, and whether the aim was reached there."""
    strengths = [" and ".join(f"{value:g}" for value in one) for one in metrics["strengths"]]
    kind = " over all examples and within labels" if len(metrics["strengths"][0]) == 2 else ""
    if metrics["tuned_on"] == "given":
        return f"Strength {strengths[0]}, as set."
    where = {
        "dev": "the dev split",
        "test": "the other folds of the test split",
        "file": "the other folds of the file, which the cues come from",
    }[metrics["tuned_on"]]
    reached = (
        ""
        if metrics["closed_where_tuned"] or metrics["aim"] != "gap"
        else "; no strength closes the gap there"
    )
    each = dict.fromkeys(strengths)
    named = (
        f"Strengths of the folds{kind}: {'; '.join(each)}"
        if len(each) > 1
        else f"Strength{kind} {strengths[0]}"
    )
    return f"{named}, tuned for the aim {metrics['aim']} on {where}{reached}."


#: Answers shown; all have their place in `metrics.json`.
MOST_LABELS = 10


def render_training(metrics: Summary, console: Console) -> None:
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


def best_epoch_note(metrics: Summary) -> str:
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


def chosen_rate(metrics: Summary) -> str:
    """Return which learning rate was chosen where none was given, otherwise nothing."""
    epochs = metrics.get("epochs") or []
    if metrics.get("parameters", {}).get("learning_rate") != 0 or not epochs:
        return ""
    return (
        f"Learning rate {epochs[0]['learning_rate']:g}, the best of those tried (--learning-rate to set it)."
    )


def one_answer(split: str, part: Summary) -> str:
    """Return that a model gives all examples the same answer, if it does."""
    predicted = [name for name, line in part["labels"].items() if line["predicted"]]
    if len(predicted) != 1 or sum(line["examples"] > 0 for line in part["labels"].values()) < 2:
        return ""
    return (
        f"The model predicts {display_text(predicted[0], 30)} for every {split} example: "
        "it has not learned to distinguish the labels."
    )


def _splits(splits: Mapping[str, Summary]) -> Table:
    table = headed("Split", "Examples", "Accuracy", "95 % CI", "Chance", "Log loss", "Calib. error")
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


def _answers(split: str, part: Summary) -> Table:
    table = headed(f"Label ({split})", "Examples", "Recall", "95 % CI", "Predicted", "Precision")
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


def _range(low: float | None, high: float | None) -> str:
    return wording.MISSING if low is None or high is None else f"{100 * low:.1f} – {100 * high:.1f}"


def render_plan(plan: Plan, console: Console) -> None:
    """Print a plan."""
    if not plan.goals:
        if plan.undecided:
            console.print(Text(f"Nothing to change: every value meets its goal. {_undecided(plan)}"))
        else:
            console.print(Text("Nothing to change: the data meets every goal.", style="bold green"))
        return
    share = wording.percent(plan.changed / plan.examples)
    what = f"{plan.kind} {wording.count(plan.changed)} of {wording.plural(plan.examples, 'example')}"
    what += f" ({share}{_by_split(plan)})"
    how = "" if plan.kind == "permute" or plan.labelled else f", chosen by {plan.method}"
    if plan.labelled:
        how = " so that the same text has the label in the column new_label"
    console.print(Text(f"{_verdict(plan)}: {what}{how}.", style="bold"))
    if plan.left is not None:
        rewritable = plan.data is None or plan.data.task != "text"
        console.print(Text(_left(plan.left, plan.kind, labelled=plan.labelled, rewritable=rewritable)))
    selected = any(goal.selected is not None for goal in plan.goals)
    heads = [
        "",
        "Limit",
        "Before",
        "Predicted",
        "Verified",
        *(["On selected data"] if selected else []),
        "Check",
    ]
    table = headed(*heads)
    for goal in plan.goals:
        table.add_row(*_row(goal, selected))
    console.print(table)
    notes = ["Predicted: the same answers without these examples. Check: the verdict of `cuecard check`."]
    if selected:
        notes.append(
            "Verified: a fresh learner on examples that the plan never saw (outer folds). On selected data: an "
            "audit of what the plan itself selected, which overstates the effect."
        )
    else:
        notes.append("Verified: an audit of the changed data.")
    if plan.kind != "permute":
        kept = wording.plural(plan.protected, "example")
        notes.insert(0, f"{kept} that contradict a strong cue are kept: they are what breaks the shortcut.")
    if not plan.reached and plan.budget is not None and plan.changed < plan.budget:
        notes.append(
            f"Further changes within the budget of {wording.count(plan.budget)} came no nearer to the goal."
        )
    if plan.labelled:
        notes.append(
            "The new premises or questions do not exist yet: verified by the same texts with their new labels."
        )
    elif plan.kind == "rewrite":
        notes.append("The texts to rewrite do not exist yet: verified without these examples.")
    if plan.suspects:
        suspects = wording.plural(plan.suspects, "example")
        notes.append(f"{suspects} with identical input and different labels are listed to be decided.")
    if plan.undecided:
        notes.append(_undecided(plan))
    for note in notes:
        console.print(Text(note, style="dim"))
    if plan.counterexamples is not None and plan.counterexamples.height:
        console.print(Text("\nCounterexamples that the cues need", style="bold"))
        console.print(_counterexamples(plan.counterexamples))
        console.print(Text(_NEEDED, style="dim"))


_NEEDED = (
    "A counterexample has the cue and another label (of a cue that rules a label out: this label). Rewrite as many of "
    "the examples, or collect as many new ones, and an audit of as much new data finds the cue in at most one case of "
    "five. One example counts for all of its cues."
)


def _counterexamples(cues: pl.DataFrame) -> Table:
    table = headed("Cue", "Label", "Examples", "Share", "Chance", "Rewrite", "or collect")
    for row in cues.iter_rows(named=True):
        name = row["feature"] if row["family"] == "word" else f"{row['family']}: {row['feature']}"
        table.add_row(
            display_text(name, 40),
            display_text(row["label"] if row["direction"] == POINTS_TO else f"not {row['label']}", 40),
            *(wording.count(row["examples"]), wording.percent(row["share"]), wording.percent(row["chance"])),
            *(wording.count(row["rewrite"]), wording.count(row["collect"])),
        )
    return table


def _undecided(plan: Plan) -> str:
    names = listed(list(plan.undecided))
    return f"UNDECIDED by `cuecard check`, because the interval crosses the limit: {names}. More examples settle it."


def _verdict(plan: Plan) -> str:
    """Return what a plan does, as far as it is verified: never more than `check` says of the goals."""
    if not plan.helps:
        return "The plan does not help"
    return {
        "pass": "The plan reaches its goal",
        "undecided": "It is undecided whether the plan reaches its goal",
        "fail": "The plan does not reach its goal",
    }[plan.verdict]


def _left(left: Left, kind: str, *, labelled: bool, rewritable: bool) -> str:
    """Return what is left for a fresh learner in one sentence or two."""
    after = left.after
    interval = ""
    if after.low is not None and after.high is not None:
        interval = f" (95 % CI {wording.interval_in_unit(after.low, after.high, after.unit)})"
    text = (
        f"On examples that the plan never saw, the {after.label or after.name} of a fresh learner is "
        f"{wording.in_unit(after.value, after.unit)}{interval}, and {wording.in_unit(left.before.value, after.unit)} "
        "without the plan"
    )
    if left.before.chance is not None:
        text += f" (chance {wording.in_unit(left.before.chance, after.unit)})"
    if left.helps:
        return f"{text}."
    if labelled:
        return f"{text}: rewriting these examples does not lower it significantly. Rewrite more of them."
    verb = {"re-pair": "re-pairing"}.get(kind, "dropping")
    how = " (--change rewrite)" if rewritable else ""
    return f"{text}: {verb} these examples does not lower it significantly. Collect or rewrite examples instead{how}."


def _by_split(plan: Plan) -> str:
    """Return how many of the changed examples are in which split, where several splits change."""
    changed = plan.worksheet.filter(pl.col("action") == plan.kind)["split"].value_counts(sort=True)
    if changed.height < 2:
        return ""
    return "; " + ", ".join(f"{wording.count(n)} {name}" for name, n in changed.iter_rows())


def _row(goal: Goal, selected: bool) -> list[str]:
    unit = goal.before.unit
    return [
        display_text(goal.before.label or goal.before.name, 60),
        " and ".join(map(str, goal.rule.limits)),
        wording.in_unit(goal.before.value, unit),
        wording.in_unit(goal.predicted, unit),
        _with_interval(goal.verified),
        *([wording.MISSING if goal.selected is None else _with_interval(goal.selected)] if selected else []),
        goal.verdict.upper(),
    ]


def _with_interval(measure: Measure) -> str:
    value = wording.in_unit(measure.value, measure.unit)
    if measure.low is None or measure.high is None or measure.unit == "count":
        return value
    return f"{value} ({wording.interval_in_unit(measure.low, measure.high, measure.unit)})"


def stress_lines(parts: StressSet) -> Iterator[str]:
    """Yield how many examples are hard, the labels of both parts, and what the division rests on."""
    splits = parts.examples["split"].unique(maintain_order=True).to_list()
    several = len(splits) > 1
    for split in splits:
        here = parts.examples.filter(split=split)
        hard = here.filter(part="hard").height
        none = "" if hard else " No file of hard examples is written."
        none = none if hard < here.height else " None is easy, so no file of easy examples is written."
        yield f"{f'{split}: ' if several else ''}{hard:,} of {here.height:,} examples are hard.{none}"
    for split, part, answer, count, share in parts.balance.rows():
        yield f"{f'{split:5}  ' if several else ''}{part:4}  {answer:20}  {count:>8,}  {100 * share:5.1f} %"
    solvers = listed([name.replace("_", "-") for name in parts.solvers])
    yield (
        f"An example is easy if partial input ({solvers}) predicts its answer with a confidence at which it is usually "
        "correct; the others are hard. Report the hard examples together with the whole test set."
    )


def preset_list(presets: Sequence[Preset]) -> RenderableType:
    """Return a table of presets with the task and the papers of each."""
    table = headed("Preset", "Task", "What it is", "Studied in", left=4)
    for preset in presets:
        table.add_row(preset.name, preset.task, preset.description, ", ".join(preset.papers))
    hint = Text(
        "Use one with `cuecard audit preset:NAME@PATH`, see it in full with `cuecard tools datasets NAME`."
    )
    return Group(table, hint)


def preset_detail(preset: Preset) -> RenderableType:
    """Return everything a preset knows, with the commands that use it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    rows = {
        "Task": preset.task,
        "What it is": preset.description,
        "Columns": ", ".join(f"{role}={'+'.join(names)}" for role, names in preset.columns.items()),
        "Labels": preset.condition or ", ".join(f"{value}={name}" for value, name in preset.labels.items()),
        "Studied in": ", ".join(preset.papers),
        "Licence": preset.licence,
        "On the Hub": f"{preset.hf}{'/' + preset.config if preset.config else ''}" if preset.hf else "",
        "From": preset.url or "",
    }
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style="bold"), Text(value))
    commands = [f"cuecard audit preset:{preset.name}@FILE_OR_FOLDER"]
    if preset.hf:
        commands.append(
            f"cuecard audit preset:{preset.name}    (from the Hub; needs pip install 'cuecard[hf]')"
        )
    return Group(Text(preset.title, style="bold"), table, Text(), *(Text(command) for command in commands))
