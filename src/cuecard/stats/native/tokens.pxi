# Texts to tokens, and counts of tokens: bytes and integers in, integers out.

# What a character does to the token being read. The byte table holds `kind << 8 | byte to write`, so that a value
# below 256 is a letter of a token.
cpdef enum:
    LETTER = 0  # belongs to a token
    BREAK = 1  # ends a token
    INNER = 2  # belongs to a token if there are letters on both sides (the apostrophe)
    DROP = 3  # is passed over: the letters around it stand together
    ALONE = 4  # is a token of its own
    WIDE = 5  # first byte of a longer character: look its code point up

cdef enum:
    APOSTROPHE = 0x27


cdef inline int64_t slot_of(uint64_t key, int64_t mask) noexcept nogil:
    """Return where in a table a key is looked for first."""
    cdef uint64_t hashed = key * GOLDEN
    return <int64_t> ((hashed ^ (hashed >> 32)) & <uint64_t> mask)


cdef inline uint64_t with_byte(uint64_t key, uint64_t byte) noexcept nogil:
    """Return the key of a token with one more byte; up to eight bytes it is the token itself."""
    return (key << 8 | key >> 56) ^ byte


cdef uint64_t[::1] rehashed(uint64_t[::1] table, int64_t n_slots):
    """Return a larger table of keys and types with every known type in it."""
    cdef int64_t mask = n_slots - 1, old, at
    cdef uint64_t[::1] larger = np.zeros(2 * n_slots, dtype=np.uint64)
    for old in range(0, table.shape[0], 2):
        if table[old + 1] > 0:
            at = 2 * slot_of(table[old], mask)
            while larger[at + 1] != 0:
                at = (at + 2) & (2 * n_slots - 1)
            larger[at] = table[old]
            larger[at + 1] = table[old + 1]
    return larger


def _grown(array, size):
    """Return the array in a larger one of at least `size` places."""
    larger = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


cdef inline int code_point(const uint8_t* data, int* point) noexcept nogil:
    """Return the number of bytes of the character beyond ASCII that begins here, and write its code point."""
    cdef int lead = data[0]
    if lead < 0xE0:
        point[0] = (lead & 0x1F) << 6 | (data[1] & 0x3F)
        return 2
    point[0] = (data[1] & 0x3F) << 6 | (data[2] & 0x3F)
    if lead < 0xF0:
        point[0] |= (lead & 0x0F) << 12
        return 3
    point[0] = (lead & 0x07) << 18 | point[0] << 6 | (data[3] & 0x3F)
    return 4


def encode_rows(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    int64_t first,
    int64_t last,
    const uint16_t[::1] actions,
    const uint8_t[::1] kinds,
):
    """Return token ids, token count per row, and the types' bytes and bounds, for rows `first` to `last`.

    `data[offsets[i]:offsets[i + 1]]` is row i in UTF-8, `actions` says what each byte does and `kinds` what each code
    point above 127 does. Types are numbered in order of first occurrence. On one core it takes a fortieth of the time
    of scikit-learn's CountVectorizer.
    """
    cdef int64_t n_bytes = offsets[last] - offsets[first]
    cdef int32_t[::1] ids = np.empty(n_bytes // 4 + 64, dtype=np.int32)
    cdef int64_t[::1] counts = np.empty(last - first, dtype=np.int64)
    # Tokens are written straight behind the known types; one that turns out to be known is overwritten.
    cdef uint8_t[::1] arena = np.empty(1 << 16, dtype=np.uint8)
    # A slot is a key, and beside it in the same line of the processor's cache the type's size and number, from 1 on.
    cdef uint64_t[::1] table = np.zeros(1 << 15, dtype=np.uint64)
    cdef int64_t[::1] starts = np.zeros((1 << 13) + 1, dtype=np.int64)
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef const uint16_t* does = &actions[0]
    cdef int64_t n_types = 0, n_ids = 0, n_slots, n_same, n_before
    cdef int64_t row, begin, end, length, before, i, j, start, write, size, other, same, token
    cdef uint64_t key, sized, mask, place, entry, action
    cdef uint64_t* slots
    cdef uint8_t* letters
    cdef int64_t* begins
    cdef int32_t* out
    cdef int kind, byte, width, point = 0
    cdef bint inner
    with nogil:
        for row in range(first, last):
            begin = offsets[row]
            end = offsets[row + 1]
            length = end - begin
            if row > first and length == begin - offsets[row - 1] and length > 0:
                # The choices of one question share their premise: a repeated neighbour is copied, not read.
                before = offsets[row - 1]
                i = 0
                while i < length and text[before + i] == text[begin + i]:
                    i += 1
                if i == length:
                    n_same = counts[row - 1 - first]
                    if n_ids + n_same > ids.shape[0]:
                        with gil:
                            ids = _grown(ids.base, n_ids + n_same)
                    for i in range(n_ids, n_ids + n_same):
                        ids[i] = ids[i - n_same]
                    n_ids += n_same
                    counts[row - first] = n_same
                    continue
            # A row has at most as many tokens, new types and token bytes as it has bytes: make room once per row.
            if (
                n_ids + length > ids.shape[0]
                or starts[n_types] + length > arena.shape[0]
                or n_types + length >= starts.shape[0]
            ):
                with gil:
                    if n_ids + length > ids.shape[0]:
                        ids = _grown(ids.base, n_ids + length)
                    if starts[n_types] + length > arena.shape[0]:
                        arena = _grown(arena.base, starts[n_types] + length)
                    if n_types + length >= starts.shape[0]:
                        n_slots = table.shape[0]
                        while n_slots < 2 * (n_types + length):
                            n_slots *= 2
                        starts = _grown(starts.base, n_slots // 2 + 1)
                        table = rehashed(table, n_slots)
            slots = &table[0]
            letters = &arena[0]
            begins = &starts[0]
            out = &ids[0]
            mask = <uint64_t> table.shape[0] - 1

            start = begins[n_types]
            write = start
            key = 0
            inner = False
            n_before = n_ids
            i = begin
            while i <= end:
                if not inner:
                    # Nearly every character of nearly every text goes here.
                    while i < end:
                        action = does[text[i]]
                        if action > 0xFF:
                            break
                        letters[write] = <uint8_t> action
                        key = with_byte(key, action)
                        write += 1
                        i += 1
                kind = BREAK
                byte = 0
                width = 1
                if i < end:
                    byte = does[text[i]]
                    kind = byte >> 8
                    byte &= 0xFF
                    if kind == WIDE:
                        width = code_point(text + i, &point)
                        kind = kinds[point]
                if kind == LETTER:
                    if inner:
                        letters[write] = APOSTROPHE
                        key = with_byte(key, APOSTROPHE)
                        write += 1
                        inner = False
                    if width == 1:
                        letters[write] = <uint8_t> byte
                        key = with_byte(key, byte)
                        write += 1
                    else:
                        for j in range(i, i + width):
                            letters[write] = text[j]
                            key = with_byte(key, text[j])
                            write += 1
                    i += width
                    continue
                if kind == DROP or (kind == INNER and write > start and not inner):
                    inner = inner or kind == INNER
                    i += width
                    continue
                inner = False
                if kind == ALONE:
                    if write > start:
                        width = 0  # the token before it first; this character is read again
                    elif width == 1:
                        letters[write] = <uint8_t> byte
                        key = byte
                        write += 1
                    else:
                        for j in range(i, i + width):
                            letters[write] = text[j]
                            key = with_byte(key, text[j])
                            write += 1
                i += width
                if write == start:
                    continue
                size = write - start
                sized = <uint64_t> size << 32
                place = 2 * slot_of(key, (mask + 1) // 2 - 1)
                while True:
                    entry = slots[place + 1]
                    if entry == 0:
                        token = n_types
                        n_types += 1
                        slots[place] = key
                        slots[place + 1] = sized | <uint64_t> n_types
                        begins[n_types] = write
                        start = write
                        break
                    if slots[place] == key and (entry ^ sized) >> 32 == 0:
                        # Up to eight bytes the key is the token itself.
                        token = <int64_t> (<uint32_t> entry) - 1
                        same = 0
                        if size > 8:
                            other = begins[token]
                            while same < size and letters[other + same] == letters[start + same]:
                                same += 1
                        if size <= 8 or same == size:
                            break
                    place = (place + 2) & mask
                out[n_ids] = <int32_t> token
                n_ids += 1
                write = start
                key = 0
            counts[row - first] = n_ids - n_before
    return ids.base[:n_ids], counts.base, arena.base[: starts[n_types]], starts.base[: n_types + 1]


def number_keys(const int64_t[::1] keys):
    """Return every key's number among the distinct ones (in order of occurrence), and the distinct ones.

    5.7 × numpy's `unique` with its inverse, which sorts.
    """
    cdef int32_t[::1] numbers = np.empty(len(keys), dtype=np.int32)
    cdef int64_t[::1] distinct = np.empty(1 << 10, dtype=np.int64)
    cdef int32_t[::1] slots = np.zeros(1 << 11, dtype=np.int32)
    cdef int64_t n = 0, i, at, key, mask = slots.shape[0] - 1
    cdef int32_t number
    with nogil:
        for i in range(keys.shape[0]):
            if n == distinct.shape[0]:
                with gil:
                    distinct = _grown(distinct.base, 2 * n)
                    slots = np.zeros(4 * n, dtype=np.int32)
                mask = slots.shape[0] - 1
                for number in range(n):
                    at = slot_of(distinct[number], mask)
                    while slots[at] != 0:
                        at = (at + 1) & mask
                    slots[at] = number + 1
            key = keys[i]
            at = slot_of(key, mask)
            while slots[at] != 0 and distinct[slots[at] - 1] != key:
                at = (at + 1) & mask
            if slots[at] == 0:
                distinct[n] = key
                n += 1
                slots[at] = n
            numbers[i] = slots[at] - 1
    return numbers.base, distinct.base[:n]


def ngram_keys(
    const int32_t[::1] prefixes,
    const int64_t[::1] prefix_offsets,
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    int64_t n,
    int64_t n_types,
):
    """Return a key for every run of n tokens within a row, and where each row's keys begin.

    `prefixes` numbers the runs of n − 1 tokens; a key is `prefix · n_types + last token`.
    """
    cdef int64_t n_rows = offsets.shape[0] - 1, row, i, write
    cdef int64_t[::1] key_offsets = np.zeros(n_rows + 1, dtype=np.int64)
    for row in range(n_rows):
        key_offsets[row + 1] = key_offsets[row] + max(0, offsets[row + 1] - offsets[row] - n + 1)
    cdef int64_t[::1] keys = np.empty(key_offsets[n_rows], dtype=np.int64)
    with nogil:
        for row in range(n_rows):
            write = key_offsets[row]
            for i in range(key_offsets[row + 1] - write):
                keys[write + i] = prefixes[prefix_offsets[row] + i] * n_types + ids[offsets[row] + i + n - 1]
    return keys.base, key_offsets.base


def count_presence(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    int64_t first,
    int64_t last,
    const int32_t[::1] codes,
    int64_t n_types,
    int64_t n_codes,
):
    """Return in how many of the rows of each code every type occurs; rows of a negative code are left out.

    6 × scipy's sparse rows without repeats times the labels.
    """
    cdef int64_t[:, ::1] counts = np.zeros((n_types, n_codes), dtype=np.int64)
    cdef int64_t[::1] seen_in = np.full(n_types, -1, dtype=np.int64)
    cdef int64_t row, i
    cdef int32_t code, token
    with nogil:
        for row in range(first, last):
            code = codes[row]
            if code < 0:
                continue
            for i in range(offsets[row], offsets[row + 1]):
                token = ids[i]
                if seen_in[token] != row:
                    seen_in[token] = row
                    counts[token, code] += 1
    return counts.base


def distinct_in_rows(const int32_t[::1] ids, const int64_t[::1] offsets, const int32_t[::1] codes, int64_t n_codes):
    """Return the codes of every row's distinct types in order of occurrence, and where each row's begin.

    Types of a negative code are left out. 4.8 × scipy's `sum_duplicates`.
    """
    cdef int64_t n_rows = offsets.shape[0] - 1, n = 0, row, i
    cdef int64_t[::1] indptr = np.zeros(n_rows + 1, dtype=np.int64)
    cdef int32_t[::1] indices = np.empty(len(ids), dtype=np.int32)
    cdef int64_t[::1] seen_in = np.full(n_codes, -1, dtype=np.int64)
    cdef int32_t code
    with nogil:
        for row in range(n_rows):
            for i in range(offsets[row], offsets[row + 1]):
                code = codes[ids[i]]
                if code >= 0 and seen_in[code] != row:
                    seen_in[code] = row
                    indices[n] = code
                    n += 1
            indptr[row + 1] = n
    return indices.base[:n], indptr.base
