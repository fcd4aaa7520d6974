"""What a feature family is: named binary features of a whole encoded dataset; and how its cues are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.errors import CueCardError, UsageError
from cuecard.registry import Registry, lacking
from cuecard.stats.arrays import chunks
from cuecard.text import Encoded, tokenise
from cuecard.wording import listed


@dataclass(frozen=True, eq=False)
class FeatureCounts:
    """How many instances of every class have each feature: row f of `counts` is about feature f.

    `names` returns the names of the features of given numbers, so that only those that matter are written out. `ids`
    and `offsets` are the features of every instance in compressed rows, where the family has them at hand: those of
    instance i are `ids[offsets[i]:offsets[i + 1]]`, and one may occur there twice. `at_least` is the number of training
    instances below which features were left out to save memory, 0 where none were.
    """

    names: Callable[[npt.NDArray[np.int64]], pl.Series]
    counts: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32] | None = None
    offsets: npt.NDArray[np.int64] | None = None
    at_least: int = 0


@dataclass(frozen=True, eq=False)
class Presence:
    """Which instances have which features: a binary matrix in compressed rows, no feature twice in a row.

    The features of instance i are `names[indices[indptr[i]:indptr[i + 1]]]`.
    """

    names: pl.Series
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of instances and of features."""
        return len(self.indptr) - 1, len(self.names)

    def rows(self) -> npt.NDArray[np.int64]:
        """Return the instance of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int64), np.diff(self.indptr))

    def counts(self, classes: npt.NDArray[np.int32], n_classes: int) -> FeatureCounts:
        """Return how many instances of every class have each feature."""
        counts = np.zeros(len(self.names) * n_classes, dtype=np.int64)
        for rows in chunks(len(self.indptr) - 1):
            bounds = self.indptr[rows.start : rows.stop + 1]
            features = self.indices[bounds[0] : bounds[-1]].astype(np.int64)
            counts += np.bincount(
                features * n_classes + np.repeat(classes[rows], np.diff(bounds)), minlength=len(counts)
            )
        return FeatureCounts(
            self.names.gather, counts.reshape(len(self.names), n_classes), self.indices, self.indptr
        )

    def columns(self, kept: npt.NDArray[np.int64]) -> Presence:
        """Return the presence of the features of the given numbers only, renumbered in that order."""
        code = np.full(len(self.names), -1, dtype=np.int32)
        code[kept] = np.arange(len(kept), dtype=np.int32)
        indices = code[self.indices]
        chosen = indices >= 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen)])
        return Presence(self.names.gather(kept), before[self.indptr], indices[chosen])

    def matrix(self) -> sparse.csr_matrix:
        """Return the presence matrix as scipy's sparse rows of ones."""
        ones = np.ones(len(self.indices), dtype=np.float64)
        return sparse.csr_matrix((ones, self.indices, self.indptr), shape=self.shape)

    @classmethod
    def from_columns(cls, columns: dict[str, npt.NDArray[np.bool_]], n: int) -> Presence:
        """Build from one boolean array per feature; for families with few features."""
        names = pl.Series(list(columns), dtype=pl.String)
        if not columns:
            return cls(names, np.zeros(n + 1, np.int64), np.empty(0, np.int32))
        rows, features = np.nonzero(np.column_stack(list(columns.values())))
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
        return cls(names, indptr, features.astype(np.int32))


@runtime_checkable
class Family(Protocol):
    """A set of named binary features of an instance.

    `phrase` says in a sentence what an instance with a feature has: "“{}”" for a word, "{}" where the name says
    it. `languages` are the languages it works for (None: any). A family that cannot answer for a dataset raises
    `cuecard.errors.CueCardError`; it is then skipped with that reason, and the others run. A family with very
    many features may also offer `counts(data, classes, n_classes) -> FeatureCounts`, which the audit prefers
    to building the matrix. `unit = "example"` says that copies of the whole example, not of the text, are one
    observation of its features, and `unit = "premise"` that those of the premise are; `relational = True` that they
    compare premise and hypothesis; `content_blind = True` that they are no part of what a text says, so that they
    are a shortcut even where one text is all there is to read; `extra = "english"` names the optional part of CueCard
    that it needs; `from_place = True` that it is made from a file or folder, named as `family=PLACE`.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    phrase: ClassVar[str]
    languages: ClassVar[frozenset[str] | None]

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have which of this family's features."""
        ...


@runtime_checkable
class CountingFamily(Family, Protocol):
    """A family that counts its features faster than it could list them."""

    def counts(self, data: Encoded, classes: npt.NDArray[np.int32], n_classes: int) -> FeatureCounts:
        """Return how many instances of every class have each feature."""
        ...


@runtime_checkable
class LearningFamily(Family, Protocol):
    """A family that must see the training instances before it can name its features."""

    def learned(self, data: Encoded) -> Family:
        """Return the family that the training instances ask for."""
        ...


def learned(family: Family, data: Encoded) -> Family:
    """Return the family after it has seen the training instances, if it must."""
    return family.learned(data) if isinstance(family, LearningFamily) else family


def count_features(
    family: Family, data: Encoded, classes: npt.NDArray[np.int32], n_classes: int
) -> FeatureCounts:
    """Return the family's counts per class by the fastest way it offers."""
    if isinstance(family, CountingFamily):
        return family.counts(data, classes, n_classes)
    return family.presence(data).counts(classes, n_classes)


def _listed(families: Sequence[Family], data: Encoded) -> list[Presence | Exception]:
    """Return which instances have which features of every family, or what it has raised."""
    listed: list[Presence | Exception] = []
    for family in families:
        try:
            listed.append(family.presence(data))
        except Exception as error:
            listed.append(error)
    return listed


def listed_by_chunk(families: Sequence[Family], data: Encoded) -> dict[str, Presence | Exception]:
    """Return which instances have which features of some families, on disk, from one pass over the chunks.

    Where a family fails, what it has raised takes the place of its features.
    """
    space = data.instances.space
    ids, sizes = ([space.growing(kind) for _ in families] for kind in (np.int32, np.int64))
    names: list[pl.Series] = [pl.Series([], dtype=pl.String) for _ in families]
    failed: dict[str, Exception] = {}
    for found in space.engine.in_order(partial(_listed, families), data.views()):
        for i, (family, presence) in enumerate(zip(families, found, strict=True)):
            if isinstance(presence, Exception):
                failed.setdefault(family.name, presence)
            if isinstance(presence, Exception) or family.name in failed:
                continue
            codes = presence.indices
            if not presence.names.equals(names[i]):
                new = presence.names.filter(~presence.names.is_in(names[i].implode()))
                names[i] = pl.concat([names[i], new])
                codes = presence.names.replace_strict(
                    names[i], pl.arange(len(names[i]), eager=True), return_dtype=pl.Int32
                ).to_numpy()[codes]
            ids[i].add(codes)
            sizes[i].add(np.diff(presence.indptr))
        space.release()
    listed: dict[str, Presence | Exception] = {**failed}
    for i, family in enumerate(families):
        if family.name not in failed:
            of_rows = sizes[i].array()
            bounds = space.totals(of_rows[chunk] for chunk in chunks(len(of_rows)))
            listed[family.name] = Presence(names[i], bounds, ids[i].array())
    return listed


FAMILIES: Registry[type[Family]] = Registry(
    "feature family",
    group="cuecard.features",
    check=lacking("name", "description", "phrase", "languages", "presence"),
)


def family_named(name: str) -> Family:
    """Return the feature family of a name; `NAME=PLACE` is one that reads its features from a file or folder."""
    kind, equals, place = name.partition("=")
    family: Callable[..., Family] = FAMILIES.get(kind)
    if equals and not getattr(family, "from_place", False):
        raise UsageError(f"The feature family {kind!r} reads no file: name it without '={place}'.")
    return family(place) if equals else family()


#: The family of the user's own patterns, which is not registered, and its phrase.
PATTERN_FAMILY, PATTERN_PHRASE = "regex", "a match of {}"
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
#: What types of entities are called, whose names are abbreviations.
ENTITIES = {
    "PERSON": "the name of a person",
    "ORG": "the name of an organisation",
    "LOC": "the name of a place",
    "NORP": "a nationality, religion or party",
    "TIME": "a date or time",
    "CARDINAL": "a number",
    "any": "a name, date or number",
}


def cue_name(family: str, feature: str, phrases: Mapping[str, str]) -> str:
    """Return what a cue is called in a sentence, by the phrases of the families.

    >>> cue_name("length", "longest", {"length": "{}"}), cue_name("word", "not", {"word": "“{}”"})
    ('the most tokens', '“not”')
    >>> cue_name("format", "ends with a full stop", {"format": "{}"})
    'a final full stop'
    >>> cue_name("entity", "NORP", {"entity": "an entity ({})"})
    'a nationality, religion or party'
    """
    name = {"length": LENGTHS, "format": FORMATS, "entity": ENTITIES}.get(family, {}).get(feature)
    return name or phrases[family].format(feature)


def spoken_cue(family: str, feature: str) -> str:
    """Return what a cue of a card is called; where its family is not installed, its name in quotes.

    >>> spoken_cue("bigram", "is not"), spoken_cue("sentiment", "negative"), spoken_cue("mine", "x")
    ('“is not”', 'negative words', '“x”')
    """
    if family == PATTERN_FAMILY:
        return cue_name(family, feature, {family: PATTERN_PHRASE})
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
    if prefix == PATTERN_FAMILY:
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
