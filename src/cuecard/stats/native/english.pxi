# Rules for English over tokens: capitals and punctuation, the tense of the main verb, named things.

# What the letters and the punctuation around a token say (see `context`).
cpdef enum:
    CAPITAL = 1 << 0  # first letter is a capital
    CAPITALS = 1 << 1  # two capitals or more and no small letter
    OPENS = 1 << 2  # first of its text, or after . ! ?
    PAUSE = 1 << 3  # after a comma, colon, semicolon, dash or bracket
    MONEY = 1 << 4  # directly after a currency sign
    QUOTED = 1 << 5  # after a quotation mark
    JOINED = 1 << 6  # after a hyphen

# What a letter says, in the table that gives the flags above for other characters.
cpdef enum:
    UPPER = 1 << 0
    SMALL = 1 << 1

# What a word can be in a clause; a word may have several bits.
cpdef enum:
    PRESENT = 1 << 0
    PAST = 1 << 1
    FUTURE = 1 << 2
    MODAL = 1 << 3
    PAST_OR_PARTICIPLE = 1 << 4
    PARTICIPLE = 1 << 5
    THIRD_PERSON = 1 << 6
    BASE = 1 << 7
    MOSTLY_NOUN = 1 << 8
    GERUND = 1 << 9
    AUXILIARY = 1 << 10
    DETERMINER = 1 << 11
    PREPOSITION = 1 << 12
    SUBJECT_SINGULAR = 1 << 13
    SUBJECT_PLURAL = 1 << 14
    OBJECT = 1 << 15
    RELATIVE = 1 << 16
    QUESTION = 1 << 17
    SUBORDINATOR = 1 << 18
    CONJUNCTION = 1 << 19
    ADVERB = 1 << 20
    PLURAL = 1 << 21
    TO = 1 << 22
    SPEECH = 1 << 23
    MODIFIER = 1 << 24
    BY = 1 << 25
    UNLISTED_S = 1 << 26

# Tenses as numbers, in the order of `TENSES`; UNTENSED is a finite verb that has none of them.
cdef enum:
    NO_TENSE, PAST_TENSE, PRESENT_TENSE, FUTURE_TENSE, UNTENSED

# How certain it is that a word is a finite verb.
cdef enum:
    WEAK, MAYBE, LIKELY, SURE

cdef enum:
    FINITE = PRESENT | PAST | FUTURE | MODAL
    SUBJECT = SUBJECT_SINGULAR | SUBJECT_PLURAL
    OBJECT_BEGINS = DETERMINER | OBJECT | SUBJECT_PLURAL | SUBJECT_SINGULAR
    CLAUSE_BEGINS = CONJUNCTION | SUBORDINATOR | RELATIVE | QUESTION

# What a word says of a name; a word may have several bits.
cpdef enum:
    GIVEN_NAME = 1 << 0
    PLACE = 1 << 1
    PEOPLE = 1 << 2
    ORGANISATION = 1 << 3
    ORGANISATION_LAST = 1 << 4
    PLACE_LAST = 1 << 5
    TITLE = 1 << 6
    OTHER_NAME = 1 << 7
    COMMON = 1 << 8
    COMMON_NOUN = 1 << 9
    TIME_WORD = 1 << 10
    TIME_UNIT = 1 << 11
    TIME_CUE = 1 << 12
    MONTH_OR_WORD = 1 << 13
    YEAR = 1 << 14
    NUMBER = 1 << 15
    ONE = 1 << 16
    BEFORE_PRONOUN_ONE = 1 << 17
    PLACE_FIRST = 1 << 18
    PLACE_SECOND = 1 << 19
    NEEDS_NO_CAPITAL = 1 << 20
    IN = 1 << 21
    THE = 1 << 22
    POSSESSIVE = 1 << 23
    PLACE_IN_CAPITALS = 1 << 24

# Types of named things, as bits of the answer.
cpdef enum:
    PERSON = 1
    ORG = 2
    LOC = 4
    TIME = 8
    CARDINAL = 16
    NORP = 32
    OTHER = 64


def context(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const uint8_t[::1] kinds,
    const uint8_t[::1] signs,
    int64_t n_tokens,
):
    """Return the flags of every token and the token count of every text.

    `kinds` says what each code point does to a token (the tokeniser's table) and `signs` what it says: the
    case of a letter, else the flags set on the token after it. Stops early, with a count of -1, where there
    are more tokens than `n_tokens`.
    """
    cdef uint8_t[::1] flags = np.zeros(n_tokens, dtype=np.uint8)
    cdef int64_t[::1] counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    cdef int64_t n = 0, row, i, end, first
    cdef int pending, capitals, smalls, width, point, kind, sign
    cdef bint inside, apostrophe, full = False
    with nogil:
        for row in range(offsets.shape[0] - 1):
            i = offsets[row]
            end = offsets[row + 1]
            pending = OPENS
            inside = False
            apostrophe = False
            capitals = 0
            smalls = 0
            first = n
            while i < end:
                width = 1
                point = data[i]
                if point > 127:
                    width = code_point(&data[i], &point)
                i += width
                kind = kinds[point]
                sign = signs[point]
                if kind == LETTER:
                    if not inside:
                        if n == n_tokens:
                            full = True
                            break
                        inside = True
                        capitals = 0
                        smalls = 0
                        flags[n] = pending | (CAPITAL if sign & UPPER else 0)
                        n += 1
                        pending = 0
                    apostrophe = False
                    capitals += (sign & UPPER) != 0
                    smalls += (sign & SMALL) != 0
                    if capitals >= 2 and smalls == 0:
                        flags[n - 1] |= CAPITALS
                    else:
                        flags[n - 1] &= ~CAPITALS & 0xFF
                elif kind == INNER and inside and not apostrophe:
                    apostrophe = True
                elif kind != DROP:
                    if apostrophe:
                        pending |= QUOTED
                    inside = False
                    apostrophe = False
                    pending |= sign
            counts[row] = -1 if full else n - first
            if full:
                break
    return flags.base, counts.base


cdef int64_t word_before(const uint32_t* roles, int64_t i, int64_t start) noexcept nogil:
    """Return the place of the nearest word before i that is no mere adverb, or start - 1."""
    i -= 1
    while i >= start and (roles[i] & ADVERB) and not (roles[i] & (FINITE | DETERMINER | BASE)):
        i -= 1
    return i


cdef (int, int) verb_here(
    const uint32_t* roles, const uint8_t* flags, int64_t i, int64_t start, int64_t end, bint coordinated
) noexcept nogil:
    """Return (tense or NONE, how certain) of the word at i as a finite verb, judged by its neighbours.

    How certain: `SURE` words are finite whatever stands around, `LIKELY` ones may end the search, `MAYBE`
    ones are overruled by a sure verb, `WEAK` ones by any.
    """
    cdef uint32_t role = roles[i], previous, after
    cdef int64_t before = word_before(roles, i, start)
    cdef bint takes_object, infinitive, pause
    previous = roles[before] if before >= start else 0
    after = roles[i + 1] if i + 1 < end and not flags[i + 1] & (PAUSE | OPENS) else 0
    takes_object = (after & OBJECT_BEGINS) != 0
    infinitive = (previous & (TO | MODAL | FUTURE)) != 0
    if role & FUTURE:
        return FUTURE_TENSE, SURE
    if role & MODAL:
        return UNTENSED, SURE
    if role & PRESENT:
        if role & BASE and infinitive:
            return NO_TENSE, WEAK
        return PRESENT_TENSE, SURE
    if role & PAST and role & AUXILIARY:
        return PAST_TENSE, SURE
    if before < start or infinitive or flags[i] & JOINED:
        return NO_TENSE, WEAK
    if previous & (DETERMINER | PREPOSITION | MODIFIER) and not (previous & SUBJECT and before == i - 1):
        return NO_TENSE, WEAK
    if role & PAST and not role & PAST_OR_PARTICIPLE:
        return PAST_TENSE, SURE
    if role & PAST_OR_PARTICIPLE:
        if previous & AUXILIARY or after & BY:
            return NO_TENSE, WEAK
        return PAST_TENSE, LIKELY if previous & SUBJECT or role & SPEECH or takes_object else MAYBE
    if role & THIRD_PERSON:
        if previous & (SUBJECT_PLURAL | AUXILIARY) and not previous & SUBJECT_SINGULAR:
            return NO_TENSE, WEAK
        if role & MOSTLY_NOUN:
            return PRESENT_TENSE, LIKELY if previous & SUBJECT_SINGULAR and not previous & DETERMINER else WEAK
        # "After the game reviews, they did": before a comma a noun is as likely.
        pause = i + 1 < end and flags[i + 1] & PAUSE
        return PRESENT_TENSE, MAYBE if after & FINITE or pause else LIKELY
    if role & BASE:
        if previous & SUBJECT_PLURAL:
            return PRESENT_TENSE, LIKELY if not (previous & DETERMINER and role & MOSTLY_NOUN) else WEAK
        if (previous & PLURAL or coordinated) and not previous & AUXILIARY:
            if role & MOSTLY_NOUN:
                return PRESENT_TENSE, WEAK
            return PRESENT_TENSE, MAYBE if after & FINITE else LIKELY
    if (
        role & UNLISTED_S
        and not previous & (PLURAL | GERUND)
        and (takes_object or after & (PREPOSITION | ADVERB))
    ):
        return PRESENT_TENSE, WEAK
    return NO_TENSE, WEAK


cdef bint is_noun(uint32_t role) noexcept nogil:
    """Whether a word with no other known role, or a plural, stands there."""
    cdef uint32_t other = (
        FINITE
        | DETERMINER
        | PREPOSITION
        | SUBJECT
        | OBJECT
        | CLAUSE_BEGINS
        | ADVERB
        | TO
        | GERUND
        | MODIFIER
    )
    return (role & other) == 0


cdef bint opens_clause(uint32_t role, uint32_t after) noexcept nogil:
    """Whether a new clause begins here, so that a verb found before stands."""
    if not role & CLAUSE_BEGINS or role & DETERMINER:
        return False
    # "men dressed in black and white are": a list continues after "and" unless a verb or a subject follows.
    cdef uint32_t verb_or_subject = FINITE | SUBJECT | DETERMINER | BASE | PAST_OR_PARTICIPLE
    return not role & CONJUNCTION or (after & verb_or_subject) != 0


cdef bint is_contact_clause(const uint32_t* roles, const uint8_t* flags, int64_t i) noexcept nogil:
    """Whether a pronoun right after a noun opens a clause on it: "the things they say are"."""
    cdef bint pronoun = roles[i] & SUBJECT_PLURAL and not roles[i] & DETERMINER
    return pronoun and not flags[i] & PAUSE and is_noun(roles[i - 1])


cdef int tense_of(const uint32_t* roles, const uint8_t* flags, int64_t start, int64_t end) noexcept nogil:
    """Return the tense of the main verb of the first sentence that has a verb."""
    cdef int tense_so_far = NO_TENSE, strength = WEAK, skipped = NO_TENSE, skip = 0, tense, certain
    cdef bint fronted = False, verbless = False, coordinated = False
    cdef int64_t nouns = 0, gerunds = 0, i = start
    cdef uint32_t role, after
    while i < end:
        role = roles[i]
        after = roles[i + 1] if i + 1 < end else 0
        if i == start or (flags[i] & OPENS and flags[i] & CAPITAL):
            if tense_so_far != NO_TENSE or skipped != NO_TENSE:
                return tense_so_far if tense_so_far != NO_TENSE else skipped
            skip = 0
            nouns = 0
            verbless = False
            coordinated = False
            fronted = (role & (PREPOSITION | ADVERB)) != 0
            if role & BASE and not role & MOSTLY_NOUN:
                if role & PRESENT:
                    return PRESENT_TENSE if after & SUBJECT else UNTENSED
                if after & (OBJECT_BEGINS | PREPOSITION | ADVERB | TO):
                    return UNTENSED
            if role & SUBORDINATOR:
                skip = 1
                i += 1
                continue
        elif strength == WEAK and nouns > 0 and role & RELATIVE and not role & FINITE:
            if not roles[i - 1] & (CONJUNCTION | PREPOSITION):
                verbless = gerunds > 0
                skip += 1
                i += 1
                continue
        elif tense_so_far == NO_TENSE and gerunds > 0 and role & SUBORDINATOR:
            verbless = True
            skip += 1
        elif tense_so_far != NO_TENSE and strength > WEAK and opens_clause(role, after):
            return tense_so_far
        tense, certain = verb_here(roles, flags, i, start, end, coordinated)
        if tense != NO_TENSE:
            if skip > 0 and certain > WEAK:
                skip -= 1
                if skipped == NO_TENSE and not verbless:
                    skipped = tense
                # The rest of this verb group is no verb of its own.
                i += 1
                while i < end and roles[i] & (ADVERB | PARTICIPLE | PAST_OR_PARTICIPLE | BASE | GERUND):
                    i += 1
                continue
            if certain == SURE or (certain == LIKELY and strength == WEAK):
                return tense
            if tense_so_far == NO_TENSE or strength == WEAK:
                tense_so_far = tense
                strength = certain
        elif role & CONJUNCTION and nouns > 0:
            coordinated = True
        elif tense_so_far == NO_TENSE and nouns > 0 and not fronted and is_contact_clause(roles, flags, i):
            skip += 1
        if is_noun(role):
            nouns += 1
        elif role & GERUND:
            gerunds += 1
        i += 1
    return tense_so_far if tense_so_far != NO_TENSE else skipped


cdef int run_type(const uint32_t* words, const uint8_t* flags, int64_t first, int64_t last) noexcept nogil:
    """Return the type of the capitalised words from `first` up to `last`."""
    cdef uint32_t united = 0, final, before
    cdef bint capitals = True, several
    cdef int64_t i
    for i in range(first, last):
        united |= words[i]
        capitals = capitals and (flags[i] & CAPITALS) != 0
    final = words[last - 1]
    before = words[first - 1] if first > 0 else 0
    several = last - first > 1
    if several and final & ORGANISATION_LAST:
        return ORG
    if several and (final & PLACE_LAST or words[first] & PLACE_LAST):
        return LOC
    if united & TITLE:
        return PERSON if several else 0
    if words[first] & GIVEN_NAME and not united & PLACE:
        return PERSON
    if united & (PLACE | PLACE_IN_CAPITALS):
        return LOC
    if united & PEOPLE:
        return NORP
    if united & TIME_WORD:
        return TIME
    if united & OTHER_NAME:
        return OTHER
    if united & ORGANISATION or capitals:
        return ORG
    if united & GIVEN_NAME:
        return PERSON
    if before & IN:
        return LOC
    return ORG if before & THE or last - first > 2 else PERSON


cdef bint opening_name(
    const uint32_t* words, const uint8_t* flags, const uint32_t* roles, int64_t i, int64_t n
) noexcept nogil:
    """Whether a capitalised word at the start of a sentence is a name: the grammar has no other place for it.

    A singular noun without an article before a finite verb is a name, or a word such as "traffic".
    """
    if words[i] & (COMMON | COMMON_NOUN | TIME_WORD | NUMBER | ONE) or i + 1 >= n:
        return False
    if words[i] & POSSESSIVE:
        return True
    if flags[i + 1] & (JOINED | QUOTED | OPENS) or roles[i] & PLURAL or roles[i + 1] & MOSTLY_NOUN:
        return False
    return (roles[i + 1] & (FINITE | AUXILIARY | THIRD_PERSON | PAST_OR_PARTICIPLE)) != 0


cdef int times_and_numbers(
    const uint32_t* words, const uint8_t* flags, const uint32_t* roles, int64_t i, int64_t n
) noexcept nogil:
    """Return the bits for a time or a number at i."""
    cdef int types = 0
    cdef uint32_t word = words[i]
    cdef uint32_t before = words[i - 1] if i > 0 else 0
    cdef uint32_t after = words[i + 1] if i + 1 < n else 0
    if word & TIME_WORD or (word & TIME_UNIT and before & (NUMBER | TIME_CUE | ONE)):
        types |= TIME
    if word & YEAR:
        types |= CARDINAL if flags[i] & MONEY else TIME
    if word & NUMBER and not (after & (TIME_WORD | TIME_UNIT) or before & MONTH_OR_WORD):
        types |= CARDINAL
    if word & MONTH_OR_WORD and flags[i] & CAPITAL and (before & (NUMBER | IN) or after & (NUMBER | YEAR)):
        types |= TIME
    if word & ONE and not before & BEFORE_PRONOUN_ONE and i + 1 < n and not roles[i + 1] & FINITE:
        types |= CARDINAL
    return types


cdef int64_t run_end_of(const uint32_t* words, const uint8_t* flags, int64_t i, int64_t n) noexcept nogil:
    """Return the place after the last capitalised word that goes with the one at i."""
    cdef int64_t last = i + 1
    while last < n and flags[last] & CAPITAL and not words[last] & COMMON:
        if flags[last] & (PAUSE | QUOTED) or (flags[last] & OPENS and not words[last - 1] & TITLE):
            break
        last += 1
    return last


cdef bint is_place_of_two_words(
    const uint32_t* words, const uint8_t* flags, int64_t i, int64_t n
) noexcept nogil:
    """Whether a place such as "New York" stands at i, and no longer name."""
    if i + 1 >= n or not words[i + 1] & PLACE_SECOND or not flags[i] & flags[i + 1] & CAPITAL:
        return False
    return i + 2 >= n or not flags[i + 2] & CAPITAL or (flags[i + 2] & (OPENS | PAUSE)) != 0


cdef int types_named(
    const uint32_t* words, const uint8_t* flags, const uint32_t* roles, int64_t n
) noexcept nogil:
    """Return the types of named things in one text as bits."""
    cdef int types = 0
    cdef int64_t n_capital = 0, run_end = 0, i
    cdef uint32_t word, before, name_kind
    cdef bint telling, opens
    for i in range(n):
        n_capital += (flags[i] & CAPITAL) != 0
    # A text all in capitals or in title case says nothing by its capitals.
    telling = (n_capital < n and (n < 6 or n_capital < 0.7 * n)) or n == 1
    for i in range(n):
        word = words[i]
        types |= times_and_numbers(words, flags, roles, i, n)
        if i < run_end:
            continue
        before = words[i - 1] if i > 0 else 0
        if word & PLACE_FIRST and is_place_of_two_words(words, flags, i, n):
            types |= LOC
            run_end = i + 2
            continue
        if flags[i] & CAPITALS and word & PLACE_IN_CAPITALS and telling:
            types |= LOC
        elif not telling or not flags[i] & CAPITAL or word & COMMON:
            if word & NEEDS_NO_CAPITAL:
                types |= LOC if word & PLACE else NORP
        else:
            run_end = run_end_of(words, flags, i, n)
            opens = i == 0 or (flags[i] & (OPENS | QUOTED) and not before & TITLE)
            name_kind = word & (GIVEN_NAME | PLACE | PEOPLE | ORGANISATION | OTHER_NAME)
            if opens and not name_kind and run_end - i == 1 and not flags[i] & CAPITALS:
                if opening_name(words, flags, roles, i, n):
                    types |= PERSON
            else:
                types |= run_type(words, flags, i, run_end)
    return types


def tenses(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const uint32_t[::1] word_roles,
    const uint8_t[::1] flags,
):
    """Return the tense of every text: 0 none, 1 past, 2 present, 3 future."""
    cdef int8_t[::1] out = np.zeros(len(offsets) - 1, dtype=np.int8)
    cdef int64_t row, start, n, i
    cdef uint32_t[::1] roles = np.empty(max(1, np.diff(offsets).max(initial=0)), dtype=np.uint32)
    cdef int tense
    with nogil:
        for row in range(offsets.shape[0] - 1):
            start = offsets[row]
            n = offsets[row + 1] - start
            if n == 0:
                continue
            for i in range(n):
                roles[i] = word_roles[ids[start + i]]
            tense = tense_of(&roles[0], &flags[start], 0, n)
            out[row] = tense if tense < UNTENSED else 0
    return out.base


def named_things(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const uint32_t[::1] entity_words,
    const uint32_t[::1] word_roles,
    const uint8_t[::1] flags,
):
    """Return for every text the types of the things it names, as bits."""
    cdef uint8_t[::1] out = np.zeros(len(offsets) - 1, dtype=np.uint8)
    cdef int64_t row, start, n, i, longest = max(1, np.diff(offsets).max(initial=0))
    cdef uint32_t[::1] words = np.empty(longest, dtype=np.uint32)
    cdef uint32_t[::1] roles = np.empty(longest, dtype=np.uint32)
    with nogil:
        for row in range(offsets.shape[0] - 1):
            start = offsets[row]
            n = offsets[row + 1] - start
            if n == 0:
                continue
            for i in range(n):
                words[i] = entity_words[ids[start + i]]
                roles[i] = word_roles[ids[start + i]]
            out[row] = types_named(&words[0], &flags[start], &roles[0], n)
    return out.base
