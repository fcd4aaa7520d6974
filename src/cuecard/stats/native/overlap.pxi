# Words of raw bytes with their places, and runs of them that two texts share: one pass, without decoding.

cdef extern from *:
    """
    #define WORD_START 1469598103934665603ULL
    #define RUN_BITS ((1ULL << 23) - 1)
    """
    uint64_t WORD_START
    uint64_t RUN_BITS  # bits that rule out nearly every run of words before the table is looked at


# A text's words: its bytes, where each word begins and ends.
cdef struct Words:
    const uint8_t* data
    const int64_t* starts
    const int64_t* ends


cdef Words words_of(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends) noexcept:
    cdef Words words
    words.data = &data[0] if data.shape[0] else NULL
    words.starts = &starts[0] if starts.shape[0] else NULL
    words.ends = &ends[0] if ends.shape[0] else NULL
    return words


def word_hashes(const uint8_t[::1] data, bint escapes):
    """Return hash, first byte and end of every word of UTF-8 text; letters of A–Z count as lower case.

    A word is a run of letters, digits and bytes above 127; every Chinese, Japanese or Korean character is a word of its
    own, and general punctuation (dashes, curly quotes) ends one. With `escapes`, a backslash and what follows (JSON)
    ends a word, too.
    """
    cdef int64_t n = data.shape[0], count = 0, start = -1, i = 0, k, step
    cdef int64_t most = n // 2 + 2  # a word has a byte and what ends it, or three bytes
    cdef uint64_t[::1] hashes = np.empty(most, np.uint64)
    cdef int64_t[::1] starts = np.empty(most, np.int64)
    cdef int64_t[::1] ends = np.empty(most, np.int64)
    cdef uint64_t value = WORD_START
    cdef int byte
    cdef bint inside, alone
    with nogil:
        while i < n:
            byte = data[i]
            step = 1
            inside = (48 <= byte <= 57) or (65 <= byte <= 90) or (97 <= byte <= 122) or byte >= 128
            alone = False
            if escapes and byte == 92:
                inside = False
                step = 6 if i + 1 < n and data[i + 1] == 117 else 2
            elif byte == 0xE2 or byte == 0xEF or (byte == 0xE3 and i + 1 < n and data[i + 1] == 0x80):
                inside = False
                step = 3
            elif 0xE3 <= byte <= 0xED:
                inside = False
                alone = i + 2 < n
                step = 3
            if inside:
                if start < 0:
                    start = i
                    value = WORD_START
                value = (value ^ <uint64_t> lower_byte(<uint8_t> byte)) * FNV_PRIME
            elif start >= 0:
                hashes[count] = value
                starts[count] = start
                ends[count] = i
                count += 1
                start = -1
            if alone:
                value = WORD_START
                for k in range(3):
                    value = (value ^ data[i + k]) * FNV_PRIME
                hashes[count] = value
                starts[count] = i
                ends[count] = i + 3
                count += 1
            i += step
        if start >= 0:
            hashes[count] = value
            starts[count] = start
            ends[count] = n
            count += 1
    return hashes.base[:count].copy(), starts.base[:count].copy(), ends.base[:count].copy()


def prefix_hashes(const uint64_t[::1] words):
    """Return the hash of the first 0, 1, 2, … words, from which that of any run follows."""
    cdef uint64_t[::1] sums = np.zeros(len(words) + 1, np.uint64)
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            sums[i + 1] = sums[i] * GOLDEN + words[i]
    return sums.base


cdef inline uint64_t run_hash(
    const uint64_t[::1] sums, const uint64_t[::1] power, int64_t first, int64_t size, uint64_t bits
) noexcept nogil:
    cdef uint64_t value = (sums[first + size] - sums[first] * power[size]) ^ (<uint64_t> size * MIX_A)
    value = (value ^ (value >> 32)) * MIX_A
    return (value ^ (value >> 29)) & bits


cdef inline uint8_t lower_byte(uint8_t byte) noexcept nogil:
    return byte + 32 if 65 <= byte <= 90 else byte


cdef bint same_words(const Words* a, int64_t i, const Words* b, int64_t j, int64_t size) noexcept nogil:
    """Return whether `size` words are the same byte by byte, from word i of one text and word j of the other on."""
    cdef int64_t k, start, other, length, byte
    for k in range(size):
        start = a.starts[i + k]
        other = b.starts[j + k]
        length = a.ends[i + k] - start
        if b.ends[j + k] - other != length:
            return False
        for byte in range(length):
            if lower_byte(a.data[start + byte]) != lower_byte(b.data[other + byte]):
                return False
    return True


def number_runs(
    const uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] ends,
    const uint64_t[::1] sums,
    const uint64_t[::1] power,
    const int64_t[::1] first,
    const int64_t[::1] sizes,
    uint64_t bits,
):
    """Return the number of every run of words, equal for equal words, and the table to look runs up in.

    `first` is the first word and `sizes` the words of every run. Of the table: the hash and the number of every slot,
    which is -1 where it is empty, bits of the hashes that occur, and the first run of each number.
    """
    cdef int64_t slots = 16, n = 0, run, other
    while slots < 2 * first.shape[0]:
        slots *= 2
    cdef uint64_t[::1] keys = np.zeros(slots, np.uint64)
    cdef int64_t[::1] held = np.full(slots, -1, np.int64)
    cdef uint8_t[::1] occurs = np.zeros((1 << 23) // 8, np.uint8)
    cdef int64_t[::1] numbers = np.empty(len(first), np.int64)
    cdef int64_t[::1] leading = np.empty(len(first), np.int64)
    cdef uint64_t last = <uint64_t> slots - 1, key, slot, mark
    cdef Words words = words_of(data, starts, ends)
    with nogil:
        for run in range(first.shape[0]):
            key = run_hash(sums, power, first[run], sizes[run], bits)
            slot = key & last
            while held[slot] >= 0:
                other = leading[held[slot]]
                if (
                    keys[slot] == key
                    and sizes[other] == sizes[run]
                    and same_words(&words, first[run], &words, first[other], sizes[run])
                ):
                    break
                slot = (slot + 1) & last
            if held[slot] < 0:
                keys[slot] = key
                held[slot] = n
                leading[n] = run
                n += 1
                mark = (key >> 29) & RUN_BITS
                occurs[mark >> 3] |= <uint8_t> (1 << (mark & 7))
            numbers[run] = held[slot]
    return numbers.base, keys.base, held.base, occurs.base, leading.base[:n].copy()


def search_runs(
    const uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] ends,
    const uint64_t[::1] sums,
    const uint64_t[::1] power,
    int64_t again,
    const int64_t[::1] widths,
    uint64_t bits,
    const uint64_t[::1] keys,
    const int64_t[::1] held,
    const uint8_t[::1] occurs,
    const int64_t[::1] first,
    const int64_t[::1] sizes,
    const int64_t[::1] leading,
    const uint8_t[::1] known,
    const int64_t[::1] known_starts,
    const int64_t[::1] known_ends,
    const int64_t[::1] known_first,
    const int64_t[::1] known_sizes,
    const int64_t[::1] post_starts,
    int64_t[::1] post_ends,
    int64_t[::1] post_texts,
    int64_t[::1] post_places,
    int64_t[::1] counts,
    int64_t[::1] listed,
    int64_t most,
    int64_t counted_only,
):
    """Return the maximal runs of words that a chunk of a corpus shares with texts: text, words from and to, and where.

    Every run of the table that the chunk holds is counted, those of the first `again` bytes excepted: they were counted
    with the chunk before. Maximal runs begin where the words before differ; of each text at most `most` are returned. A
    text that has as many is taken out of the lists of texts (`post_…`) that share a run, so that each list is read a
    bounded number of times, however many texts share it and however often it occurs.
    """
    cdef int64_t[:, ::1] spans = np.empty((64, 5), np.int64)
    cdef int64_t used = 0, n = starts.shape[0], i, w, size, number, run, k, text, place, word, end
    cdef uint64_t last = <uint64_t> keys.shape[0] - 1, key, mark, slot
    cdef bint is_new
    cdef Words words = words_of(data, starts, ends), texts = words_of(known, known_starts, known_ends)
    with nogil:
        for i in range(n):
            for w in range(widths.shape[0]):
                size = widths[w]
                if i + size > n:
                    continue
                key = run_hash(sums, power, i, size, bits)
                mark = (key >> 29) & RUN_BITS
                if not (occurs[mark >> 3] >> (mark & 7)) & 1:
                    continue
                slot = key & last
                number = -1
                while held[slot] >= 0:
                    run = leading[held[slot]]
                    if (
                        keys[slot] == key
                        and sizes[run] == size
                        and same_words(&words, i, &texts, first[run], size)
                    ):
                        number = held[slot]
                        break
                    slot = (slot + 1) & last
                if number < 0:
                    continue
                is_new = ends[i + size - 1] > again
                counts[number] += is_new
                if size == counted_only:
                    continue
                k = post_starts[number]
                while k < post_ends[number]:
                    text = post_texts[k]
                    place = post_places[k]
                    if listed[text] >= most:
                        post_ends[number] -= 1
                        post_texts[k] = post_texts[post_ends[number]]
                        post_places[k] = post_places[post_ends[number]]
                        continue
                    k += 1
                    word = known_first[text] + place
                    if place > 0 and i > 0 and same_words(&words, i - 1, &texts, word - 1, 1):
                        continue
                    end = size
                    while (
                        place + end < known_sizes[text]
                        and i + end < n
                        and same_words(&words, i + end, &texts, word + end, 1)
                    ):
                        end += 1
                    if ends[i + end - 1] <= again:
                        continue
                    listed[text] += is_new
                    if used == spans.shape[0]:
                        with gil:
                            spans = np.concatenate([spans.base, np.empty_like(spans.base)])
                    spans[used, 0] = text
                    spans[used, 1] = place
                    spans[used, 2] = place + end
                    spans[used, 3] = starts[i]
                    spans[used, 4] = ends[i + end - 1]
                    used += 1
    return spans.base[:used]
