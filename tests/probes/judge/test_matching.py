"""Verdicts are about the row that the user means, and the card says what had no row, no verdict or no test."""

from __future__ import annotations

import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import CueCardError, InputError
from cuecard.probes import read_verdicts
from cuecard.report.sections import section_view
from cuecard.report.verdict import verdict

#: Texts whose alphabetical order is not that of a and b in every other row.
ROWS = pl.DataFrame(
    {
        "id": range(60),
        "response_a": [f"{'z' if i % 2 else 'a'} one {i}" for i in range(60)],
        "response_b": [f"m two words {i}" for i in range(60)],
        "score_a": [1000.0 + i for i in range(60)],
        "score_b": [2000.0 + i for i in range(60)],
        "human": ["a", "b", "b"] * 20,
    }
)


def chosen_rejected(n: int = 60, **columns: object) -> cc.Instances:
    frame = pl.DataFrame(
        {
            "prompt": [f"q {i}" for i in range(n)],
            "chosen": [f"{'z' if i % 2 else 'a'} good {i}" for i in range(n)],
            "rejected": [f"m bad {i}" for i in range(n)],
        }
    )
    return cc.load(frame.with_columns(**columns), name="prefs")


def rewards(card: cc.Card, response: str) -> list[tuple[str, float]]:
    table = card.tables["judge_rewards"].filter(pl.col("response") == response)
    return table.select("item", "score").rows()


def test_rewards_are_called_by_the_letters_of_the_users_file():
    card = cc.probe(judge={"reward": ROWS})
    assert rewards(card, "a") == [(str(i), 1000.0 + i) for i in range(60)]
    assert rewards(card, "b") == [(str(i), 2000.0 + i) for i in range(60)]
    words = card.tables["judge_rewards"].group_by("response").agg(pl.col("words").unique())
    assert dict(words.rows()) == {"a": [3.0], "b": [4.0]}
    assert card["judge"].summary["judges"]["reward"]["calibrated"]["score"] == pytest.approx(2 / 3)


def test_rewards_about_chosen_and_rejected_responses_are_called_that():
    scores = ROWS.select(pl.col("id") + 1, "score_a", "score_b")
    card = cc.probe(chosen_rejected(), judge={"reward": scores})
    assert rewards(card, "chosen") == [(str(i + 1), 1000.0 + i) for i in range(60)]
    named = ROWS.select(
        "id", chosen="response_a", rejected="response_b", score_chosen="score_a", score_rejected="score_b"
    )
    assert rewards(cc.probe(judge={"reward": named}), "rejected") == [(str(i), 2000.0 + i) for i in range(60)]


def test_texts_of_the_verdicts_in_another_order_than_the_dataset_keep_its_label():
    turned = pl.DataFrame(
        {
            "id": range(1, 61),
            "response_a": [f"m bad {i}" for i in range(60)],
            "response_b": [f"{'z' if i % 2 else 'a'} good {i}" for i in range(60)],
            "verdict": "b",
        }
    )
    table = read_verdicts("j", turned, chosen_rejected()).table
    assert (table["human"] == table["preferred"]).all()


def test_row_numbers_may_count_from_0_where_they_are_all_there():
    ids = {"id": range(60), "verdict": ["a", "b"] * 30}
    read = read_verdicts("j", pl.DataFrame(ids), chosen_rejected())
    assert read.table["prompt"].to_list() == [f"q {i}" for i in range(60)]
    assert read.table["item"].to_list() == [str(i) for i in range(60)]  # as the user wrote them
    [note] = read.notes
    assert "counted from 0: 0 verdicts have no row, and 0 of 60 rows have no verdict" in note
    in_order = read_verdicts("j", pl.DataFrame(ids).drop("id"), chosen_rejected())
    assert in_order.table["prompt"].to_list() == read.table["prompt"].to_list()
    assert "matched by order" in in_order.notes[0]
    with pytest.raises(InputError, match="40 verdicts for 60 rows of prefs; without ids"):
        read_verdicts("j", pl.DataFrame(ids).drop("id").head(40), chosen_rejected())


def test_verdicts_matched_by_row_number_say_so_on_the_card():
    verdicts = pl.DataFrame({"id": range(1, 41), "verdict": ["a", "b"] * 20})
    card = cc.probe(chosen_rejected(), judge={"j": verdicts})
    [note] = card.dataset.notes
    assert note == (
        "prefs has no ids, so the verdicts of j are matched by row number, counted from 1: 0 verdicts have no row, "
        "and 20 of 60 rows have no verdict."
    )
    named = chosen_rejected(id=pl.Series([f"e{i}" for i in range(60)]))
    by_id = read_verdicts("j", pl.DataFrame({"id": ["e3", "e5"], "verdict": ["a", "b"]}), named)
    assert by_id.notes == ()
    assert by_id.table["prompt"].to_list() == ["q 3", "q 5"]


def test_a_verdict_about_a_row_that_was_left_out_is_counted():
    battles = pl.DataFrame(
        {
            "response_a": [f"one {i}" for i in range(40)],
            "response_b": [f"two {i}" for i in range(40)],
            "winner": ["tie", "model_a", "model_b", "model_a"] * 10,
        }
    )
    data = cc.load(battles)
    assert sum(data.report.dropped.values()) == 10
    read = read_verdicts("j", pl.DataFrame({"id": range(40), "verdict": "a"}), data)
    assert read.table.height == 30
    assert "10 verdicts have no row, and 0 of 30 rows have no verdict" in read.notes[0]


@pytest.mark.parametrize(
    ("ids", "named", "message"),
    [
        (list(range(40)), False, r"j: 1 of 40 ids are not in prefs \(such as '0'; it has no ids, so ids are row"),
        (list(range(2, 63)), False, r"j: 2 of 61 ids are not in prefs \(such as '61', '62'; .* 1 to 60 or all of 0"),
        (["e1", "x1", "x2"], True, r"j: 2 of 3 ids are not in prefs \(such as 'x1', 'x2'; the dataset has 'e0', 'e1'"),
    ],
)  # fmt: skip
def test_an_id_of_no_row_is_an_error(ids, named, message):
    data = chosen_rejected(**({"id": pl.Series([f"e{i}" for i in range(60)])} if named else {}))
    with pytest.raises(InputError, match=message):
        read_verdicts("j", pl.DataFrame({"id": ids, "verdict": "a"}), data)


def test_verdicts_without_a_value_are_counted():
    verdicts = pl.DataFrame(
        {"id": range(240), "verdict": ["a", "b", None] * 80, "human": ["a", "b", "a"] * 80}
    )
    card = cc.probe(judge={"j": verdicts})
    assert card.dataset.notes == ["j: 80 of 240 verdicts (33\N{NO-BREAK SPACE}%) are missing."]
    part = card["judge"].summary["judges"]["j"]
    assert (part["verdicts"], part["missing"]) == (160, 80)
    assert card.tables["judges"]["missing"].to_list() == [80]


def test_a_headline_about_too_few_verdicts_says_that_nothing_was_tested():
    few = cc.probe(judge={"few": ROWS.head(2)})
    assert verdict(few).headline == (
        "Nothing could be tested about few: every test needs at least 20 comparisons, found 2."
    )
    assert section_view(few, "judge").lead == ["few: nothing could be tested."]
    bare = cc.probe(judge={"bare": pl.DataFrame({"id": range(50), "verdict": "a"})})
    assert verdict(bare).headline.startswith(
        "Nothing could be tested about bare: of 50 comparisons, fewer than 20"
    )


def test_a_wide_interval_of_agreement_is_not_agreement_by_chance():
    pairs = {"verdict": ["a", "a", "b", "b", "a"] * 5, "human": ["a", "b", "b", "a", "a"] * 5}
    card = cc.probe(judge={"j": pl.DataFrame({"id": range(25), **pairs})})
    kappa = card.measure("judge.j.kappa")
    assert kappa.low < 0 < 0.2 < kappa.high
    assert {finding.severity for finding in card.findings} == {"info"}
    finding = next(f for f in card.findings if f.id == "judge/j/agreement")
    assert "With so few verdicts it cannot be told" in finding.text
    many = cc.probe(
        judge={
            "j": pl.DataFrame(
                {"id": range(600), "verdict": ["a", "b"] * 300, "human": ["a", "a", "b", "b"] * 150}
            )
        }
    )
    assert [f.severity for f in many.findings if f.id == "judge/j/chance"] == ["high"]


def test_a_refused_verdict_names_its_row_and_verdicts_in_brackets_are_read():
    with pytest.raises(CueCardError, match=r"the value 'perhaps' in row 3 \(1 row"):
        read_verdicts("j", pl.DataFrame({"id": [1, 2, 3], "verdict": ["a", None, "perhaps"]}))
    read = read_verdicts(
        "j", pl.DataFrame({"id": range(4), "verdict": ["[[A]]", "[[B]]", "[[C]]", " [[a]] "]})
    )
    assert read.table["preferred"].to_list() == [1.0, 0.0, 0.5, 1.0]
    aliases = ["left", "right", "first", "second", "model_a", "Response B", "both bad", "draw"]
    named = read_verdicts("j", pl.DataFrame({"id": range(8), "verdict": aliases}))
    assert named.table["preferred"].to_list() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5]


def test_the_terminal_has_a_line_for_every_test(cuecard, tmp_path):
    rows = [
        {"id": i, "first": side, "verdict": "ab"[i % 2], "human": "ab"[i % 2]}
        for i in range(30)
        for side in "ab"
    ]
    pl.DataFrame(rows).write_ndjson(tmp_path / "j.jsonl")
    printed = [line.split() for line in cuecard("probe", "--judge", tmp_path / "j.jsonl").out.splitlines()]
    assert [
        "j",
        "position",
        "undecided",
        "100",
        "%",
        "(88.4",
        "%",
        "to",
        "100",
        "%)",
        "consistent",
    ] in printed
    assert ["j", "stability", "not", "tested"] in printed
    assert ["j", "own", "family", "not", "tested"] in printed
    assert ["j", "agreement", "fair", "κ", "1.00", "(1.00", "to", "1.00)"] in printed
