from __future__ import annotations

import pytest

from cuecard.features.family import spoken_cue


@pytest.mark.parametrize(
    ("family", "feature", "name"),
    [
        ("word", "not", "“not”"),
        ("4-gram", "is not at all", "“is not at all”"),
        ("length", "longest", "the most tokens"),
        ("length", "10 or more tokens", "10 or more tokens"),
        ("overlap", "only words of the premise", "only words of the premise"),
        ("regex", "hedge", "a match of hedge"),
        ("of a plug-in that is not installed", "x", "“x”"),
    ],
)
def test_only_words_stand_in_quotes(family, feature, name):
    assert spoken_cue(family, feature) == name
