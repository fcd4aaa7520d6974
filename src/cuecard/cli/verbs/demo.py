"""`cuecard demo`: see what CueCard does on a set whose cues are known."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.options.shared import OpenOption, QuietOption, SeedOption, VerboseOption, option, path

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from cuecard.card import Card
    from cuecard.data.demo import Demo
    from cuecard.data.demo.planted import CueKind


DEMO_EXAMPLES = """
Examples:

`cuecard demo`

`cuecard demo --task choice --out out/choice`

`cuecard demo --clean` (the same texts with nothing planted: the audit should find nothing)
"""


#: What a planted cue of a kind is called.
_NAMES: dict[CueKind, str] = {
    "word": "“{feature}”",
    "bigram": "“{feature}”",
    "negation": "negation",
    "length": "long texts",
    "pair_graph": "repeated hypotheses",
    "position": "position {feature}",
}
#: The two simulated models: how often each answers as a planted cue says, and how often it is right otherwise.
FOLLOWS = {"follower": 0.5, "fair": 0.0}
ACCURACY = 0.85
#: Cues of this many train instances are balanced.
BALANCED = 20


def demo(
    task: Annotated[
        Literal["pair", "choice"], option("--task", "TASK", "Task of the generated dataset: pair or choice.")
    ] = "pair",
    clean: Annotated[bool, option("--clean", "Plant no cues, as a control.")] = False,
    rows: Annotated[int, option("--rows", "N", "Number of examples to generate.", min=400)] = 6000,
    out: Annotated[
        Path, option("--out", "-o", "DIR", "Folder for data, card and report.", parser=path)
    ] = Path("cuecard-demo"),
    launch: OpenOption = False,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Generate a dataset with planted cues, audit it, probe two simulated models, debias it, and write one report.

    Prints what was planted beside what the three steps found; --verbose also prints the card and the three commands.
    """
    from cuecard.card import join_cards, staged_card
    from cuecard.card.files import CARD_FILES, REPORT_FILE
    from cuecard.cli.streams import progress, stage
    from cuecard.data.demo import demo_files
    from cuecard.limits import check_folder
    from cuecard.remedies.lexical_weights import TRADE_OFF
    from cuecard.report import render_html
    from cuecard.run import audit, debias, probe

    check_folder(out, [*CARD_FILES, "data/*"])
    with stage("Generating", silent=quiet):
        generated = _generate(task, rows, clean=clean, seed=seed)
        models = _models(generated, seed)
    train, test = out / "data" / "train.parquet", out / "data" / "test.parquet"
    both = [str(train), "--test", str(test)]
    files = [part for name in models for part in ("--predictions", f"{name}={out / 'data' / f'{name}.csv'}")]
    commands = [shlex.join(["cuecard", "audit", *both]), shlex.join(["cuecard", "probe", *both, *files])]
    data, shown = generated.instances, progress(silent=quiet)
    cards = [audit(data, progress=shown, command=commands[0])]
    cards.append(probe(data, dict(models), progress=shown, command=commands[1]))
    if not clean:
        weighted = out / "data" / "weighted.parquet"
        # The cues are in the hypotheses; choices are examined in any case.
        scope = {"scope": "hypothesis"} if task == "pair" else {}
        how = ["--features", "significant", "--min-count", str(BALANCED), "--trade-off"]
        how += [part for name, value in scope.items() for part in (f"--{name}", value)]
        commands.append(shlex.join(["cuecard", "debias", str(train), *how, "--out", str(weighted)]))
        remedy = debias(
            data,
            progress=shown,
            command=commands[2],
            features=("significant",),
            min_count=BALANCED,
            trade_off=TRADE_OFF,
            **scope,
        )
        cards.append(remedy.card)
    card = join_cards(cards, command="cuecard demo")
    data_files = demo_files(generated) | {f"{name}.csv": table.write_csv for name, table in models.items()}
    beside = {f"data/{name}": write for name, write in data_files.items()}
    with staged_card(card, out, render_html(card), beside=beside):
        report = out / REPORT_FILE
    if not quiet:
        from rich.console import Console

        console = Console()
        if verbose:
            from cuecard.report import render_terminal

            render_terminal(card, console, top=3)
        _compare(generated, card, console)
        if verbose:
            steps = "\n".join(f"  {command}" for command in commands)
            typer.echo(f"Step by step:\n{steps}")
        else:
            typer.echo("Step by step: cuecard demo --verbose")
        typer.echo(f"Data:   {out / 'data'}\nReport: {report}")
    if launch:
        typer.launch(str(report))


def _models(generated: Demo, seed: int) -> dict[str, pl.DataFrame]:
    """Return the predictions of the simulated models for test."""
    from cuecard.data.demo import demo_predictions

    predictions = {}
    for number, (name, follow) in enumerate(FOLLOWS.items()):
        if generated.clean and follow:
            continue
        table = demo_predictions(generated, follow, ACCURACY, seed=seed + number)
        predictions[name] = table.filter(table["split"].cast(str) == "test").drop("split")
    return predictions


def _compare(generated: Demo, card: Card, console: Console) -> None:
    """Print what was planted beside what the audit, the probe and the weights say about it."""
    from rich.text import Text

    from cuecard.report.terminal.card import headed
    from cuecard.wording import percent

    data = generated.instances
    if generated.clean:
        typer.echo("Nothing was planted: only the two texts together predict the label.")
        return
    follows, accuracy = percent(FOLLOWS["follower"]), percent(ACCURACY)
    intro = (
        f"{data.n_examples:,} generated examples with {len(generated.truth)} planted cues. The model “follower” "
        f"answers as a cue says on {follows} of the examples with one, “fair” never; otherwise both have an accuracy "
        f"of {accuracy}."
    )
    console.print(Text(intro))
    table = headed("Planted", "Found by the audit", "Used by a model", "Balanced", left=4)
    for cue in generated.truth:
        planted = f"{_NAMES[cue.kind].format(feature=cue.feature)}: {percent(cue.strength)} {cue.label}"
        if cue.kind == "pair_graph":
            table.add_row(Text(planted), Text(_graph_leak(card)), "", Text("needs debias --method neutral"))
            continue
        reported, feature = _audited(card, cue.family, cue.feature, cue.label)
        cells = [planted, reported]
        if feature:
            cells += [_relied(card, cue.family, feature), _weighted(card, cue.family, feature, cue.label)]
        table.add_row(*map(Text, cells))
    console.print(table)


def _audited(card: Card, family: str, feature: str, label: str) -> tuple[str, str]:
    """Return the sentence of the audit about a planted cue and the name of the feature that stands for it."""
    import polars as pl

    from cuecard.wording import percent

    candidates = card["cues"].table.filter((pl.col("family") == family) & (pl.col("label") == label))
    named = candidates.filter(pl.col("feature") == feature)
    rows = (named if named.height else candidates).filter("significant").head(1).to_dicts()
    if not rows:
        return "not found", ""
    return f"{rows[0]['feature']}, {percent(rows[0]['share'])} {label}", str(rows[0]["feature"])


def _relied(card: Card, family: str, feature: str) -> str:
    """Return what the probe says about every model and a cue."""
    import polars as pl

    words = {
        "relies": "relies on it",
        "signs": "signs of use",
        "avoids": "avoids it",
        "length": "no more than length explains",
        "none": "no sign of use",
        "unknown": "too few examples",
    }
    section = card["reliance"]
    if section.status != "done":
        return section.reason
    rows = section.table.filter((pl.col("family") == family) & (pl.col("feature") == feature))
    if rows.is_empty():
        return "not among the cues probed"
    verdicts = rows.select("model", "verdict").rows()
    return "; ".join(f"{model}: {words[verdict]}" for model, verdict in verdicts)


def _weighted(card: Card, family: str, feature: str, label: str) -> str:
    """Return the share of the label with a cue before and after the weights."""
    import polars as pl

    from cuecard.wording import percent

    if "balance" not in card.tables:
        return "not done"
    rows = card.tables["balance"].filter((pl.col("family") == family) & (pl.col("feature") == feature))
    if rows.is_empty():
        return "not balanced"
    before, after = rows.select(f"before_{label}", f"after_{label}").row(0)
    return f"{percent(before)} → {percent(after)} {label}"


def _graph_leak(card: Card) -> str:
    from cuecard.wording import percent

    section = card["pair_graph"]
    if section.status != "done":
        return section.reason
    leak = card.measure("pair_graph.leakage.accuracy")
    return f"pair-graph accuracy {percent(leak.value)} (chance {percent(leak.chance)})"


def _generate(task: Literal["pair", "choice"], rows: int, *, clean: bool, seed: int) -> Demo:
    from cuecard.data.demo import CHOICE_CUES, NLI_CUES, demo_choice, demo_nli

    if task == "pair":
        return demo_nli(rows, seed=seed, cues=None if clean else NLI_CUES)
    return demo_choice(rows, seed=seed, cues=None if clean else CHOICE_CUES)
