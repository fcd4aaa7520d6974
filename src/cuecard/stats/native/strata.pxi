# What the rows of each stratum count, where strata are the rows with the same of some companions of a column.


def strata_sums(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const int64_t[::1] companions,
    const int64_t[::1] last,
    const int64_t[::1] depth,
    const int64_t[:] columns,
    const int64_t[:, ::1] given,
    const int64_t[:] codes,
    const int64_t[:] labels,
    const double[::1] mass,
    int64_t n_labels,
):
    """Return by label what the rows of each set of companions count, and by stratum what those of each column do.

    Column c has the rising rows `indices[indptr[c]:indptr[c + 1]]`, and row i counts `mass[i]`. Set s has the companions
    of the set before it of one less `depth`, and `companions[last[s]]`; its rows have all of them, and perhaps others.
    The first set has no companion, and none follows before those that it begins. The stratum of a row with
    `columns[i]` has a bit for each place of `given[i]` whose companion the row has too: the second array is about its
    rows with `labels[i]`, the third about all. Three times numpy's indexing and `bincount`, and without its large mask.
    """
    cdef int64_t n_rows = codes.shape[0], n_given = given.shape[1], n, m, i, j, s, b, row, pattern, longest = 0
    cdef uint64_t[:, ::1] has = np.zeros((len(companions), n_rows // 64 + 1), dtype=np.uint64)
    cdef double[:, ::1] sums = np.zeros((len(last), n_labels))
    cdef double[:, ::1] labelled = np.zeros((len(columns), 1 << n_given))
    cdef double[:, ::1] whole = np.zeros((len(columns), 1 << n_given))
    for i in range(companions.shape[0]):
        longest = max(longest, indptr[companions[i] + 1] - indptr[companions[i]])
    cdef int32_t[:, ::1] within = np.empty((n_given + 1, longest + 1), dtype=np.int32)
    cdef int64_t[::1] sizes = np.zeros(n_given + 1, dtype=np.int64)
    cdef const int32_t* rows
    cdef const int32_t* every = &indices[0] if indices.shape[0] else NULL
    cdef int32_t* chosen
    with nogil:
        for i in range(companions.shape[0]):
            for j in range(indptr[companions[i]], indptr[companions[i] + 1]):
                has[i, indices[j] >> 6] |= <uint64_t> 1 << (indices[j] & 63)
        for row in range(n_rows):
            sums[0, codes[row]] += mass[row]
        for s in range(1, last.shape[0]):
            chosen = &within[depth[s], 0]
            if depth[s] == 1:
                rows = every + indptr[companions[last[s]]]
                n = indptr[companions[last[s]] + 1] - indptr[companions[last[s]]]
            else:
                rows = &within[depth[s] - 1, 0]
                n = sizes[depth[s] - 1]
            m = 0
            for j in range(n):
                chosen[m] = rows[j]
                m += (has[last[s], rows[j] >> 6] >> (rows[j] & 63)) & 1
            sizes[depth[s]] = m
            for j in range(m):
                sums[s, codes[chosen[j]]] += mass[chosen[j]]
        for i in range(columns.shape[0]):
            for j in range(indptr[columns[i]], indptr[columns[i] + 1]):
                row = indices[j]
                pattern = 0
                for b in range(n_given):
                    if given[i, b] >= 0:
                        pattern |= ((has[given[i, b], row >> 6] >> (row & 63)) & 1) << b
                whole[i, pattern] += mass[row]
                if codes[row] == labels[i]:
                    labelled[i, pattern] += mass[row]
    return sums.base, labelled.base, whole.base
