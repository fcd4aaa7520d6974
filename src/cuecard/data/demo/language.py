"""Sentences of a small language: words, grammar and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
import polars as pl

from cuecard.stats.arrays import Bools, Ints


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SUBJECT_NAMES = _words(
    "Maria John Aisha Pedro Ingrid Kwame Yuki Sofia Liam Fatima Andrei Chloe Rohan Elena Marcus Noor "
    "Oscar Priya Hannah Diego Leila Tomas Grace Hiro Nadia Victor Zoe Samuel Amara Felix"
)
COMPANION_NAMES = _words(
    "Omar Julia Chen Beatrice Ivan Lucia David Mei Carlos Emma Tariq Anna Bruno Esther Paolo Rosa Simon "
    "Ines Arthur Vera Gustav Miriam Kofi Laura Dmitri Clara Rafael Naomi Peter Selma"
)

ADJECTIVES = _words(
    "young old tall short busy famous tired curious friendly local quiet cheerful elderly bearded "
    "clever nervous patient polite shy brave"
)
PEOPLE = {
    "man": "men", "woman": "women", "boy": "boys", "girl": "girls", "nurse": "nurses", "baker": "bakers",
    "farmer": "farmers", "teacher": "teachers", "student": "students", "painter": "painters",
    "doctor": "doctors", "sailor": "sailors", "tourist": "tourists", "soldier": "soldiers",
    "dancer": "dancers", "carpenter": "carpenters", "gardener": "gardeners", "lawyer": "lawyers",
    "musician": "musicians", "waiter": "waiters", "pilot": "pilots", "writer": "writers", "cook": "cooks",
    "plumber": "plumbers", "judge": "judges", "mechanic": "mechanics", "fisherman": "fishermen",
    "librarian": "librarians", "photographer": "photographers", "athlete": "athletes",
}  # fmt: skip
NUMBERS = _words("two three four five six seven twelve twenty")

ACTIVITIES = (
    "playing the guitar", "playing chess", "playing cards", "playing football", "reading a newspaper",
    "reading a long novel", "singing an opera", "singing folk songs", "cooking soup", "cooking rice",
    "baking bread", "baking a cake", "painting a fence", "painting a portrait", "repairing a bicycle",
    "repairing an engine", "washing the windows", "washing a car", "watering plants", "planting trees",
    "picking apples", "picking mushrooms", "selling flowers", "selling tickets", "buying vegetables",
    "buying shoes", "drinking coffee", "drinking tea", "eating noodles", "eating ice cream", "writing mail",
    "writing poems", "taking photographs", "filming a documentary", "riding a horse", "riding a motorcycle",
    "throwing a frisbee", "flying a kite", "climbing a ladder", "climbing a wall", "carrying boxes",
    "carrying firewood", "feeding ducks", "feeding pigeons", "walking slowly", "running fast", "jumping rope",
    "swimming laps", "dancing a waltz", "practising yoga", "lifting weights", "juggling oranges",
    "building a sandcastle", "building shelves", "folding towels", "ironing shirts", "knitting socks",
    "sewing curtains", "telling jokes", "telling stories", "giving a speech", "discussing politics",
    "studying maps", "studying grammar", "counting coins", "sorting stamps", "fixing the roof",
    "sweeping leaves", "shovelling snow", "catching fish", "rowing a boat", "driving a tractor",
    "pushing a cart", "pulling weeds", "waiting patiently", "resting", "laughing", "arguing", "praying",
    "whistling",
)  # fmt: skip

_PLACE_NOUNS = {
    "at the": "market station museum airport theatre university hospital bakery harbour stadium zoo castle "
    "cinema restaurant courthouse lighthouse fountain crossroads",
    "in the": "kitchen garden park library forest desert village classroom garage cellar attic courtyard "
    "meadow valley orchard bathroom office gymnasium",
    "on the": "beach bridge balcony roof pier platform hillside terrace porch stage",
    "near the": "river lake church factory windmill waterfall monument cave border volcano",
}
_CITIES = _words(
    "Lisbon Paris Cairo Tokyo Berlin Nairobi Oslo Lima Mumbai Toronto Vienna Dublin Seoul Madrid Athens "
    "Boston Prague Havana Warsaw Geneva Texas Brazil Norway Kenya Japan Canada Peru Scotland Egypt "
    "Italy"
)
PLACES = (
    *(f"{where} {noun}" for where, nouns in _PLACE_NOUNS.items() for noun in nouns.split()),
    *(f"in {city}" for city in _CITIES),
)

_COLOURS = _words("red blue green yellow black white purple grey striped woollen")
_GARMENTS = _words(
    "hat scarf coat jacket shirt sweater dress uniform helmet apron cap raincoat vest tunic cloak"
)
CLOTHES = tuple(f"a {colour} {garment}" for colour, garment in product(_COLOURS, _GARMENTS))

COMPANIONS = (
    *(f"with {name}" for name in COMPANION_NAMES),
    *(
        f"with {who}"
        for who in (
            "a friend", "a neighbour", "a stranger", "a cousin", "a large dog", "a small dog", "a black cat",
            "a parrot", "a goat", "a donkey", "two dogs", "two friends", "three cousins", "some colleagues",
            "many children", "some visitors", "the mayor", "the priest", "the landlord", "a policeman",
            "a journalist", "a guide", "a twin brother", "a younger sister", "a grandfather", "an aunt",
            "an uncle", "ten pupils", "a baby", "a robot",
        )
    ),
)  # fmt: skip

TIMES = (
    "at noon", "at midnight", "at dawn", "at sunset", "at six", "at nine", "at eleven", "in the morning",
    "in the afternoon", "in the evening", "late at night", "before breakfast", "before lunch",
    "before dinner", "before school", "before work", "after breakfast", "after lunch", "after dinner",
    "after school", "after work", "after the storm", "after the concert", "after the wedding",
    "after the match", "before the storm", "before the concert", "before the wedding", "before the match",
    "during the storm", "during the festival", "during the parade", "during the holiday", "during the strike",
    "in spring", "in summer", "in autumn", "in winter", "for an hour", "for ten minutes", "for half an hour",
)  # fmt: skip

#: Sentence openers that say nothing about the facts; "not" may stand before them.
OPENERS = _words("surprisingly unexpectedly unusually unfortunately")

#: Every word the grammar itself can write, lower-cased; planted words are none of these.
GRAMMAR_WORDS = frozenset(
    word.lower()
    for text in chain(
        *(SUBJECT_NAMES, ADJECTIVES, PEOPLE, PEOPLE.values(), NUMBERS, OPENERS),
        *(ACTIVITIES, PLACES, CLOTHES, COMPANIONS, TIMES),
        ("a an the in wearing dressed can will be seen is are was were no not",),
    )
    for word in text.split()
)


def subjects() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return every subject: named people, one person, several people."""
    described = ("", *(f"{adjective} " for adjective in ADJECTIVES))
    one = tuple(f"{d} {a}{p}" for d, a, p in product(("a", "the"), described, PEOPLE))
    one = tuple(s.replace("a old", "an old").replace("a elderly", "an elderly") for s in one)
    one = tuple(s.replace("a athlete", "an athlete") for s in one)
    several = tuple(f"{k} {a}{p}" for k, a, p in product(NUMBERS, described, PEOPLE.values()))
    return SUBJECT_NAMES, one, several


#: What a scene says about its subject; a sentence tells some of these aspects.
ASPECTS = ("clothes", "activity", "place", "companion", "time")
_VALUES = {
    "clothes": CLOTHES,
    "activity": ACTIVITIES,
    "place": PLACES,
    "companion": COMPANIONS,
    "time": TIMES,
}
N_VALUES: Ints = np.array([len(_VALUES[aspect]) for aspect in ASPECTS])

#: The ten ways to tell two of five aspects; row i of `TRIPLES` is what row i of `PAIRS` leaves out.
PAIRS: Ints = np.array(list(combinations(range(5), 2)))
TRIPLES: Ints = np.array([[a for a in range(5) if a not in pair] for pair in combinations(range(5), 2)])

_SUBJECT_KINDS = subjects()
_SUBJECTS = pl.Series([s for kind in _SUBJECT_KINDS for s in kind])
_KIND_SIZES: Ints = np.array([len(kind) for kind in _SUBJECT_KINDS])
_KIND_STARTS: Ints = np.concatenate([[0], np.cumsum(_KIND_SIZES)[:-1]])
_KIND_SHARES = (0.35, 0.4, 0.25)

_TENSES = 3
#: Auxiliary by tense, then number, then whether an activity follows.
_AUXILIARIES = pl.Series(
    [
        "can be seen", "is", "can be seen", "are",
        "was seen", "was", "were seen", "were",
        "will be seen", "will be", "will be seen", "will be",
    ]
)  # fmt: skip
_CLOTHES_LINKS = ("in", "wearing", "dressed in")


@dataclass(frozen=True, eq=False)
class Scenes:
    """Who the rows are about, when in grammar they happen, and a value for each of the five aspects."""

    subject: Ints
    tense: Ints
    values: Ints  # rows × aspects

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, rows: Ints) -> Scenes:
        """Return the scenes of these rows."""
        return Scenes(self.subject[rows], self.tense[rows], self.values[rows])

    def with_values(self, values: Ints) -> Scenes:
        """Return the same people with other things said about them."""
        return Scenes(self.subject, self.tense, values)

    def names(self) -> pl.Series:
        """Return the subject of every row as text."""
        return _SUBJECTS.gather(self.subject)


def draw_subjects(n: int, rng: np.random.Generator) -> Ints:
    """Return n subjects: a named person, one person or several."""
    kind = rng.choice(len(_KIND_SHARES), size=n, p=_KIND_SHARES)
    return _KIND_STARTS[kind] + rng.integers(0, _KIND_SIZES[kind])


def draw_values(n: int, rng: np.random.Generator) -> Ints:
    """Return n rows of one uniformly drawn value per aspect."""
    return rng.integers(0, N_VALUES, size=(n, len(ASPECTS)))


def draw_scenes(n: int, rng: np.random.Generator) -> Scenes:
    """Return n independent scenes."""
    return Scenes(draw_subjects(n, rng), rng.integers(0, _TENSES, n), draw_values(n, rng))


def other_values(values: Ints, aspect: Ints, rng: np.random.Generator) -> Ints:
    """Return the values with one aspect of each row changed to any other value, all equally likely."""
    rows = np.arange(len(values))
    sizes = N_VALUES[aspect]
    changed = values.copy()
    changed[rows, aspect] = (values[rows, aspect] + 1 + rng.integers(0, sizes - 1)) % sizes
    return changed


def told_mask(told: Ints) -> Bools:
    """Return rows × aspects booleans from the aspect numbers each row tells."""
    mask = np.zeros((len(told), len(ASPECTS)), dtype=np.bool_)
    np.put_along_axis(mask, told, True, axis=1)
    return mask


def tell(scenes: Scenes, told: Ints, rng: np.random.Generator) -> pl.DataFrame:
    """Return one clause per row, without capital or full stop, as `text` and its `echo`.

    The word order and the link to the clothes vary. The echo is what was said after the subject once more: it
    makes a sentence longer without any new word.
    """
    n = len(scenes)
    mask = told_mask(told)
    link = rng.integers(0, len(_CLOTHES_LINKS), n)
    front = rng.integers(0, 4, n)  # 0: the time first, 1: the place first, otherwise neither
    plural = scenes.subject >= _KIND_STARTS[2]
    auxiliary = scenes.tense * 4 + plural * 2 + mask[:, 1]
    parts: dict[str, pl.Series] = {}
    for a, aspect in enumerate(ASPECTS):
        texts = pl.Series(_VALUES[aspect], dtype=pl.String).gather(scenes.values[:, a])
        if aspect == "clothes":
            texts = pl.Series(_CLOTHES_LINKS).gather(link) + " " + texts
        parts[aspect] = pl.select(pl.when(pl.lit(pl.Series(mask[:, a]))).then(texts)).to_series()
    frame = pl.DataFrame(
        {
            "subject": scenes.names(),
            "auxiliary": _AUXILIARIES.gather(auxiliary),
            "front": front,
            **parts,
        }
    )
    time_first, place_first = pl.col("front") == 0, pl.col("front") == 1
    order = [
        pl.when(time_first).then("time"),
        pl.when(place_first).then("place"),
        "subject",
        "clothes",
        "auxiliary",
        "activity",
        pl.when(~place_first).then("place"),
        "companion",
        pl.when(~time_first).then("time"),
    ]
    echo = ["clothes", "activity", "place", "companion", "time"]
    return frame.select(
        text=pl.concat_str(order, separator=" ", ignore_nulls=True),
        echo=pl.concat_str(echo, separator=" ", ignore_nulls=True),
    )


def sentence(parts: list[pl.Expr]) -> pl.Expr:
    """Return the parts joined by blanks, with a capital and a full stop; missing parts are left out."""
    joined = pl.concat_str(parts, separator=" ", ignore_nulls=True)
    return joined.str.slice(0, 1).str.to_uppercase() + joined.str.slice(1) + "."
