# Sums over the rows of units, tails of weighted sums, and sparse sums by column.

ctypedef fused places_t:
    int32_t
    int64_t

ctypedef fused counts_t:
    int32_t
    int64_t


# What a type has in the unit that is read, and in all units before: beside each other, as both are looked up by type.
cdef struct InUnit:
    int64_t row
    int64_t unit
    int64_t rows
    double mass


cdef struct InUnits:
    int64_t units
    int64_t rows
    double squares
    double crossed


def repeated_sums(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const int64_t[::1] order,
    const int64_t[::1] bounds,
    const double[::1] weights,
    int64_t n_types,
    int64_t n_bins,
):
    """Return for every type what its rows add up to within units.

    Rows `order[bounds[u]:bounds[u + 1]]` are unit u; the types of row i are `ids[offsets[i]:offsets[i + 1]]`, of which
    repeats count once; without weights, each row counts as one. Returned are the number of units with the type, the sum
    over them of (summed weight)², and by bin b of the number m of their rows with the type (2^b ≤ m < 2^(b+1)) how many
    units there are and their sum of m², where bins are more than one; at last the number of rows with the type, and the
    sum over them of the rows of their units.
    """
    sums_dtype = [("units", "i8"), ("rows", "i8"), ("squares", "f8"), ("crossed", "f8")]
    cdef InUnits[::1] sums = np.zeros(n_types, dtype=sums_dtype)
    cdef InUnit[::1] now = np.zeros(n_types, dtype=[("row", "i8"), ("unit", "i8"), ("rows", "i8"), ("mass", "f8")])
    cdef int64_t[:, ::1] many = np.zeros((n_types, n_bins), dtype=np.int64)
    cdef double[:, ::1] rows_squared = np.zeros((n_types, n_bins))
    cdef int64_t[::1] touched = np.empty(n_types, dtype=np.int64)
    cdef int64_t unit, used, size, place, row, j, i, m, b
    cdef const int32_t* types = &ids[0] if ids.shape[0] else NULL
    cdef InUnit* own
    cdef InUnits* whole
    cdef bint weighted = weights.shape[0] > 0
    cdef int32_t type_
    with nogil:
        for i in range(n_types):
            now[i].row = now[i].unit = -1
        for unit in range(bounds.shape[0] - 1):
            used = 0
            size = bounds[unit + 1] - bounds[unit]
            for place in range(bounds[unit], bounds[unit + 1]):
                row = order[place]
                if place + TEXTS_AHEAD < order.shape[0]:
                    prefetch(types + offsets[order[place + TEXTS_AHEAD]])
                for j in range(offsets[row], offsets[row + 1]):
                    type_ = ids[j]
                    own = &now[type_]
                    if own.row == row:
                        continue
                    own.row = row
                    if own.unit != unit:
                        own.unit = unit
                        own.rows = 0
                        own.mass = 0.0
                        touched[used] = type_
                        used += 1
                    own.rows += 1
                    own.mass += weights[row] if weighted else 1.0
            for i in range(used):
                own = &now[touched[i]]
                whole = &sums[touched[i]]
                m = own.rows
                whole.units += 1
                whole.rows += m
                whole.squares += own.mass * own.mass
                whole.crossed += m * size
                if n_bins == 1:
                    continue
                b = 0
                while m >> (b + 1) > 0 and b + 1 < n_bins:
                    b += 1
                many[touched[i], b] += 1
                rows_squared[touched[i], b] += m * m
    every = sums.base
    return every["units"], every["squares"], many.base, rows_squared.base, every["rows"], every["crossed"]


# The cumulant generating function of a sum, and its first two derivatives.
cdef struct Cumulants:
    double value
    double slope
    double curve


cdef Cumulants cumulants(
    double t, const double[::1] values, const double[::1] shares, const double* scales, const int64_t* counts, int64_t bins
) noexcept nogil:
    cdef Cumulants sums
    cdef double tau, top, mass, mean, square, part
    cdef int64_t b, j, n = values.shape[0]
    sums.value = sums.slope = sums.curve = 0.0
    for b in range(bins):
        if counts[b] == 0:
            continue
        tau = t * scales[b]
        top = max(tau * values[0], tau * values[n - 1])
        mass = 0.0
        mean = 0.0
        square = 0.0
        for j in range(n):
            part = shares[j] * exp(tau * values[j] - top)
            mass += part
            mean += part * values[j]
            square += part * values[j] * values[j]
        mean /= mass
        square /= mass
        sums.value += counts[b] * (log(mass) + top)
        sums.slope += counts[b] * scales[b] * mean
        sums.curve += counts[b] * scales[b] * scales[b] * max(square - mean * mean, 0.0)
    return sums


def saddle_points(
    const double[::1] sums,
    const double[::1] values,
    const double[::1] shares,
    const double[:, ::1] scales,
    const int64_t[:, ::1] counts,
    double[::1] r,
    double[::1] u,
):
    """Write the signed root r and the standardised saddle point u of every sum; nan where the sum is an extreme one.

    Row f is a sum of independent draws of the rising `values` with probability `shares`: `counts[f, b]` draws, each
    multiplied by `scales[f, b]`. 0 stands for a sum that is (nearly) its mean.
    """
    cdef int64_t f, turn, bins = scales.shape[1]
    cdef double gap, sign, far, near, t, step, new
    cdef bint reached
    cdef Cumulants at
    with nogil:
        for f in range(sums.shape[0]):
            r[f] = 0.0
            u[f] = 0.0
            if bins == 0:
                continue
            at = cumulants(0.0, values, shares, &scales[f, 0], &counts[f, 0], bins)
            gap = sums[f] - at.slope
            if at.curve <= 0 or fabs(gap) < 1e-6 * sqrt(at.curve):
                continue
            sign = 1.0 if gap > 0 else -1.0
            far = sign * 1e-3 / sqrt(at.curve)
            reached = False
            for turn in range(60):
                at = cumulants(far, values, shares, &scales[f, 0], &counts[f, 0], bins)
                if sign * (at.slope - sums[f]) >= 0:
                    reached = True
                    break
                far *= 2.0
            if not reached:
                r[f] = NAN
                u[f] = NAN
                continue
            near = 0.0
            t = far / 2
            for turn in range(100):
                at = cumulants(t, values, shares, &scales[f, 0], &counts[f, 0], bins)
                if sign * (at.slope - sums[f]) >= 0:
                    far = t
                else:
                    near = t
                step = t - (at.slope - sums[f]) / at.curve if at.curve > 0 else (near + far) / 2
                new = step if min(near, far) < step < max(near, far) else (near + far) / 2
                if fabs(new - t) <= 1e-10 * fabs(t):
                    t = new
                    break
                t = new
            at = cumulants(t, values, shares, &scales[f, 0], &counts[f, 0], bins)
            r[f] = sign * sqrt(max(2 * (t * sums[f] - at.value), 0.0))
            u[f] = t * sqrt(at.curve)


def add_by_column(
    const int64_t[::1] indptr,
    const places_t[::1] indices,
    const double[::1] values,
    const double[:] x,
    double[::1] out,
    bint squared,
):
    """Add ``values[p] · x[i]`` of every entry p of row i to ``out`` at its column; without ``values``, they are ones.

    Every column is summed in the order of the rows, as scipy's product with the transposed matrix is, to the last bit.
    Where `squared`, the squares of the values are added.
    """
    cdef int64_t i, p
    cdef double value, factor
    cdef bint binary = values.shape[0] == 0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            factor = x[i]
            for p in range(indptr[i], indptr[i + 1]):
                value = 1.0
                if not binary:
                    value = values[p] * values[p] if squared else values[p]
                out[indices[p]] += value * factor
