# Walks over the sparse rows of a graph of pairs; nothing is ever stored for a pair that is not an edge.


cdef inline bint comes_before(int64_t u, int64_t v, const int64_t[::1] indptr) noexcept nogil:
    """Whether an edge is worked on from v's side: from the node with more neighbours, so hubs cost little."""
    cdef int64_t size_u = indptr[u + 1] - indptr[u], size_v = indptr[v + 1] - indptr[v]
    return size_u < size_v or (size_u == size_v and u <= v)


def two_step(
    const int64_t[::1] indptr,
    const int32_t[::1] neighbours,
    const double[::1] entries,
    const int32_t[::1] edge_at,
    int64_t n_edges,
    const int64_t[::1] degrees,
):
    """Return A² at every edge, and the common neighbours' number, Σ 1/degree and Σ 1/log degree.

    The rows of the node with more neighbours are spread out in `mark` once; the shorter rows look themselves up:
    Σ over edges of the smaller degree, at most O(edges^1.5), also for a clique. About 70 × scipy's A² at the edges.
    """
    cdef int64_t n = indptr.shape[0] - 1, v, u, p, q, c, shared
    cdef double[::1] walks = np.zeros(n_edges)
    cdef double[::1] common = np.zeros(n_edges)
    cdef double[::1] allocation = np.zeros(n_edges)
    cdef double[::1] adamic = np.zeros(n_edges)
    cdef double[::1] mark = np.zeros(n)
    cdef double total, share, logs
    cdef int32_t edge
    with nogil:
        for v in range(n):
            for p in range(indptr[v], indptr[v + 1]):
                mark[neighbours[p]] = entries[p]
            for p in range(indptr[v], indptr[v + 1]):
                u = neighbours[p]
                if not comes_before(u, v, indptr):
                    continue
                total = 0.0
                shared = 0
                share = 0.0
                logs = 0.0
                for q in range(indptr[u], indptr[u + 1]):
                    c = neighbours[q]
                    if mark[c] == 0.0:
                        continue
                    total += entries[q] * mark[c]
                    if c != u and c != v:
                        shared += 1
                        share += 1.0 / degrees[c]
                        if degrees[c] > 1:
                            logs += 1.0 / log(<double> degrees[c])
                edge = edge_at[p]
                walks[edge] = total
                common[edge] = shared
                allocation[edge] = share
                adamic[edge] = logs
            for p in range(indptr[v], indptr[v + 1]):
                mark[neighbours[p]] = 0.0
    return walks.base, common.base, allocation.base, adamic.base


cdef void spread_row(
    int64_t v,
    double factor,
    double[::1] row,
    const int64_t[::1] indptr,
    const int32_t[::1] neighbours,
    const double[::1] entries,
    int64_t largest,
) noexcept nogil:
    """Add v's row of A², through nodes of at most `largest` neighbours, to `row`; factor 0 clears it again."""
    cdef int64_t p, q, c, d
    for p in range(indptr[v], indptr[v + 1]):
        c = neighbours[p]
        if indptr[c + 1] - indptr[c] > largest:
            continue
        for q in range(indptr[c], indptr[c + 1]):
            d = neighbours[q]
            row[d] = (row[d] + entries[p] * entries[q]) * factor


def three_step(
    const int64_t[::1] indptr,
    const int32_t[::1] neighbours,
    const double[::1] entries,
    const int32_t[::1] edge_at,
    int64_t n_edges,
    int64_t heavy_size,
):
    """Return A³ at every edge {u, v}: Σ_c A[v, c] · A²[u, c].

    The sum over c is cut in two. Nodes c with at most `heavy_size` neighbours are walked through from v. For
    each of the few others one row of A² is spread out and read at the edges around it. Both parts cost at
    most O(edges · heavy_size) where heavy_size is about sqrt(edges), so a hub cannot blow it up.
    """
    cdef int64_t n = indptr.shape[0] - 1, v, u, h, p, q
    cdef double[::1] walks = np.zeros(n_edges)
    cdef double[::1] row = np.zeros(n)
    cdef double total
    cdef bint wanted
    with nogil:
        for v in range(n):
            wanted = False
            for p in range(indptr[v], indptr[v + 1]):
                wanted = wanted or comes_before(neighbours[p], v, indptr)
            if wanted:
                spread_row(v, 1.0, row, indptr, neighbours, entries, heavy_size)
                for p in range(indptr[v], indptr[v + 1]):
                    u = neighbours[p]
                    if comes_before(u, v, indptr):
                        total = 0.0
                        for q in range(indptr[u], indptr[u + 1]):
                            total += entries[q] * row[neighbours[q]]
                        walks[edge_at[p]] += total
                spread_row(v, 0.0, row, indptr, neighbours, entries, heavy_size)
        for h in range(n):
            if indptr[h + 1] - indptr[h] <= heavy_size:
                continue
            spread_row(h, 1.0, row, indptr, neighbours, entries, n)
            for p in range(indptr[h], indptr[h + 1]):
                v = neighbours[p]
                for q in range(indptr[v], indptr[v + 1]):
                    u = neighbours[q]
                    if comes_before(u, v, indptr):
                        walks[edge_at[q]] += entries[p] * row[u]
            spread_row(h, 0.0, row, indptr, neighbours, entries, n)
    return walks.base


def skip_gram(
    const int64_t[::1] indptr,
    const int32_t[::1] neighbours,
    float[:, ::1] vectors,
    const double[::1] noise,
    int64_t walks,
    int64_t length,
    int64_t window,
    int64_t negatives,
    uint64_t seed,
):
    """Train vectors on `walks` random walks from every node (skip-gram with negative sampling), in place."""
    cdef int64_t n = vectors.shape[0], size = vectors.shape[1], number, place, i, j, node, reach
    cdef float[:, ::1] contexts = np.zeros((n, size), dtype=np.float32)
    cdef float[::1] gradient = np.empty(size, dtype=np.float32)
    cdef int64_t[::1] walk = np.empty(length, dtype=np.int64)
    cdef int64_t[::1] order = np.arange(n)
    cdef uint64_t state = seed
    cdef float rate
    with nogil:
        for number in range(walks):
            for place in range(n - 1, 0, -1):
                i = <int64_t> (uniform(&state) * (place + 1))
                order[place], order[i] = order[i], order[place]
            for place in range(n):
                rate = <float> max(0.025 * (1.0 - <double> (number * n + place) / (walks * n)), 0.0001)
                node = order[place]
                for i in range(length):
                    walk[i] = node
                    node = neighbours[indptr[node] + <int64_t> (uniform(&state) * (indptr[node + 1] - indptr[node]))]
                for i in range(length):
                    reach = 1 + <int64_t> (uniform(&state) * window)
                    for j in range(max(0, i - reach), min(length, i + reach + 1)):
                        if j != i:
                            learn_context(
                                &vectors[walk[i], 0], walk[j], contexts, noise, negatives, rate, &gradient[0], &state
                            )


cdef void learn_context(
    float* vector,
    int64_t context,
    float[:, ::1] contexts,
    const double[::1] noise,
    int64_t negatives,
    float rate,
    float* gradient,
    uint64_t* state,
) noexcept nogil:
    """Move a vector towards a context that it was seen with and away from random ones."""
    cdef int64_t draw, target, low, high, middle, d, size = contexts.shape[1]
    cdef double drawn
    cdef float dot, step
    cdef float* other
    for d in range(size):
        gradient[d] = 0.0
    for draw in range(negatives + 1):
        target = context
        if draw > 0:
            drawn = uniform(state)
            low = 0
            high = noise.shape[0] - 1
            while low < high:
                middle = (low + high) // 2
                if noise[middle] < drawn:
                    low = middle + 1
                else:
                    high = middle
            target = low
            if target == context:
                continue
        other = &contexts[target, 0]
        dot = dot_product(vector, other, size)
        step = rate * <float> ((1.0 if draw == 0 else 0.0) - 1.0 / (1.0 + exp(-dot)))
        for d in range(size):
            gradient[d] += step * other[d]
            other[d] += step * vector[d]
    for d in range(size):
        vector[d] += gradient[d]


def prune_pairs(
    const places_t[:] first,
    const places_t[:] second,
    const uint8_t[::1] looped,
    counts_t[::1] degree,
    uint8_t[::1] kept,
):
    """Leave out pairs that no walk of two steps joins, with what that takes from degrees; return how many.

    Two different sentences are joined by a third, so each has another pair, or one of them by itself.
    """
    cdef int64_t left_out = 0, i
    cdef places_t a, b
    with nogil:
        for i in range(first.shape[0]):
            a = first[i]
            b = second[i]
            if not kept[i] or looped[a] or looped[b] or (degree[a] > 1 and degree[b] > 1):
                continue
            kept[i] = False
            degree[a] -= 1
            degree[b] -= 1
            left_out += 1
    return left_out


def add_walks(
    const places_t[::1] more,
    const places_t[::1] fewer,
    const places_t[::1] begins,
    const places_t[::1] columns,
    const places_t[::1] entries,
    const places_t[::1] other_begins,
    const places_t[::1] other_columns,
    const places_t[::1] other_entries,
    int64_t[::1] mark,
    int64_t[::1] walks,
):
    """Add Σ_c A[a, c] A[c, b] at every edge (a, b), over the nodes c of one colour.

    `begins`, `columns` and `entries` are the rows of A of the nodes `more` at these c, the others of the nodes `fewer`;
    edges are by rising `more`. Its row is spread out in `mark`, which is all 0, and the shorter row looks itself up:
    Σ over edges of the smaller degree, at most O(edges^1.5), also for a clique.
    """
    cdef int64_t i = 0, n = more.shape[0], p, total
    cdef places_t a
    with nogil:
        while i < n:
            a = more[i]
            for p in range(begins[a], begins[a + 1]):
                mark[columns[p]] = entries[p]
            while i < n and more[i] == a:
                total = 0
                for p in range(other_begins[fewer[i]], other_begins[fewer[i] + 1]):
                    total += other_entries[p] * mark[other_columns[p]]
                walks[i] += total
                i += 1
            for p in range(begins[a], begins[a + 1]):
                mark[columns[p]] = 0
