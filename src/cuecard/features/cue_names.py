"""What cues are called in sentences, and which feature a user's name for a cue means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from cuecard.errors import CueCardError, UsageError
from cuecard.features.family import FAMILIES, Family, family_named
from cuecard.features.raw_text import Regexes
from cuecard.text import Encoded, tokenise
from cuecard.wording import listed

#: The lengths whose names are no phrase.
LENGTHS = {"longest": "the most tokens", "shortest": "the fewest tokens"}
#: Likewise of the format: a text is one "with" them.
FORMATS = {"ends with a full stop": "a final full stop", "starts in lower case": "a lower-case start"}
FORMATS |= {
    name: f"{'an' if name == 'ellipsis' else 'a'} {name}"
    for name in (
        "question mark", "exclamation mark", "comma", "semicolon or colon", "dash", "ellipsis", "digit",
        "word in capitals", "list", "heading", "link", "low written rating", "high written rating",
    )
}  # fmt: skip


def cue_name(family: str, feature: str, phrases: Mapping[str, str]) -> str:
    """Return what a cue is called in a sentence, by the phrases of the families.

    >>> cue_name("length", "longest", {"length": "{}"}), cue_name("word", "not", {"word": "“{}”"})
    ('the most tokens', '“not”')
    >>> cue_name("format", "ends with a full stop", {"format": "{}"})
    'a final full stop'
    """
    name = {"length": LENGTHS, "format": FORMATS}.get(family, {}).get(feature)
    return name or phrases[family].format(feature)


def spoken_cue(family: str, feature: str) -> str:
    """Return what a cue of a card is called; where its family is not installed, its name in quotes.

    >>> spoken_cue("bigram", "is not"), spoken_cue("sentiment", "negative"), spoken_cue("mine", "x")
    ('“is not”', 'negative words', '“x”')
    """
    if family == Regexes.name:
        return cue_name(family, feature, {family: Regexes.phrase})
    phrase = FAMILIES.get(family).phrase if family in FAMILIES.names() else "“{}”"
    return cue_name(family, feature, {family: phrase})


FAMILY_OF_LENGTH = {1: "word", 2: "bigram", 3: "trigram", 4: "4-gram"}
#: Names of a family's features that an error lists.
MAXIMUM_LISTED = 20
#: How findings begin, and how they quote words.
_TITLE = re.compile(r"^Cue (for|against) [^:]+: ")
_LENGTH = re.compile(r"(up to )?\d+( to \d+| or more)? tokens?")
_QUOTED = re.compile(r"[“\"'](.+)[”\"']")


def named_feature(
    cue: str, encoded: Encoded, families: Sequence[Family]
) -> tuple[Family, str, tuple[str, ...]]:
    """Return the family, one of these if possible, and the feature that a name means, and what else it can mean.

    A name without family means words where they occur in the data, and otherwise a feature of any family, by its
    name ("10 or more tokens") or by the phrase that findings use for it ("positive words"). Words in quotes are words.
    The other meanings are written `family:feature`.
    """
    spoken = _TITLE.sub("", cue.strip())
    if quoted := _QUOTED.fullmatch(spoken):
        family, feature = _words(quoted.group(1), encoded.tokeniser)
        return family, feature, ()
    if of_family := _of_family(spoken, families):
        return *of_family, ()
    features = _features_named(spoken, encoded, families)
    others = tuple(f"{family.name}:{name}" for family, name in features)
    if _sayable(spoken, encoded.tokeniser):
        family, feature = _words(spoken, encoded.tokeniser)
        if not others or family.presence(encoded).names.index_of(feature) is not None:
            _check_not_a_family(spoken, encoded, families)
            _check_not_a_length(spoken, family.presence(encoded).names.index_of(feature), encoded, families)
            return family, feature, others
    if not features:
        raise UsageError(f"{cue!r} is not a cue: type one to four words, or family:feature.")
    return *features[0], others[1:]


def _of_family(cue: str, families: Sequence[Family]) -> tuple[Family, str] | None:
    """Return what `family:feature` means; nothing where no family is named."""
    prefix, colon, rest = cue.partition(":")
    if not colon:
        return None
    if "=" in prefix or "=" in cue.rpartition(":")[0]:  # a place may have a colon, too
        place, _, feature = cue.rpartition(":")
        if place.partition("=")[0] in FAMILIES.names():
            return family_named(place), feature.strip()
    for family in families:
        if family.name == prefix:
            return family, rest.strip()
    if prefix in FAMILIES.names() or prefix in FAMILIES.broken:
        return FAMILIES.get(prefix)(), rest.strip()
    if prefix == Regexes.name:
        raise UsageError(f"{cue!r} needs its pattern: --regex {rest.strip() or 'NAME'}=PATTERN.")
    return None


def _sayable(cue: str, tokeniser: str) -> bool:
    return len(tokenise(pl.Series([cue]), tokeniser).words(0)) in FAMILY_OF_LENGTH


def _words(cue: str, tokeniser: str) -> tuple[Family, str]:
    """Return the family of one to four words and how they are written there."""
    tokens = tokenise(pl.Series([cue]), tokeniser).words(0)
    if len(tokens) not in FAMILY_OF_LENGTH:
        raise UsageError(f"{cue!r} is not a cue: type one to four words, or family:feature.")
    return FAMILIES.get(FAMILY_OF_LENGTH[len(tokens)])(), " ".join(tokens)


def _features_named(cue: str, encoded: Encoded, families: Sequence[Family]) -> list[tuple[Family, str]]:
    """Return the features, other than words and n-grams, with this name or whose phrase it is."""
    features = []
    for family in families:
        if family.name in FAMILY_OF_LENGTH.values():
            continue
        try:
            names = family.presence(encoded).names.to_list()
        except CueCardError:  # it cannot answer for this dataset
            continue
        features += [(family, name) for name in names if cue.casefold() in _names_of(family, name)]
    return features


def _names_of(family: Family, feature: str) -> set[str]:
    """Return what sentences call a feature, the rules of length included: "the longest answer"."""
    names = {
        feature,
        family.phrase.format(feature),
        cue_name(family.name, feature, {family.name: family.phrase}),
    }
    if family.name == "length" and feature in LENGTHS:
        names |= {
            f"{the}{feature} {noun}" for the in ("", "the ") for noun in ("answer", "choice", "response")
        }
    return {name.casefold() for name in names}


def _check_not_a_family(cue: str, encoded: Encoded, families: Sequence[Family]) -> None:
    """Raise an error that lists the features where a name is no word of the data, but a family."""
    family = next((one for one in families if one.name == cue), None)
    if family is None or FAMILIES.get("word")().presence(encoded).names.index_of(cue) is not None:
        return
    names = family.presence(encoded).names.to_list()
    shown = listed([repr(name) for name in names[:MAXIMUM_LISTED]])
    raise UsageError(f"{cue!r} is a family of features; type one of them as {cue}:FEATURE: {shown}.")


def _check_not_a_length(cue: str, column: int | None, encoded: Encoded, families: Sequence[Family]) -> None:
    """Raise an error that lists the lengths where a name is no words of the data, but a length of another dataset."""
    family = next((one for one in families if one.name == "length"), None)
    if column is not None or family is None or not _LENGTH.fullmatch(cue):
        return
    shown = listed([repr(name) for name in family.presence(encoded).names.to_list()])
    raise UsageError(f"No length is called {cue!r} in this dataset; its lengths are {shown}.")
