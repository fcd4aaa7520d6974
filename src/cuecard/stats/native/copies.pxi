# Near copies: texts as hashes of their words, the numbers of bands, and the units of texts that are alike.

cdef extern from *:
    """
    #define FNV_START 0xCBF29CE484222325ULL
    #define FNV_PRIME 0x100000001B3ULL
    /* The least hash of every salt over the words of a text. Whole numbers: the same whatever the processor. */
    WIDEST
    static void cuecard_lower_hashes(
        uint64_t *least, const uint64_t *salts, int64_t n_salts, const uint64_t *words, int64_t n_words
    ) {
        for (int64_t i = 0; i < n_words; i++) {
            uint64_t word = words[i] ^ (words[i] >> 30);
            for (int64_t layer = 0; layer < n_salts; layer++) {
                uint64_t value = (word ^ salts[layer]) * MIX_A;
                value = (value ^ (value >> 27)) * MIX_B;
                least[layer] = value < least[layer] ? value : least[layer];
            }
        }
    }
    """
    uint64_t FNV_START
    uint64_t FNV_PRIME
    void lower_hashes "cuecard_lower_hashes" (
        uint64_t* least, const uint64_t* salts, int64_t n_salts, const uint64_t* words, int64_t n_words
    ) noexcept nogil

cdef enum:
    # Texts are in the order of their hashes, so each comes from another place in memory: it is fetched this many texts
    # ahead.
    TEXTS_AHEAD = 8
    KEYS_AHEAD = 16
    # Up to this many numbers are sorted one by one; a sort that halves them costs more than it saves.
    SHORT = 64

# What a byte does that is read as no letter: it ends a word, or begins a character that is a word by itself. The sign
# is added to the letter of a byte that is neither an ASCII letter nor a separator.
cpdef enum:
    SEPARATES = 0
    SIGN = 1 << 8
    CHARACTER_ALONE = 1 << 9


cdef inline uint64_t mixed_bits(uint64_t value) noexcept nogil:
    """Return a number whose bits all depend on all bits of the given one (the finaliser of SplitMix64)."""
    value = (value ^ (value >> 30)) * MIX_A
    value = (value ^ (value >> 27)) * MIX_B
    return value ^ (value >> 31)


def byte_hashes(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return the hash of every text's bytes."""
    cdef int64_t n = offsets.shape[0] - 1, row, i
    cdef uint64_t[::1] hashes = np.empty(n, dtype=np.uint64)
    cdef uint64_t value
    with nogil:
        for row in range(n):
            value = FNV_START
            for i in range(offsets[row], offsets[row + 1]):
                value = (value ^ data[i]) * FNV_PRIME
            hashes[row] = mixed_bits(value)
    return hashes.base


def fold_rows(
    const uint8_t[::1] data, const int64_t[::1] offsets, const uint64_t[::1] actions, uint64_t[::1] words
):
    """Return the hash of every text's words in order, where its words begin, and which texts have signs.

    The words' hashes are written into `words`, which has room for half as many as there are bytes and one per text.
    `actions` says what each byte does: the letter it is read as, plus `SIGN` where it is none, or `CHARACTER_ALONE`
    where it begins a character that is a word by itself, or 0 where it ends a word. A text without any word is hashed
    as it stands. One that repeats the text before it, as the question of several choices does, is not read again.
    """
    cdef int64_t n = offsets.shape[0] - 1, used = 0, row, i, end, size, before, j, place
    cdef uint64_t[::1] hashes = np.empty(n, dtype=np.uint64)
    cdef int64_t[::1] starts = np.zeros(n + 1, dtype=np.int64)
    signs_array = np.zeros(n, dtype=np.bool_)
    cdef uint8_t[::1] signs = signs_array.view(np.uint8)
    cdef const uint8_t* bytes = &data[0] if data.shape[0] else NULL
    cdef const uint64_t* does = &actions[0]
    cdef uint64_t text, word, action, seen
    with nogil:
        for row in range(n):
            i = offsets[row]
            end = offsets[row + 1]
            if row > 0 and end - i == i - offsets[row - 1]:
                before = offsets[row - 1]
                size = end - i
                j = 0
                while j < size and bytes[before + j] == bytes[i + j]:
                    j += 1
                if j == size:
                    for j in range(starts[row - 1], starts[row]):
                        words[used] = words[j]
                        used += 1
                    starts[row + 1] = used
                    hashes[row] = hashes[row - 1]
                    signs[row] = signs[row - 1]
                    continue
            text = FNV_START
            seen = 0
            while i < end:
                action = does[bytes[i]]
                if action == SEPARATES:
                    i += 1
                    continue
                word = FNV_START
                if action == CHARACTER_ALONE:
                    word = (word ^ bytes[i]) * FNV_PRIME
                    i += 1
                    while i < end and bytes[i] & 0xC0 == 0x80:
                        word = (word ^ bytes[i]) * FNV_PRIME
                        i += 1
                else:
                    while action != SEPARATES and action != CHARACTER_ALONE:
                        word = (word ^ (action & 255)) * FNV_PRIME
                        seen |= action
                        i += 1
                        if i == end:
                            break
                        action = does[bytes[i]]
                word = mixed_bits(word)
                words[used] = word
                text = (text ^ word) * FNV_PRIME
                used += 1
            starts[row + 1] = used
            if used == starts[row]:
                for place in range(offsets[row], end):
                    seen |= SIGN
                    if bytes[place] > 32:
                        text = (text ^ bytes[place]) * FNV_PRIME
            hashes[row] = mixed_bits(text)
            signs[row] = seen >= SIGN
    return hashes.base, starts.base, signs_array


cdef int first_bits_of(int64_t width) noexcept nogil:
    """Return how far a word is shifted so that its first bits name one of 64 × `width` bits."""
    cdef int first_bits = 6
    while (<int64_t> 1 << first_bits) < 64 * width:
        first_bits += 1
    return 64 - first_bits


cdef void write_keys(const uint64_t* least, uint64_t[:, ::1] keys, int64_t place, int64_t height) noexcept nogil:
    """Write the numbers of the bands of a text, each of `height` of its least hashes."""
    cdef int64_t band, layer
    cdef uint64_t key
    for band in range(keys.shape[0]):
        key = FNV_START
        for layer in range(band * height, (band + 1) * height):
            # The last step of `mixed_bits`, which keeps the order of hashes: it is not done for every word and salt.
            key = (key ^ (least[layer] ^ (least[layer] >> 31))) * FNV_PRIME
        keys[band, place] = key


def band_keys(
    const uint64_t[::1] words,
    const int64_t[::1] starts,
    const int64_t[::1] runs,
    int64_t height,
    uint64_t[:, ::1] keys,
    uint64_t[:, ::1] run_keys,
    uint64_t[:, ::1] bits,
    uint64_t[:, ::1] run_bits,
    int64_t first,
    int64_t first_run,
    int64_t least_words,
):
    """Write a number per band for every text and every run of texts, made of words in any order, and bits of the words.

    Two texts share a number with probability (Jaccard index) ^ height. Texts from `runs[i]` to `runs[i + 1]` are one
    run, such as the choices of a question: the least hash of its words is the least of its texts'. `first` texts and
    `first_run` runs stand before these. Of 64 × `width` bits of a text, a power of two, one is set for each word; where
    the width is 0, none are written. Of texts with fewer than `least_words` words, nothing is written.
    """
    cdef int64_t bands = keys.shape[0], width = bits.shape[1], n_runs = runs.shape[0] - 1, run = 0, i, j, layer
    # Eight at a time, so that none is left to be made alone.
    cdef int64_t hashes = (bands * height + 7) // 8 * 8
    cdef uint64_t[::1] salts = np.arange(1, hashes + 1).astype(np.uint64)
    cdef uint64_t[::1] least = np.empty(hashes, dtype=np.uint64)
    cdef uint64_t[::1] least_of_run = np.empty(hashes, dtype=np.uint64)
    cdef const uint64_t* own = &words[0] if words.shape[0] else NULL
    cdef int shift = first_bits_of(width)
    cdef uint64_t place
    with nogil:
        for layer in range(hashes):
            # The first step of `mixed_bits` is the same for a word and a salt apart.
            salts[layer] *= GOLDEN
            salts[layer] ^= salts[layer] >> 30
        memset(&least_of_run[0], 255, hashes * sizeof(uint64_t))
        for i in range(starts.shape[0] - 1):
            if starts[i + 1] - starts[i] < least_words:
                continue
            memset(&least[0], 255, hashes * sizeof(uint64_t))
            lower_hashes(&least[0], &salts[0], hashes, own + starts[i], starts[i + 1] - starts[i])
            write_keys(&least[0], keys, first + i, height)
            if width > 0:
                memset(&bits[first + i, 0], 0, width * sizeof(uint64_t))
                for j in range(starts[i], starts[i + 1]):
                    place = own[j] >> shift
                    bits[first + i, place >> 6] |= <uint64_t> 1 << (place & 63)
            if run < n_runs:
                for layer in range(hashes):
                    least_of_run[layer] = min(least_of_run[layer], least[layer])
                if width > 0:
                    if i == runs[run]:
                        memset(&run_bits[first_run + run, 0], 0, width * sizeof(uint64_t))
                    for j in range(width):
                        run_bits[first_run + run, j] |= bits[first + i, j]
                if i + 1 == runs[run + 1]:
                    write_keys(&least_of_run[0], run_keys, first_run + run, height)
                    memset(&least_of_run[0], 255, hashes * sizeof(uint64_t))
                    run += 1


def wide_bits(const uint64_t[::1] words, const int64_t[::1] starts, const int64_t[::1] rows, int64_t width):
    """Return 64 × `width` bits, a power of two, for every text of `rows`, one of them set for each word.

    Texts that differ in few words differ in few bits, and a text has at least as many different words as bits.
    """
    cdef uint64_t[:, ::1] bits = np.zeros((len(rows), width), dtype=np.uint64)
    cdef int64_t i, j, ahead
    cdef int shift = first_bits_of(width)
    cdef uint64_t place
    with nogil:
        for i in range(rows.shape[0]):
            if i + 2 * TEXTS_AHEAD < rows.shape[0]:
                prefetch(&starts[rows[i + 2 * TEXTS_AHEAD]])
                ahead = starts[rows[i + TEXTS_AHEAD]]
                if ahead < words.shape[0]:
                    prefetch(&words[ahead])
            for j in range(starts[rows[i]], starts[rows[i] + 1]):
                place = words[j] >> shift
                bits[i, place >> 6] |= <uint64_t> 1 << (place & 63)
    return bits.base


cdef int compare_hashes(const void* a, const void* b) noexcept nogil:
    cdef uint64_t one = (<const uint64_t*> a)[0], two = (<const uint64_t*> b)[0]
    return (one > two) - (one < two)


def word_sets(
    const uint64_t[::1] words, const int64_t[::1] starts, const int64_t[::1] rows, const uint8_t[::1] needed
):
    """Return the distinct words of texts of `rows`, each text's in rising order, and where each text's begin.

    Texts that are not `needed` have none.
    """
    cdef int64_t total = 0, used = 0, i, j, first, start, place
    for i in range(rows.shape[0]):
        if needed[i]:
            total += starts[rows[i] + 1] - starts[rows[i]]
    cdef uint64_t[::1] sets = np.empty(total, dtype=np.uint64)
    cdef int64_t[::1] bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    cdef uint64_t word
    with nogil:
        for i in range(rows.shape[0]):
            start = starts[rows[i]]
            first = used
            if needed[i] and starts[rows[i] + 1] - start > SHORT:
                for j in range(start, starts[rows[i] + 1]):
                    sets[used] = words[j]
                    used += 1
                qsort(&sets[first], used - first, sizeof(uint64_t), compare_hashes)
                place = first
                for j in range(first + 1, used):
                    if sets[j] != sets[place]:
                        place += 1
                        sets[place] = sets[j]
                used = place + 1
            elif needed[i]:
                for j in range(start, starts[rows[i] + 1]):
                    word = words[j]
                    place = used
                    while place > first and sets[place - 1] > word:
                        place -= 1
                    if place > first and sets[place - 1] == word:
                        continue
                    memmove(&sets[0] + place + 1, &sets[0] + place, (used - place) * sizeof(uint64_t))
                    sets[place] = word
                    used += 1
            bounds[i + 1] = used
    return sets.base[:used], bounds.base


cdef inline void meet(uint64_t[::1] once, uint64_t[::1] again, uint64_t number) noexcept nogil:
    """Set the bit of a number that is met, of `again` where it was met before; in place."""
    cdef uint64_t bit = <uint64_t> 1 << (number & 63)
    again[number >> 6] |= once[number >> 6] & bit
    once[number >> 6] |= bit


def repeated(const uint64_t[::1] keys):
    """Return the places of all keys that occur more than once, in rising order, and of very few others.

    Keys are told apart by their last bits, and those that these do not tell apart by their first: much cheaper than to
    sort them. What was met once, and what more often, takes one bit each, so that the processor's cache holds them.
    """
    cdef int64_t n = keys.shape[0], used = 0, kept = 0, i
    cdef int first_bits = 6, shift
    while (<int64_t> 1 << first_bits) < 8 * n:
        first_bits += 1
    cdef uint64_t last_bits = (<uint64_t> 1 << first_bits) - 1, number
    cdef uint64_t[::1] once = np.zeros(1 << (first_bits - 6), dtype=np.uint64)
    cdef uint64_t[::1] again = np.zeros(len(once), dtype=np.uint64)
    cdef int64_t[::1] places = np.empty(n + 1, dtype=np.int64)
    with nogil:
        for i in range(n):
            meet(once, again, keys[i] & last_bits)
        for i in range(n):
            number = keys[i] & last_bits
            places[used] = i
            used += (again[number >> 6] >> (number & 63)) & 1
        while first_bits > 6 and (<int64_t> 1 << (first_bits - 3)) > used:
            first_bits -= 1
        shift = 64 - first_bits
        once[:] = 0
        again[:] = 0
        for i in range(used):
            meet(once, again, keys[places[i]] >> shift)
        for i in range(used):
            number = keys[places[i]] >> shift
            places[kept] = places[i]
            kept += (again[number >> 6] >> (number & 63)) & 1
    return places.base[:kept]


def rising_order(const uint64_t[::1] keys):
    """Return the places of keys from the smallest to the largest, equal keys in the order in which they stand.

    Keys are random numbers, so that their first bits tell nearly all of them apart: five times quicker than a sort.
    """
    cdef int64_t n = keys.shape[0], i, first, place
    cdef int first_bits = 1, shift
    while (<int64_t> 1 << first_bits) < n and first_bits < 24:
        first_bits += 1
    shift = 64 - first_bits
    cdef uint32_t[::1] ends = np.zeros((1 << first_bits) + 1, dtype=np.uint32)
    cdef int64_t[::1] order = np.empty(n, dtype=np.int64)
    cdef uint32_t[::1] used
    cdef uint64_t part
    with nogil:
        for i in range(n):
            ends[(keys[i] >> shift) + 1] += 1
        for i in range(1, ends.shape[0]):
            ends[i] += ends[i - 1]
    used = ends.base[: ends.shape[0] - 1].copy()
    with nogil:
        for i in range(n):
            part = keys[i] >> shift
            first = ends[part]
            place = used[part]
            used[part] += 1
            while place > first and keys[order[place - 1]] > keys[i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
    return order.base


cdef inline double jaccard(
    const uint64_t[::1] sets, int64_t i, int64_t end_a, int64_t j, int64_t end_b
) noexcept nogil:
    """Return the Jaccard index of two sets of sorted words, from places i and j of `sets` to their ends."""
    cdef int64_t size = (end_a - i) + (end_b - j), together = 0
    while i < end_a and j < end_b:
        if sets[i] == sets[j]:
            together += 1
            i += 1
            j += 1
        elif sets[i] < sets[j]:
            i += 1
        else:
            j += 1
    return <double> together / (size - together)


cdef inline counts_t leader_of(counts_t[::1] leader, counts_t text) noexcept nogil:
    """Return the text that leads a text's unit, and let all on the way to it follow it at once."""
    cdef counts_t first = text, following
    while leader[first] != first:
        first = leader[first]
    while leader[text] != first:
        following = leader[text]
        leader[text] = first
        text = following
    return first


cdef inline void join(counts_t[::1] leader, counts_t one, counts_t two) noexcept nogil:
    """Join the units of two texts; the first of all leads them."""
    cdef counts_t first = leader_of(leader, one), second = leader_of(leader, two)
    leader[max(first, second)] = min(first, second)


def join_alike(
    const int64_t[:, ::1] texts,
    const uint64_t[::1] sets,
    const int64_t[:, ::1] bounds,
    const uint64_t[::1] bits,
    int64_t[::1] leader,
    double threshold,
    double loose,
):
    """Join the units of texts that are alike enough, and whose leaders are loosely alike; in place.

    `texts` has a row for each text: itself, and two others that it is compared with. Their words are only looked at
    where `bits` (one of 64 for each word) do not already rule out that enough of them are shared. The words of a text
    are those of `sets` between its two `bounds`; a text without any is ruled out, too.
    """
    # Sets of s words together that differ in d of them have the Jaccard index (s - d) / (s + d).
    cdef double most = (1 - threshold) / (1 + threshold)
    cdef int64_t i, text, other, turn, mine, theirs, words
    with nogil:
        for i in range(texts.shape[0]):
            text = texts[i, 0]
            for turn in range(1, 3):
                other = texts[i, turn]
                if bounds[text, 0] == bounds[text, 1] or bounds[other, 0] == bounds[other, 1]:
                    continue
                mine = leader_of(leader, text)
                theirs = leader_of(leader, other)
                if mine == theirs:
                    break
                words = bounds[text, 1] - bounds[text, 0] + bounds[other, 1] - bounds[other, 0]
                if count_bits(bits[text] ^ bits[other]) > most * words + 1e-9:
                    continue
                if jaccard(
                    sets, bounds[text, 0], bounds[text, 1], bounds[other, 0], bounds[other, 1]
                ) < threshold or jaccard(
                    sets, bounds[mine, 0], bounds[mine, 1], bounds[theirs, 0], bounds[theirs, 1]
                ) < loose:
                    continue
                leader[max(mine, theirs)] = min(mine, theirs)
                break


cdef inline bint maybe(
    const uint64_t[:, ::1] bits, const int64_t[::1] sizes, int64_t text, int64_t other, double most
) noexcept nogil:
    """Return whether bits do not rule out that two texts share enough words."""
    cdef int64_t part, differing = 0
    for part in range(bits.shape[1]):
        differing += count_bits(bits[text, part] ^ bits[other, part])
    return differing <= most * (sizes[text] + sizes[other]) + 1e-9


def maybe_alike(
    const uint64_t[::1] keys,
    const int64_t[::1] order,
    const int64_t[::1] sizes,
    const uint64_t[:, ::1] bits,
    double threshold,
    uint8_t[::1] needed,
):
    """Return what `join_alike` takes: texts with the same key that `bits` do not tell apart; these are marked, too.

    `order` holds texts by `keys`. A text is compared with the first of those with its key, and with the one before it.
    `sizes` are their numbers of words, repeated ones included.
    """
    cdef double most = (1 - threshold) / (1 + threshold)
    cdef int64_t start = 0, used = 0, place, text, first, before
    cdef bint like_first, like_before
    cdef int64_t[:, ::1] found = np.empty((order.shape[0], 3), dtype=np.int64)
    with nogil:
        for place in range(1, order.shape[0]):
            if keys[place] != keys[start]:
                start = place
                continue
            text = order[place]
            first = order[start]
            before = order[place - 1]
            if place + KEYS_AHEAD < order.shape[0]:
                prefetch(&bits[order[place + KEYS_AHEAD], 0])
                prefetch(&sizes[order[place + KEYS_AHEAD]])
            like_first = maybe(bits, sizes, text, first, most)
            like_before = like_first if before == first else maybe(bits, sizes, text, before, most)
            if like_first or like_before:
                found[used, 0] = text
                found[used, 1] = first
                found[used, 2] = before
                used += 1
                needed[text] = True
                needed[first if like_first else before] = True
                needed[before if like_before else first] = True
    return found.base[:used]


def leaders(const int64_t[::1] leader):
    """Return the text that leads the unit of every text."""
    cdef int64_t[::1] roots = np.array(leader, dtype=np.int64)
    cdef int64_t text
    with nogil:
        for text in range(roots.shape[0]):
            roots[text] = leader_of(roots, text)
    return roots.base


def shared_words(
    const uint64_t[::1] words,
    const int64_t[::1] starts,
    const uint64_t[::1] others,
    const int64_t[::1] other_starts,
    const int64_t[::1] runs,
):
    """Return how many different words of every text another text has, too: that of its run, such as their prompt.

    Texts from `runs[i]` to `runs[i + 1]` are compared with the other text i. Its words are looked up by their first
    bits in a table, in which those of other runs count as none.
    """
    cdef int64_t[::1] counts = np.zeros(len(starts) - 1, dtype=np.int64)
    cdef int64_t longest = 0, run, i, row
    for run in range(runs.shape[0] - 1):
        longest = max(longest, other_starts[run + 1] - other_starts[run])
    cdef int first_bits = 10
    while (<int64_t> 1 << first_bits) < 4 * longest:
        first_bits += 1
    cdef int shift = 64 - first_bits
    cdef uint64_t last = (<uint64_t> 1 << first_bits) - 1, place
    cdef int64_t[::1] of_run = np.full(1 << first_bits, -1, dtype=np.int64)
    cdef uint64_t[::1] held = np.empty(1 << first_bits, dtype=np.uint64)
    cdef int64_t[::1] met = np.empty(1 << first_bits, dtype=np.int64)
    with nogil:
        for run in range(runs.shape[0] - 1):
            for i in range(other_starts[run], other_starts[run + 1]):
                place = others[i] >> shift
                while of_run[place] == run and held[place] != others[i]:
                    place = (place + 1) & last
                of_run[place] = run
                held[place] = others[i]
                met[place] = -1
            for row in range(runs[run], runs[run + 1]):
                for i in range(starts[row], starts[row + 1]):
                    place = words[i] >> shift
                    while of_run[place] == run and held[place] != words[i]:
                        place = (place + 1) & last
                    if of_run[place] == run and met[place] != row:
                        met[place] = row
                        counts[row] += 1
    return counts.base


def first_places(const uint64_t[::1] keys):
    """Return for every key the place of the first one that equals it."""
    cdef int64_t n = keys.shape[0], i, last
    cdef int first_bits = 1, shift
    while (<int64_t> 1 << first_bits) < 2 * n:
        first_bits += 1
    shift = 64 - first_bits
    last = (<int64_t> 1 << first_bits) - 1
    cdef int64_t[::1] places = np.full(1 << first_bits, -1, dtype=np.int64)  # by key: where it is first
    cdef int64_t[::1] first = np.empty(n, dtype=np.int64)
    cdef int64_t place
    with nogil:
        for i in range(n):
            if i + KEYS_AHEAD < n:
                prefetch(&places[<int64_t> ((keys[i + KEYS_AHEAD] * GOLDEN) >> shift)])
            place = <int64_t> ((keys[i] * GOLDEN) >> shift)
            while places[place] >= 0 and keys[places[place]] != keys[i]:
                place = (place + 1) & last
            if places[place] < 0:
                places[place] = i
            first[i] = places[place]
    return first.base


def join_pairs(const places_t[::1] ones, const places_t[::1] others, counts_t[::1] leader):
    """Join the units of numbers, pair by pair; in place."""
    cdef int64_t i
    with nogil:
        for i in range(ones.shape[0]):
            join(leader, <counts_t> ones[i], <counts_t> others[i])


def nearest(
    const uint64_t[::1] sets,
    const int64_t[::1] bounds,
    const uint64_t[::1] bits,
    const int64_t[::1] order,
    const int64_t[::1] ends,
    int64_t block,
):
    """Return the text that leads each text's group: every text is joined with the nearest one of its unit.

    Texts `order[ends[u]:ends[u + 1]]` are unit u. Of texts that are equally near, a hash of both decides.
    """
    cdef int64_t n = bounds.shape[0] - 1, u, i, j, a, b, last, size, differing
    cdef int64_t[::1] leader = np.arange(n, dtype=np.int64)
    cdef double[::1] best = np.full(n, -1.0)
    cdef uint64_t[::1] tie = np.zeros(n, dtype=np.uint64)
    cdef int64_t[::1] closest = np.full(n, -1, dtype=np.int64)
    cdef double most, index
    cdef uint64_t drawn
    with nogil:
        for u in range(ends.shape[0] - 1):
            for i in range(ends[u], ends[u + 1]):
                a = order[i]
                last = min(ends[u + 1], ends[u] + ((i - ends[u]) // block + 1) * block)
                for j in range(i + 1, last):
                    b = order[j]
                    size = bounds[a + 1] - bounds[a] + bounds[b + 1] - bounds[b]
                    differing = count_bits(bits[a] ^ bits[b])
                    most = <double> (size - differing) / (size + differing)
                    if most < best[a] and most < best[b]:
                        continue
                    index = jaccard(sets, bounds[a], bounds[a + 1], bounds[b], bounds[b + 1])
                    drawn = mixed_bits(
                        sets[bounds[a]] * sets[bounds[b] + 1] + sets[bounds[b]] * sets[bounds[a] + 1]
                    )
                    drawn ^= mixed_bits(bits[a] + bits[b])
                    if index > best[a] or (index == best[a] and drawn > tie[a]):
                        best[a] = index
                        tie[a] = drawn
                        closest[a] = b
                    if index > best[b] or (index == best[b] and drawn > tie[b]):
                        best[b] = index
                        tie[b] = drawn
                        closest[b] = a
        for a in range(n):
            if closest[a] >= 0:
                join(leader, a, closest[a])
    return leaders(leader)


def number_units(counts_t[::1] leader):
    """Replace the leader of every text by the number of its unit, 0, 1, 2, … in order of first occurrence."""
    cdef counts_t used = 0, text
    with nogil:
        for text in range(<counts_t> leader.shape[0]):
            leader[text] = leader_of(leader, text)
        for text in range(<counts_t> leader.shape[0]):
            if leader[text] == text:
                leader[text] = used
                used += 1
            else:
                leader[text] = leader[leader[text]]
