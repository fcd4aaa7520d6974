from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cuecard.report.findings import highlight, isolated
from cuecard.wording import display_text


def marked(text: str, *words: str) -> list[str]:
    return [piece.text for piece in highlight(text, words) if piece.marked]


def test_whole_words_are_marked_in_any_case() -> None:
    assert marked("Nobody sees nobody's cat; concatenate.", "nobody", "cat") == ["Nobody", "nobody", "cat"]


def test_a_part_of_a_word_is_marked_only_if_no_whole_word_matches() -> None:
    assert marked("I don't know", "n't") == ["n't"]
    assert marked("他没有睡觉", "没有") == ["没有"]


def test_a_bigram_is_marked_across_punctuation() -> None:
    assert marked("Well, no; one came.", "no one") == ["no; one"]


def test_overlapping_matches_are_one_mark() -> None:
    assert marked("he is sleeping now", "is sleeping", "sleeping now") == ["is sleeping"]
    assert marked("哈哈哈", "哈哈") == ["哈哈"]


def test_characters_of_a_pattern_are_taken_literally() -> None:
    assert marked("what (.*) is", "(.*)") == ["(.*)"]


def test_a_long_text_is_cut_around_its_first_match() -> None:
    pieces = highlight("filler " * 500 + "needle " + "filler " * 500, ["needle"], limit=100)
    assert [p.text for p in pieces if p.marked] == ["needle"]
    assert pieces[0].text == "…"
    assert sum(len(p.text) for p in pieces) <= 102


def test_invisible_and_direction_characters_are_named() -> None:
    assert display_text("a\u202eb\x1b[31m\x00") == "a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+0000⟩"


def test_lone_surrogates_do_not_survive() -> None:
    assert display_text("a\ud800b") == "a?b"


@given(st.text(max_size=200), st.lists(st.text(max_size=8), max_size=3))
def test_the_pieces_always_make_up_the_text(text: str, words: list[str]) -> None:
    assert "".join(piece.text for piece in highlight(text, words, limit=10_000)) == display_text(text, 10_000)


def test_letters_are_not_marked_inside_a_longer_word() -> None:
    assert marked("They sit together at the tower", "to") == []


def test_a_cue_is_marked_with_either_apostrophe_and_with_or_without_joiners() -> None:
    assert marked("He doesn\u2019t go", "doesn't") == ["doesn\u2019t"]
    assert marked("او می\u200cخواهد", "میخواهد") == ["می\u200cخواهد"]


def test_joiners_and_combining_marks_are_shown() -> None:
    assert display_text("می\u200cخواهم हिन्दी") == "می\u200cخواهم हिन्दी"


def test_words_from_right_to_left_are_isolated_each_and_others_are_not() -> None:
    assert isolated("Cue: “שלום עולם”; “לא” 62 %", "<", ">") == "Cue: “<שלום עולם>”; “<לא>” 62 %"
    assert isolated("no sleep 睡觉") == "no sleep 睡觉"
    assert isolated("לא") == "\u2068לא\u2069"
