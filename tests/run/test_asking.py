from __future__ import annotations

from cuecard.run.predicting import default_answers


def test_answers_are_kept_in_the_folder_that_the_user_chose_for_what_can_be_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "mine"))
    assert default_answers() == tmp_path / "mine" / "answers.jsonl"
