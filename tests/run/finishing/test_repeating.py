from __future__ import annotations

import pytest
from typer.main import get_command

from cuecard.analysis import Finding
from cuecard.card.card import Card, DatasetInfo, Provenance, Section
from cuecard.cli.main import app
from cuecard.report.first_screen import answers
from cuecard.run.next_commands import (
    FLAGS,
    FLAGS_OF_DATA,
    OPTIONS_OF_DATA,
    next_commands,
    repeating,
)


@pytest.mark.parametrize(
    ("typed", "again"),
    [
        (
            "cuecard audit a.csv --test b.csv --out x --json --features word --regex 'hedge=maybe|perhaps' -q",
            "cuecard explain nobody a.csv --test b.csv --regex 'hedge=maybe|perhaps'",
        ),
        (
            "cuecard audit --columns=label=gold a.csv --no-stop-words --min-count 9",
            "cuecard explain nobody --columns=label=gold a.csv --no-stop-words",
        ),
        ("cuecard demo", "cuecard demo"),
    ],
)
def test_the_command_of_a_cue_explains_it_with_the_same_data_and_tokens(typed, again):
    finding = Finding("cues", "high", "t", "x", cue="nobody")
    assert repeating(typed, finding) == again


def card_of(command: str, *findings: Finding) -> Card:
    return Card(
        dataset=DatasetInfo(name="d", task="pair", labels=["a", "b"], splits={}, fingerprint="x"),
        findings=list(findings),
        provenance=Provenance(command=command),
    )


def test_an_audit_leads_to_its_report_then_to_a_cue_and_a_probe():
    typed = "cuecard audit a.csv --test b.csv --columns label=gold --min-count 9 -v"
    assert next_commands(card_of(typed), written=False)[0][0] == f"{typed} --out report"
    cue = Finding(section="cues", severity="low", title="t", text="x", cue="no", command="cuecard explain no")
    steps = [command for command, _ in next_commands(card_of(typed, cue))]
    assert steps == [
        "cuecard explain no",
        "cuecard probe a.csv --test b.csv --columns label=gold --predictions FILE",
    ]


@pytest.mark.parametrize(
    ("typed", "following"),
    [
        (
            "cuecard probe a.csv --test b.csv --predictions p.csv --header none",
            "cuecard debias a.csv --header none --out weighted.parquet",
        ),
        (
            "cuecard probe a.csv --predictions p.csv --header none",
            "cuecard stress a.csv --header none --out stress",
        ),
        (
            "cuecard debias a.csv --columns label=gold --out w/b.parquet --weight-column u",
            "cuecard audit w/b.parquet --columns label=gold --weights u --out w/b",
        ),
        (
            "cuecard probe --surplus-ids a.csv --test b.csv --header none --predictions p.csv",
            "cuecard debias a.csv --header none --out weighted.parquet",
        ),
        (
            "cuecard debias a.csv --trade-off --columns label=gold --out w.parquet",
            "cuecard audit w.parquet --columns label=gold --weights weight --out w",
        ),
    ],
)
def test_a_probe_leads_to_weights_or_for_a_benchmark_to_hard_examples_and_weights_to_an_audit(
    typed, following
):
    assert [command for command, _ in next_commands(card_of(typed))] == [following]


@pytest.mark.parametrize("verb", ["audit", "probe", "debias", "ask", "plan", "train", "stress", "explain"])
def test_every_flag_of_a_verb_that_reads_data_is_read_without_a_value(verb):
    options = [o for o in get_command(app).commands[verb].params if o.param_type_name == "option"]
    flags = {name for o in options if o.is_flag for name in (*o.opts, *o.secondary_opts)} - {"--help"}
    assert flags
    assert flags <= FLAGS
    assert not FLAGS & {name for o in options if not o.is_flag for name in o.opts}


def test_options_of_the_data_exist():
    names = {name for o in get_command(app).commands["audit"].params for name in (*o.opts, *o.secondary_opts)}
    assert names >= OPTIONS_OF_DATA | FLAGS_OF_DATA


def test_no_command_follows_a_card_made_in_python():
    assert next_commands(card_of("")) == []


@pytest.mark.parametrize("verb", ["audit", "probe"])
@pytest.mark.parametrize("data", ["snli/test.csv", "dev.jsonl --holdout 0.5", "hf:snli:validation"])
def test_nobody_is_told_to_reweight_what_is_only_evaluated(verb, data):
    cue = Finding("cues", "high", "t", "x", cue="no", value=0.9, chance=0.5)
    card = card_of(f"cuecard {verb} {data} --columns label=gold --predictions p.csv", cue)
    card.sections["cues"] = Section(title="Cues", status="done")
    commands = [command for command, _ in next_commands(card)] + [row.command for row in answers(card)]
    assert not [command for command in commands if command.startswith("cuecard debias")]
    plain = data.partition(" ")[0]
    assert f"cuecard stress {plain} --columns label=gold --out stress" in commands
