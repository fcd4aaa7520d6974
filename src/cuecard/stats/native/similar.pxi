# Texts that share words in the same order: the nearest of each, and groups of them of limited size.


cdef inline void rise(double* score, int32_t* text, Py_ssize_t n, double added, int32_t of) noexcept nogil:
    """Add a text to a heap, whose first one has the lowest score; n is their number with it."""
    cdef Py_ssize_t at = n - 1
    while at > 0 and score[(at - 1) // 2] > added:
        score[at] = score[(at - 1) // 2]
        text[at] = text[(at - 1) // 2]
        at = (at - 1) // 2
    score[at] = added
    text[at] = of


cdef inline void sink(double* score, int32_t* text, Py_ssize_t n, double added, int32_t of) noexcept nogil:
    """Replace the text of a heap that has the lowest score."""
    cdef Py_ssize_t at = 0, below = 1
    while below < n:
        if below + 1 < n and score[below + 1] < score[below]:
            below += 1
        if score[below] >= added:
            break
        score[at] = score[below]
        text[at] = text[below]
        at = below
        below = 2 * at + 1
    score[at] = added
    text[at] = of


cdef inline Py_ssize_t looked_up_words(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    Py_ssize_t i,
    const int64_t[::1] often,
    int64_t budget,
    int32_t[::1] seen,
    int32_t[::1] words,
) noexcept nogil:
    """Put the different words of text i into `words`, the rarest first, and return how many of them are looked up.

    `seen` has -2 - i for these words then.
    """
    cdef Py_ssize_t n = 0, t, k
    cdef int64_t spent = 0, size
    for k in range(offsets[i], offsets[i + 1]):
        if seen[ids[k]] == -2 - i:
            continue
        seen[ids[k]] = <int32_t> (-2 - i)
        size = often[ids[k]]
        t = n
        while t > 0 and often[words[t - 1]] > size:
            words[t] = words[t - 1]
            t -= 1
        words[t] = ids[k]
        n += 1
    for t in range(n):
        size = often[words[t]]
        if spent + size > (budget if spent else 20 * budget):
            return t
        spent += size
    return n


def nearest_texts(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const int64_t[::1] looked_up,
    Py_ssize_t n_types,
    double common,
    int n_nearest,
    int n_candidates,
    int64_t budget,
    frequency=None,
    Py_ssize_t n_texts=0,
):
    """Return the texts nearest to some, nearest first (-1: none), and how similar they are, from 0 to 1.

    Similar are texts with the same words in the same order: the weight of their longest common subsequence over the
    geometric mean of their weights. It is taken of the candidates that share the rarest words, of which a text looks up
    as many as have `budget` occurrences together. A word that occurs in m of n texts weighs log(n / m) + `common`.
    Where these are not all texts, `frequency` has in how many of all `n_texts` each word occurs.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1
    cdef Py_ssize_t i, j, k, t, b, length, place, q
    # Texts that share a word are anywhere in memory, and are prefetched this far ahead.
    cdef Py_ssize_t longest = 1, n_words, n_touched, n_kept, n_having, ahead = 24
    cdef int32_t word
    cdef double similarity, added
    counts = np.zeros(n_types + 1, dtype=np.int64)
    cdef int64_t[::1] count = counts
    cdef int32_t[::1] seen = np.full(n_types, -1, dtype=np.int32)
    with nogil:
        for i in range(n):
            longest = max(longest, offsets[i + 1] - offsets[i])
            for k in range(offsets[i], offsets[i + 1]):
                if seen[ids[k]] != i:
                    seen[ids[k]] = <int32_t> i
                    count[ids[k] + 1] += 1
    cdef int64_t[::1] often = counts[1:].copy() if frequency is None else frequency
    cdef double[::1] weight = np.log((n_texts or n) / np.maximum(often, 1)) + common
    cdef double[::1] norm = np.zeros(n)
    cdef int32_t[::1] words = np.empty(longest, dtype=np.int32)
    # Only texts with the words that are looked up are listed: of few texts, these are few words, and rare ones.
    listed = np.zeros(n_types, dtype=np.uint8)
    cdef uint8_t[::1] is_listed = listed
    with nogil:
        for q in range(looked_up.shape[0]):
            i = looked_up[q]
            for t in range(looked_up_words(ids, offsets, i, often, budget, seen, words)):
                is_listed[words[t]] = 1
    counts[1:][listed == 0] = 0
    begins = np.cumsum(counts)
    cdef int64_t[::1] begin = begins
    cdef int64_t[::1] end = begins.copy()
    cdef int32_t[::1] having = np.empty(begins[n_types], dtype=np.int32)
    n_having = having.shape[0] - 1
    with nogil:
        for i in range(n):
            for k in range(offsets[i], offsets[i + 1]):
                word = ids[k]
                norm[i] += weight[word]
                # A text that has the word twice is the last one that was listed.
                if is_listed[word] and (end[word] == begin[word] or having[end[word] - 1] != i):
                    having[end[word]] = <int32_t> i
                    end[word] += 1
    nearest = np.full((looked_up.shape[0], n_nearest), -1, dtype=np.int32)
    similarities = np.zeros((looked_up.shape[0], n_nearest))
    cdef int32_t[:, ::1] found = nearest
    cdef double[:, ::1] found_similarity = similarities
    # What a text shares with the one looked up, and one over the root of its norm, side by side in memory.
    cdef double[:, ::1] shared = np.zeros((n, 2))
    cdef int32_t[::1] touched = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] candidate = np.empty(n_candidates, dtype=np.int32)
    cdef double[::1] score = np.empty(n_candidates)
    cdef double[::1] row = np.empty(longest + 1)
    # The last place of a word in the text, and the place before each with the same word.
    cdef int32_t[::1] last = np.empty(n_types, dtype=np.int32)
    cdef int32_t[::1] before = np.empty(longest, dtype=np.int32)
    seen[:] = -1
    with nogil:
        for i in range(n):
            if norm[i] > 0:
                shared[i, 1] = 1 / sqrt(norm[i])
        for q in range(looked_up.shape[0]):
            i = looked_up[q]
            n_words = looked_up_words(ids, offsets, i, often, budget, seen, words)
            for k in range(offsets[i], offsets[i + 1]):
                word = ids[k]
                before[k - offsets[i]] = last[word] if seen[word] == i else -1
                last[word] = k - offsets[i]
                seen[word] = i
            # The weight of rare words that other texts share with it.
            n_touched = 0
            for t in range(n_words):
                added = weight[words[t]]
                for k in range(begin[words[t]], begin[words[t] + 1]):
                    prefetch(&shared[having[min(k + ahead, n_having)], 0])
                    j = having[k]
                    if shared[j, 0] == 0:
                        touched[n_touched] = j
                        n_touched += 1
                    shared[j, 0] += added
            shared[i, 0] = 0
            # Those that share most become candidates.
            n_kept = 0
            for t in range(n_touched):
                j = touched[t]
                similarity = shared[j, 0] * shared[j, 1]
                shared[j, 0] = 0
                if n_kept < n_candidates:
                    if j != i:
                        n_kept += 1
                        rise(&score[0], &candidate[0], n_kept, similarity, j)
                elif similarity > score[0]:
                    sink(&score[0], &candidate[0], n_kept, similarity, j)
            for t in range(n_kept):
                prefetch(&offsets[candidate[t]])
            # `row` has the best weight of what the candidate shares with the first words of the text.
            length = offsets[i + 1] - offsets[i]
            for t in range(n_kept):
                j = candidate[t]
                if t + 2 < n_kept and offsets[candidate[t + 2]] < ids.shape[0]:
                    prefetch(&ids[offsets[candidate[t + 2]]])
                for b in range(length + 1):
                    row[b] = 0
                for k in range(offsets[j], offsets[j + 1]):
                    word = ids[k]
                    if seen[word] != i:
                        continue
                    place = last[word]
                    while place >= 0:
                        added = row[place] + weight[word]
                        for b in range(place + 1, length + 1):
                            if row[b] >= added:
                                break
                            row[b] = added
                        place = before[place]
                similarity = row[length] / sqrt(norm[i] * norm[j])
                place = n_nearest
                while place > 0 and (
                    found[q, place - 1] < 0
                    or found_similarity[q, place - 1] < similarity
                    or (found_similarity[q, place - 1] == similarity and found[q, place - 1] > j)
                ):
                    place -= 1
                if place < n_nearest:
                    for b in range(n_nearest - 1, place, -1):
                        found[q, b] = found[q, b - 1]
                        found_similarity[q, b] = found_similarity[q, b - 1]
                    found[q, place] = j
                    found_similarity[q, place] = similarity
    return nearest, similarities


def join_up_to(
    const int32_t[::1] one, const int32_t[::1] other, const int64_t[::1] sizes, int64_t largest, int64_t most
):
    """Return the leader of every member after pairs were joined in their order, where a group holds at most `largest`.

    A group that holds more to begin with takes in others up to `most`.
    """
    cdef Py_ssize_t k
    cdef int32_t a, b
    leaders = np.arange(sizes.shape[0], dtype=np.int32)
    cdef int32_t[::1] leader = leaders
    cdef int64_t[::1] size = np.array(sizes)
    with nogil:
        for k in range(one.shape[0]):
            a = one[k]
            while leader[a] != a:
                leader[a] = leader[leader[a]]
                a = leader[a]
            b = other[k]
            while leader[b] != b:
                leader[b] = leader[leader[b]]
                b = leader[b]
            if a == b:
                continue
            if size[a] + size[b] <= (most if size[a] > largest or size[b] > largest else largest):
                leader[b] = a
                size[a] += size[b]
        for k in range(leader.shape[0]):
            a = k
            while leader[a] != a:
                leader[a] = leader[leader[a]]
                a = leader[a]
            leader[k] = a
    return leaders
