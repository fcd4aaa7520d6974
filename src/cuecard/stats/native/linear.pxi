# The linear learner: hashed n-grams from integer tokens, and dual coordinate ascent.

cdef enum:
    # Rows are visited in random order, so most of them come from memory: a row is asked for this many rows ahead, and
    # where it begins twice as many.
    ROWS_AHEAD = 8


cdef inline uint64_t mixed_two(uint64_t a, uint64_t b) noexcept nogil:
    """Return 64 well-mixed bits of two numbers."""
    cdef uint64_t h = a * GOLDEN + b * MIX_C
    h ^= h >> 29
    h *= MIX_A
    h ^= h >> 32
    return h


def hash_words(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return a number for every word that depends on its letters alone, so that every run gives the same."""
    cdef int64_t[::1] keys = np.empty(len(offsets) - 1, np.int64)
    cdef int64_t i, t
    cdef uint64_t h
    with nogil:
        for i in range(keys.shape[0]):
            h = <uint64_t> (offsets[i + 1] - offsets[i])
            for t in range(offsets[i], offsets[i + 1]):
                h = mixed_two(h, <uint64_t> data[t] + 1)
            keys[i] = <int64_t> (h >> 1)
    return keys.base


def hash_ngrams(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const int64_t[::1] keys,
    int64_t longest,
    uint64_t salt,
    uint64_t mask,
    int32_t[::1] seen,
    int32_t[::1] out,
    const int64_t[::1] starts,
    int64_t[::1] used,
):
    """Write the distinct n-grams (up to `longest` words) of every text as hashes, from `used[i]` in its row.

    A word is known by its number in `keys`. Row i of `out` begins at `starts[i]`. `seen` remembers the last
    text that had a hash, so that each is written once per text; it must hold nothing from an earlier call
    with the same `salt`.
    """
    cdef int64_t i, t, length, at, slot
    cdef uint64_t h
    with nogil:
        for i in range(offsets.shape[0] - 1):
            at = starts[i] + used[i]
            for t in range(offsets[i], offsets[i + 1]):
                h = salt
                for length in range(min(longest, offsets[i + 1] - t)):
                    h = mixed_two(h, <uint64_t> keys[ids[t + length]])
                    slot = <int64_t> (h & mask)
                    if seen[slot] != i:
                        seen[slot] = <int32_t> i
                        out[at] = <int32_t> slot
                        at += 1
            used[i] = at - starts[i]


def hash_shared(
    const int32_t[::1] premise,
    const int64_t[::1] premise_offsets,
    const int32_t[::1] hypothesis,
    const int64_t[::1] offsets,
    const int64_t[::1] keys,
    uint64_t salt,
    uint64_t mask,
    int64_t[::1] stamp,
    int32_t[::1] out,
    const int64_t[::1] starts,
    int64_t[::1] used,
):
    """Write for every distinct word of a hypothesis a hash that says whether the premise has it too.

    A word is known by its number in `keys`; `stamp` has a place for each, filled with -1. Row i of `out`
    begins at `starts[i]` and holds `used[i]` entries afterwards.
    """
    cdef int64_t i, t, at
    cdef int32_t word
    cdef uint64_t shared
    with nogil:
        for i in range(offsets.shape[0] - 1):
            at = starts[i] + used[i]
            for t in range(premise_offsets[i], premise_offsets[i + 1]):
                stamp[premise[t]] = 2 * i
            for t in range(offsets[i], offsets[i + 1]):
                word = hypothesis[t]
                if stamp[word] == 2 * i + 1:
                    continue
                shared = stamp[word] == 2 * i
                stamp[word] = 2 * i + 1
                out[at] = <int32_t> (mixed_two(mixed_two(salt, shared), <uint64_t> keys[word]) & mask)
                at += 1
            used[i] = at - starts[i]


def overlap_counts(
    const int32_t[::1] premise,
    const int64_t[::1] premise_offsets,
    const int32_t[::1] hypothesis,
    const int64_t[::1] offsets,
    const uint8_t[::1] counted,
):
    """Return per row how many distinct counted words of the hypothesis the premise has, and how many there are.

    `counted` has a place for every word of the vocabulary. 3.4 × scipy's product of two sparse matrices.
    """
    cdef int64_t n = offsets.shape[0] - 1, i, t
    cdef int64_t[::1] shared = np.zeros(n, np.int64)
    cdef int64_t[::1] distinct = np.zeros(n, np.int64)
    cdef int64_t[::1] stamp = np.full(len(counted), -1, dtype=np.int64)
    cdef int32_t word
    with nogil:
        for i in range(n):
            for t in range(premise_offsets[i], premise_offsets[i + 1]):
                stamp[premise[t]] = 2 * i
            for t in range(offsets[i], offsets[i + 1]):
                word = hypothesis[t]
                if counted[word] and stamp[word] != 2 * i + 1:
                    shared[i] += stamp[word] == 2 * i
                    distinct[i] += 1
                    stamp[word] = 2 * i + 1
    return shared.base, distinct.base


def compact_rows(
    const int32_t[::1] slots,
    const int64_t[::1] starts,
    const int64_t[::1] used,
    const int32_t[::1] column,
    const double[::1] idf,
    int64_t[::1] indptr,
    int32_t[::1] indices,
    double[::1] values,
):
    """Write rows of numbered features with inverse-document-frequency values of length 1.

    `column[slot]` is the number of a kept hash, or -1. Returns how many entries were written. 1.9 × scikit-learn's
    TfidfTransformer, which needs the matrix of all hashes first.
    """
    cdef int64_t at = 0, i, t, first
    cdef int32_t feature
    cdef double square, scale
    with nogil:
        for i in range(starts.shape[0]):
            first = at
            square = 0.0
            for t in range(starts[i], starts[i] + used[i]):
                feature = column[slots[t]]
                if feature >= 0:
                    indices[at] = feature
                    values[at] = idf[feature]
                    square += idf[feature] * idf[feature]
                    at += 1
            if square > 0:
                scale = 1 / sqrt(square)
                for t in range(first, at):
                    values[t] *= scale
            indptr[i + 1] = at
    return at


def add_margins(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    double share,
    const int64_t[::1] rows,
    const int32_t[::1] place,
    const double[:, ::1] weights,
    double[:, ::1] margins,
):
    """Add the products of some rows of features with weights to their margins.

    `place[feature]` is the row of a feature's weights, or -1 where they are zero.
    """
    cdef int64_t i, t, j, k = weights.shape[1]
    cdef int32_t at
    cdef double value
    with nogil:
        for i in range(rows.shape[0]):
            for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
                at = place[indices[t]]
                if at >= 0:
                    value = share * values[t]
                    for j in range(k):
                        margins[i, j] += value * weights[at, j]


cdef double line_step(const double* p, const double* q, const double* margins, int64_t k, double curvature) noexcept nogil:
    """Return how far to go from p to q so that entropy plus margins minus curvature grows most, within [0, 1].

    One Newton step from a first guess; more change nothing that a following epoch would not.
    """
    cdef double s = 1 / (1 + 0.5 * curvature), slope = -s * curvature, bend = -curvature, d, now, following
    cdef int64_t j
    for j in range(k):
        d = q[j] - p[j]
        now = p[j] + s * d
        if now > 0:
            slope += d * (margins[j] - log(now))
            bend -= d * d / now
    if bend >= 0:
        return s
    following = s - slope / bend
    if following <= 0:
        return 0.5 * s
    return min(following, 0.5 * (1 + s))


cdef void softmax(const double* margins, double* out, int64_t k) noexcept nogil:
    """Write the softmax of the margins."""
    cdef double top = margins[0], total = 0.0
    cdef int64_t j
    for j in range(1, k):
        top = max(top, margins[j])
    for j in range(k):
        out[j] = exp(margins[j] - top)
        total += out[j]
    for j in range(k):
        out[j] /= total


cdef double divergence(const double* p, const double* q, int64_t k) noexcept nogil:
    """Return KL(p ‖ q) in nats: this example's part of the duality gap."""
    cdef double total = 0.0
    cdef int64_t j
    for j in range(k):
        if p[j] > 0:
            total += p[j] * log(p[j] / max(q[j], 1e-300))
    return total


cdef inline void prefetch_row(const int32_t* indices, const double* values, int64_t first, int64_t last) noexcept nogil:
    """Ask for the entries of a row, a cache line of 64 bytes at a time."""
    cdef int64_t t
    for t in range(first, last, 16):
        prefetch(&indices[t])
    for t in range(first, last, 8):
        prefetch(&values[t])


def multinomial_epoch(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    const double[::1] squares,
    const double[::1] weight,
    const int64_t[::1] order,
    double penalty,
    double[:, ::1] w,
    double[::1] bias,
    double[:, ::1] dual,
):
    """Go once through the rows in `order`; return the duality gap as it was met on the way.

    `w` holds a row of class weights per feature, `bias` those of the constant 1 that every row has besides,
    `dual` a row of class probabilities per row of data; `squares` are the rows' squared lengths with the 1.
    """
    cdef int64_t k = w.shape[1], n = order.shape[0], at, far, near, i, t, j, feature, first, last
    cdef double[::1] margins = np.empty(k)
    cdef double[::1] q = np.empty(k)
    cdef const int32_t* columns = &indices[0] if indices.shape[0] else NULL
    cdef const double* entries = &values[0] if values.shape[0] else NULL
    cdef double* weights = &w[0, 0] if w.shape[0] else NULL
    cdef double* p
    cdef double gap = 0.0, a, b, c, value, z, length, s, step
    with nogil:
        for at in range(n):
            if at + 2 * ROWS_AHEAD < n:
                far = order[at + 2 * ROWS_AHEAD]
                prefetch(&indptr[far])
                prefetch(&squares[far])
                prefetch(&weight[far])
                prefetch(&dual[far, 0])
            if at + ROWS_AHEAD < n:
                near = order[at + ROWS_AHEAD]
                prefetch_row(columns, entries, indptr[near], indptr[near + 1])
            if at + 1 < n:  # its weights, while the probabilities of this row are computed
                near = order[at + 1]
                for t in range(indptr[near], indptr[near + 1]):
                    prefetch(&weights[k * columns[t]])
            i = order[at]
            first = indptr[i]
            last = indptr[i + 1]
            if k == 3:  # the commonest number of classes: three sums at once wait for each other less
                a = bias[0]
                b = bias[1]
                c = bias[2]
                for t in range(first, last):
                    value = entries[t]
                    feature = columns[t]
                    a += value * weights[3 * feature]
                    b += value * weights[3 * feature + 1]
                    c += value * weights[3 * feature + 2]
                margins[0] = a
                margins[1] = b
                margins[2] = c
            else:
                for j in range(k):
                    z = bias[j]
                    for t in range(first, last):
                        z += entries[t] * weights[k * columns[t] + j]
                    margins[j] = z
            softmax(&margins[0], &q[0], k)
            p = &dual[i, 0]
            gap += weight[i] * divergence(p, &q[0], k)
            length = 0.0
            for j in range(k):
                length += (q[j] - p[j]) * (q[j] - p[j])
            s = line_step(p, &q[0], &margins[0], k, weight[i] / penalty * length * squares[i])
            for j in range(k):
                q[j] = s * (q[j] - p[j])
                p[j] += q[j]
                q[j] *= weight[i] / penalty
                bias[j] -= q[j]
            if k == 3:
                a = q[0]
                b = q[1]
                c = q[2]
                for t in range(first, last):
                    value = entries[t]
                    feature = columns[t]
                    weights[3 * feature] -= value * a
                    weights[3 * feature + 1] -= value * b
                    weights[3 * feature + 2] -= value * c
            else:
                for j in range(k):
                    step = q[j]
                    for t in range(first, last):
                        weights[k * columns[t] + j] -= entries[t] * step
    return gap


def within_epoch(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    const int64_t[::1] first_row,
    const double[::1] weight,
    const int64_t[::1] order,
    double penalty,
    double[::1] w,
    double[::1] dual,
    double[::1] scratch,
):
    """Go once through the examples in `order`; return the duality gap as it was met on the way.

    Example e has the rows from `first_row[e]` to `first_row[e + 1]`, of which one is right; `w` has a weight
    per feature, `dual` a probability per row, `scratch` a zero per feature.
    """
    cdef int64_t n = order.shape[0], widest = 1, at, far, near, e, a, b, i, t
    for e in range(first_row.shape[0] - 1):
        widest = max(widest, first_row[e + 1] - first_row[e])
    cdef double[::1] margins = np.empty(widest)
    cdef double[::1] q = np.empty(widest)
    cdef const int32_t* columns = &indices[0] if indices.shape[0] else NULL
    cdef const double* entries = &values[0] if values.shape[0] else NULL
    cdef double* p
    cdef double gap = 0.0, z, square, s, step
    with nogil:
        for at in range(n):
            if at + 2 * ROWS_AHEAD < n:
                far = order[at + 2 * ROWS_AHEAD]
                prefetch(&first_row[far])
                prefetch(&weight[far])
            if at + ROWS_AHEAD < n:
                near = order[at + ROWS_AHEAD]
                prefetch_row(columns, entries, indptr[first_row[near]], indptr[first_row[near + 1]])
                prefetch(&dual[first_row[near]])
            e = order[at]
            a = first_row[e]
            b = first_row[e + 1]
            for i in range(a, b):
                z = 0.0
                for t in range(indptr[i], indptr[i + 1]):
                    z += entries[t] * w[columns[t]]
                margins[i - a] = z
            softmax(&margins[0], &q[0], b - a)
            p = &dual[a]
            gap += weight[e] * divergence(p, &q[0], b - a)
            # The squared length of what the step adds to w: choices share features, so it is summed up first.
            for i in range(a, b):
                for t in range(indptr[i], indptr[i + 1]):
                    scratch[columns[t]] += entries[t] * (q[i - a] - p[i - a])
            square = 0.0
            for t in range(indptr[a], indptr[b]):
                square += scratch[columns[t]] * scratch[columns[t]]
                scratch[columns[t]] = 0
            s = line_step(p, &q[0], &margins[0], b - a, weight[e] / penalty * square)
            for i in range(a, b):
                step = s * (q[i - a] - p[i - a])
                p[i - a] += step
                step *= weight[e] / penalty
                for t in range(indptr[i], indptr[i + 1]):
                    w[columns[t]] -= entries[t] * step
    return gap
