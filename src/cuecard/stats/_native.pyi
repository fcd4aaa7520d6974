"""Types of the compiled loops; what each does is said beside its source in `native/`."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8] | npt.NDArray[np.bool_]
Letters = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint16]
Masks = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]

# native/tails.pxi
def binomial_log_tails(k: Floats, n: Floats, p: Floats, less: Floats, greater: Floats) -> None: ...
def poisson_binomial_log_tails(
    observed: Ints, offsets: Ints, n: Ints, p: Floats, less: Floats, greater: Floats, theta: Floats
) -> None: ...
def log_gamma_tails(a: Floats, x: Floats, result: Floats) -> None: ...
def stratified_log_tails(
    k: Ints, n: Ints, marked: Ints, size: Ints, less: Floats, greater: Floats
) -> None: ...

# native/tokens.pxi
LETTER: Final[int]
BREAK: Final[int]
INNER: Final[int]
DROP: Final[int]
ALONE: Final[int]
WIDE: Final[int]

def encode_rows(
    data: Bytes, offsets: Ints, first: int, last: int, actions: Words, kinds: Bytes
) -> tuple[Ids, Ints, Letters, Ints]: ...
def number_keys(keys: Ints) -> tuple[Ids, Ints]: ...
def ngram_keys(
    prefixes: Ids, prefix_offsets: Ints, ids: Ids, offsets: Ints, n: int, n_types: int
) -> tuple[Ints, Ints]: ...
def count_presence(
    ids: Ids, offsets: Ints, first: int, last: int, codes: Ids, n_types: int, n_codes: int
) -> Ints: ...
def distinct_in_rows(ids: Ids, offsets: Ints, codes: Ids, n_codes: int) -> tuple[Ids, Ints]: ...

# native/english.pxi
CAPITAL: Final[int]
CAPITALS: Final[int]
OPENS: Final[int]
PAUSE: Final[int]
MONEY: Final[int]
QUOTED: Final[int]
JOINED: Final[int]
UPPER: Final[int]
SMALL: Final[int]
PRESENT: Final[int]
PAST: Final[int]
FUTURE: Final[int]
MODAL: Final[int]
PAST_OR_PARTICIPLE: Final[int]
PARTICIPLE: Final[int]
THIRD_PERSON: Final[int]
BASE: Final[int]
MOSTLY_NOUN: Final[int]
GERUND: Final[int]
AUXILIARY: Final[int]
DETERMINER: Final[int]
PREPOSITION: Final[int]
SUBJECT_SINGULAR: Final[int]
SUBJECT_PLURAL: Final[int]
OBJECT: Final[int]
RELATIVE: Final[int]
QUESTION: Final[int]
SUBORDINATOR: Final[int]
CONJUNCTION: Final[int]
ADVERB: Final[int]
PLURAL: Final[int]
TO: Final[int]
SPEECH: Final[int]
MODIFIER: Final[int]
BY: Final[int]
UNLISTED_S: Final[int]
GIVEN_NAME: Final[int]
PLACE: Final[int]
PEOPLE: Final[int]
ORGANISATION: Final[int]
ORGANISATION_LAST: Final[int]
PLACE_LAST: Final[int]
TITLE: Final[int]
OTHER_NAME: Final[int]
COMMON: Final[int]
COMMON_NOUN: Final[int]
TIME_WORD: Final[int]
TIME_UNIT: Final[int]
TIME_CUE: Final[int]
MONTH_OR_WORD: Final[int]
YEAR: Final[int]
NUMBER: Final[int]
ONE: Final[int]
BEFORE_PRONOUN_ONE: Final[int]
PLACE_FIRST: Final[int]
PLACE_SECOND: Final[int]
NEEDS_NO_CAPITAL: Final[int]
IN: Final[int]
THE: Final[int]
POSSESSIVE: Final[int]
PLACE_IN_CAPITALS: Final[int]
PERSON: Final[int]
ORG: Final[int]
LOC: Final[int]
TIME: Final[int]
CARDINAL: Final[int]
NORP: Final[int]
OTHER: Final[int]

def context(
    data: Bytes, offsets: Ints, kinds: Bytes, signs: Bytes, n_tokens: int
) -> tuple[Letters, Ints]: ...
def tenses(ids: Ids, offsets: Ints, word_roles: Masks, flags: Bytes) -> Signs: ...
def named_things(
    ids: Ids, offsets: Ints, entity_words: Masks, word_roles: Masks, flags: Bytes
) -> Letters: ...

# native/scores.pxi
def relative_logs(table: Floats, shares: Floats, smallest: float, out: Floats) -> None: ...

# native/units.pxi
def repeated_sums(
    ids: Ids, offsets: Ints, order: Ints, bounds: Ints, weights: Floats, n_types: int, n_bins: int
) -> tuple[Ints, Floats, Ints, Floats, Ints, Floats]: ...
def saddle_points(
    sums: Floats, values: Floats, shares: Floats, scales: Floats, counts: Ints, r: Floats, u: Floats
) -> None: ...
def add_by_column(
    indptr: Ints, indices: Codes, values: Floats, x: Floats, out: Floats, squared: bool
) -> None: ...

# native/forest.pxi
def poisson_numbers(means: Ints, seed: int) -> Ints: ...
def forest(
    values: Floats,
    ranks: Ints,
    cells: Ids,
    counts: Ints,
    rests: Floats,
    n_labels: int,
    held: Ints,
    trees: int,
    depth: int,
    tried: int,
    seed: int,
    entropy: bool = False,
) -> Floats: ...

# native/linear.pxi
def hash_words(data: Bytes, offsets: Ints) -> Ints: ...
def hash_ngrams(
    ids: Ids,
    offsets: Ints,
    keys: Ints,
    longest: int,
    salt: int,
    mask: int,
    seen: Ids,
    out: Ids,
    starts: Ints,
    used: Ints,
) -> None: ...
def hash_shared(
    premise: Ids,
    premise_offsets: Ints,
    hypothesis: Ids,
    offsets: Ints,
    keys: Ints,
    salt: int,
    mask: int,
    stamp: Ints,
    out: Ids,
    starts: Ints,
    used: Ints,
) -> None: ...
def overlap_counts(
    premise: Ids, premise_offsets: Ints, hypothesis: Ids, offsets: Ints, counted: Bytes
) -> tuple[Ints, Ints]: ...
def compact_rows(
    slots: Ids, starts: Ints, used: Ints, column: Ids, idf: Floats, indptr: Ints, indices: Ids, values: Floats
) -> int: ...
def add_margins(
    indptr: Ints,
    indices: Ids,
    values: Floats,
    share: float,
    rows: Ints,
    place: Ids,
    weights: Floats,
    margins: Floats,
) -> None: ...
def multinomial_epoch(
    indptr: Ints,
    indices: Ids,
    values: Floats,
    squares: Floats,
    weight: Floats,
    order: Ints,
    penalty: float,
    w: Floats,
    bias: Floats,
    dual: Floats,
) -> float: ...
def within_epoch(
    indptr: Ints,
    indices: Ids,
    values: Floats,
    first_row: Ints,
    weight: Floats,
    order: Ints,
    penalty: float,
    w: Floats,
    dual: Floats,
    scratch: Floats,
) -> float: ...

# native/ngram_model.pxi
def learn_labels(
    indptr: Ints,
    indices: Ids,
    values: Singles,
    gold: Ints,
    weight: Singles,
    order: Ints,
    rate: float,
    decay: float,
    vectors: Singles,
    output: Singles,
    bias: Singles,
    offset: Singles,
    target: Singles,
    groups: Ints,
    aside: Singles,
    pace: float,
) -> float: ...
def learn_choices(
    indptr: Ints,
    indices: Ids,
    values: Singles,
    starts: Ints,
    gold: Ints,
    weight: Singles,
    order: Ints,
    rate: float,
    decay: float,
    vectors: Singles,
    output: Singles,
    offset: Singles,
    target: Singles,
    groups: Ints,
    aside: Singles,
    pace: float,
) -> float: ...
def add_ngrams(
    indptr: Ints,
    indices: Ids,
    values: Floats,
    ids: Ids,
    offsets: Ints,
    keys: Ints,
    longest: int,
    mask: int,
    column: Ids,
    scratch: Floats,
    squares: Floats,
) -> None: ...
def add_shared(
    indptr: Ints,
    indices: Ids,
    values: Floats,
    premise: Ids,
    premise_offsets: Ints,
    hypothesis: Ids,
    offsets: Ints,
    keys: Ints,
    mask: int,
    column: Ids,
    scratch: Floats,
    stamp: Ints,
    premise_squares: Floats,
    hypothesis_squares: Floats,
) -> None: ...
def cbow_epoch(
    ids: Ids,
    offsets: Ints,
    order: Ints,
    keep: Singles,
    negatives: Ids,
    window: int,
    n_negatives: int,
    first_rate: float,
    last_rate: float,
    seed: int,
    vectors: Singles,
    contexts: Singles,
) -> None: ...

# native/graph.pxi
def two_step(
    indptr: Ints, neighbours: Ids, entries: Floats, edge_at: Ids, n_edges: int, degrees: Ints
) -> tuple[Floats, Floats, Floats, Floats]: ...
def three_step(
    indptr: Ints, neighbours: Ids, entries: Floats, edge_at: Ids, n_edges: int, heavy_size: int
) -> Floats: ...
def skip_gram(
    indptr: Ints,
    neighbours: Ids,
    vectors: Singles,
    noise: Floats,
    walks: int,
    length: int,
    window: int,
    negatives: int,
    seed: int,
) -> None: ...
def prune_pairs(first: Codes, second: Codes, looped: Bytes, degree: Codes, kept: Bytes) -> int: ...
def add_walks(
    more: Codes,
    fewer: Codes,
    begins: Codes,
    columns: Codes,
    entries: Codes,
    other_begins: Codes,
    other_columns: Codes,
    other_entries: Codes,
    mark: Ints,
    walks: Ints,
) -> None: ...

# native/map.pxi
def neighbour_shares(distances: Floats, perplexity: float) -> Floats: ...
def descend(
    places: Singles,
    starts: Ints,
    columns: Ints,
    joint: Singles,
    steps: int,
    early: int,
    exaggeration: float,
    rate: float,
) -> None: ...

# native/mapped.pxi
def array_files(folder: bytes, least: int) -> object: ...
def keep_arrays(where: object) -> object: ...

# native/copies.pxi
SEPARATES: Final[int]
SIGN: Final[int]
CHARACTER_ALONE: Final[int]

def byte_hashes(data: Bytes, offsets: Ints) -> Hashes: ...
def fold_rows(data: Bytes, offsets: Ints, actions: Hashes, words: Hashes) -> tuple[Hashes, Ints, Bools]: ...
def band_keys(
    words: Hashes,
    starts: Ints,
    runs: Ints,
    height: int,
    keys: Hashes,
    run_keys: Hashes,
    bits: Hashes,
    run_bits: Hashes,
    first: int,
    first_run: int,
    least_words: int,
) -> None: ...
def wide_bits(words: Hashes, starts: Ints, rows: Ints, width: int) -> Hashes: ...
def word_sets(words: Hashes, starts: Ints, rows: Ints, needed: Bytes) -> tuple[Hashes, Ints]: ...
def repeated(keys: Hashes) -> Ints: ...
def rising_order(keys: Hashes) -> Ints: ...
def order_within(keys: Hashes, texts: Ints) -> None: ...
def join_alike(
    texts: Ints, sets: Hashes, bounds: Ints, bits: Hashes, leader: Ints, threshold: float, loose: float
) -> None: ...
def maybe_alike(
    keys: Hashes, order: Ints, sizes: Ints, bits: Hashes, threshold: float, needed: Bytes
) -> Ints: ...
def leaders(leader: Ints) -> Ints: ...
def shared_words(words: Hashes, starts: Ints, others: Hashes, other_starts: Ints, runs: Ints) -> Ints: ...
def first_places(keys: Hashes) -> Ints: ...
def join_pairs(ones: Codes, others: Codes, leader: Ints) -> None: ...
def nearest(sets: Hashes, bounds: Ints, bits: Hashes, order: Ints, ends: Ints, block: int) -> Ints: ...
def number_units(leader: Ints) -> None: ...

# native/overlap.pxi
def word_hashes(data: Bytes, escapes: bool) -> tuple[Hashes, Ints, Ints]: ...
def prefix_hashes(words: Hashes) -> Hashes: ...
def number_runs(
    data: Bytes, starts: Ints, ends: Ints, sums: Hashes, power: Hashes, first: Ints, sizes: Ints, bits: int
) -> tuple[Ints, Hashes, Ints, Letters, Ints]: ...
def search_runs(
    data: Bytes,
    starts: Ints,
    ends: Ints,
    sums: Hashes,
    power: Hashes,
    again: int,
    widths: Ints,
    bits: int,
    keys: Hashes,
    held: Ints,
    occurs: Bytes,
    first: Ints,
    sizes: Ints,
    leading: Ints,
    known: Bytes,
    known_starts: Ints,
    known_ends: Ints,
    known_first: Ints,
    known_sizes: Ints,
    post_starts: Ints,
    post_ends: Ints,
    post_texts: Ints,
    post_places: Ints,
    counts: Ints,
    listed: Ints,
    most: int,
    counted_only: int,
) -> Ints: ...

# native/similar.pxi
def nearest_texts(
    ids: Ids,
    offsets: Ints,
    looked_up: Ints,
    n_types: int,
    common: float,
    n_nearest: int,
    n_candidates: int,
    budget: int,
    frequency: Ints | None = None,
    n_texts: int = 0,
) -> tuple[Ids, Floats]: ...
def join_up_to(one: Ids, other: Ids, sizes: Ints, largest: int, most: int) -> Ids: ...
def strata_sums(
    indptr: Ints,
    indices: Codes,
    companions: Ints,
    last: Ints,
    depth: Ints,
    columns: Ints,
    given: Ints,
    codes: Ints,
    labels: Ints,
    mass: Floats,
    n_labels: int,
) -> tuple[Floats, Floats, Floats]: ...
