"""The words of the demo grammar: who, what they do, where, in what clothes, with whom and when."""

from __future__ import annotations

from itertools import chain, product


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
