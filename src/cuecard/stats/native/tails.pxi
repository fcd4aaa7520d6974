# Tails of binomial, Poisson-binomial, hypergeometric and chi-square distributions in log space.

cdef extern from *:
    """
    #define NEGLIGIBLE 1e-18  /* terms below this share of the largest cannot change a float64 sum */
    #define HALF_LOG_TAU 0.9189385332046727  /* 0.5 log 2π */
    """
    double NEGLIGIBLE
    double HALF_LOG_TAU


cdef struct Tails:
    double less
    double greater
    double theta
    bint complete  # false where there was no memory


cdef inline Tails no_tails() noexcept nogil:
    cdef Tails tails
    tails.less = tails.greater = tails.theta = NAN
    tails.complete = True
    return tails


cdef inline Tails no_memory() noexcept nogil:
    cdef Tails tails = no_tails()
    tails.complete = False
    return tails


# Probabilities of the counts `first`, `first + 1`, …; `values` belong to whoever holds the band, NULL without memory.
cdef struct Band:
    int64_t first
    int64_t size
    double* values


cdef Band new_band(int64_t first, int64_t size) noexcept nogil:
    cdef Band band
    band.first = first
    band.size = size
    band.values = <double*> malloc(size * sizeof(double))
    return band


cdef double stirling_error(double n) noexcept nogil:
    """Error of Stirling's formula: log n! minus it, accurate also where log n! is in the hundred millions."""
    cdef double s
    if n < 16:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - HALF_LOG_TAU
    s = 1 / (n * n)
    return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / n


cdef double deviance(double x, double mean) noexcept nogil:
    """Deviance x log(x / mean) + mean − x, without cancellation where x is near its mean."""
    cdef double u = (x - mean) / mean
    cdef double total, power, term
    cdef int j
    if fabs(u) > 0.1:
        return x * log(x / mean) + mean - x
    # (1 + u) log(1 + u) − u = Σ_{j≥2} (−u)^j / (j (j − 1))
    total = 0.0
    power = u * u
    for j in range(2, 40):
        term = power / (j * (j - 1))
        total += term
        if fabs(term) < 1e-18 * total:
            break
        power *= -u
    return mean * total


cdef double binomial_log_pmf(double k, double n, double p, double q) noexcept nogil:
    """Return log P(X = k) in saddle-point form, whose error does not grow with n as with log-gammas."""
    if k == 0:
        return n * (log1p(-p) if p < 0.5 else log(q))
    if k == n:
        return n * (log1p(-q) if q < 0.5 else log(p))
    return (
        stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(k, n * p)
        - deviance(n - k, n * q)
        + 0.5 * (log(n) - log(k) - log(n - k))
        - HALF_LOG_TAU
    )


cdef double log_complement(double p) noexcept nogil:
    """log(1 − p), never above 0 nor a negative zero, where rounding may have pushed p past 1."""
    return log1p(-min(p, 1.0)) + 0.0


cdef Tails outward_tails(double k, double n, double p, double q) noexcept nogil:
    """P(X ≥ k) and P(X ≤ k) in logs for k at or above the mean: a falling series outwards from k."""
    cdef double ratio = p / q, beyond = 0.0, term = 1.0, j = k, log_pmf
    cdef Tails tails = no_tails()
    while j < n:
        term *= (n - j) / (j + 1) * ratio
        beyond += term
        j += 1
        if term < NEGLIGIBLE * beyond:
            break
    log_pmf = binomial_log_pmf(k, n, p, q)
    tails.greater = log_pmf + log1p(beyond)
    tails.less = log_complement(exp(log_pmf) * beyond)
    return tails


cdef Tails binomial_tails(double k, double n, double p) noexcept nogil:
    """P(X ≤ k) and P(X ≥ k) of one count, in logs."""
    cdef double q = 1 - p, certain
    cdef Tails tails = no_tails(), mirrored
    if isnan(p):
        return tails
    if n == 0:
        tails.less = tails.greater = 0.0
    elif p == 0 or q == 0:
        certain = 0.0 if p == 0 else n
        tails.less = 0.0 if k >= certain else -INFINITY
        tails.greater = 0.0 if k <= certain else -INFINITY
    elif k >= n * p:
        tails = outward_tails(k, n, p, q)
    else:
        mirrored = outward_tails(n - k, n, q, p)
        tails.less = mirrored.greater
        tails.greater = mirrored.less
    return tails


def binomial_log_tails(
    const double[:] k, const double[:] n, const double[:] p, double[:] less, double[:] greater
):
    """Fill `less` and `greater` with the log tails of every (k, n, p)."""
    cdef Py_ssize_t i
    cdef Tails tails = no_tails()
    with nogil:
        for i in range(k.shape[0]):
            tails = binomial_tails(k[i], n[i], p[i])
            less[i] = tails.less
            greater[i] = tails.greater


cdef double tilt_to(int64_t observed, const int64_t* n, const double* p, int64_t size) noexcept nogil:
    """θ ≥ 0 such that trials with odds p/(1−p)·e^θ succeed `observed` times on average; observed ≥ mean."""
    cdef double low = 0.0, high = INFINITY, theta = 0.0, mean, variance, tilted, gap, step
    cdef int64_t g
    cdef int turn
    for turn in range(200):
        mean = 0.0
        variance = 0.0
        for g in range(size):
            tilted = p[g] / (p[g] + (1 - p[g]) * exp(-theta))
            mean += n[g] * tilted
            variance += n[g] * tilted * (1 - tilted)
        gap = observed - mean
        if gap >= 0:
            low = theta
        else:
            high = theta
        step = gap / variance if variance > 0 else INFINITY
        if fabs(step) <= 1e-14 * (1 + fabs(theta)):
            break
        theta += step
        if not low <= theta <= high:
            theta = 2 * low + 1 if high == INFINITY else 0.5 * (low + high)
    return theta


cdef Band binomial_band(int64_t n, double p) noexcept nogil:
    """The counts whose probability is not negligible beside the mode's."""
    cdef double odds = p / (1 - p), term, total
    cdef int64_t mode = min(<int64_t> ((n + 1) * p), n), low, high, j
    cdef Band band
    low = mode
    term = 1.0
    while low > 0 and term > NEGLIGIBLE:
        term *= low / ((n - low + 1) * odds)
        low -= 1
    high = mode
    term = 1.0
    while high < n and term > NEGLIGIBLE:
        term *= (n - high) * odds / (high + 1)
        high += 1
    band = new_band(low, high - low + 1)
    if band.values == NULL:
        return band
    band.values[mode - low] = 1.0
    for j in range(mode, low, -1):
        band.values[j - 1 - low] = band.values[j - low] * (j / ((n - j + 1) * odds))
    for j in range(mode, high):
        band.values[j + 1 - low] = band.values[j - low] * ((n - j) * odds / (j + 1))
    total = 0.0
    for j in range(band.size):
        total += band.values[j]
    for j in range(band.size):
        band.values[j] /= total
    return band


cdef Band added(Band one, Band two) noexcept nogil:
    """The distribution of the sum of two independent counts, without its negligible ends; frees both."""
    cdef Band longer = one if one.size >= two.size else two
    cdef Band shorter = two if one.size >= two.size else one
    cdef Band band
    cdef int64_t i, j, low = 0, high
    cdef double weight, largest, floor_of_band
    cdef double* out
    cdef double* values
    band = new_band(one.first + two.first, longer.size + shorter.size - 1)
    if one.values == NULL or two.values == NULL:
        free(band.values)
        band.values = NULL
    if band.values != NULL:
        memset(band.values, 0, band.size * sizeof(double))
        for j in range(shorter.size):
            weight = shorter.values[j]
            out = band.values + j
            values = longer.values
            for i in range(longer.size):
                out[i] += weight * values[i]
    free(one.values)
    free(two.values)
    if band.values == NULL:
        return band
    largest = band.values[0]
    for i in range(band.size):
        largest = max(largest, band.values[i])
    floor_of_band = NEGLIGIBLE * largest
    high = band.size
    while band.values[low] < floor_of_band:
        low += 1
    while band.values[high - 1] < floor_of_band:
        high -= 1
    if low > 0:
        for i in range(low, high):
            band.values[i - low] = band.values[i]
    band.first += low
    band.size = high - low
    return band


cdef Band certain_zero() noexcept nogil:
    cdef Band band = new_band(0, 1)
    if band.values != NULL:
        band.values[0] = 1.0
    return band


cdef Tails tilted_tails(int64_t observed, const int64_t* n, const double* p, int64_t size) noexcept nogil:
    """P(X ≥ observed), P(X ≤ observed) and θ for a sum X of binomials, observed at or above its mean.

    Tilted by θ, the distribution has its mean at the observed count, so all that matters there is of
    ordinary size; P(X = j) = P_θ(X = j) · exp(K(θ) − θ j), K the cumulant function, takes the tilt back
    exactly.
    """
    cdef double theta = tilt_to(observed, n, p, size), cumulant = 0.0, tilted, beyond = 0.0, log_scale
    cdef Band band = certain_zero()
    cdef int64_t g, j, at
    cdef Tails tails = no_tails()
    for g in range(size):
        cumulant += n[g] * log1p(p[g] * expm1(theta))
        tilted = p[g] / (p[g] + (1 - p[g]) * exp(-theta))
        band = added(band, binomial_band(n[g], tilted))
    if band.values == NULL:
        return no_memory()
    at = observed - band.first
    for j in range(at + 1, band.size):
        beyond += band.values[j] * exp(-theta * (j - at))
    log_scale = cumulant - theta * observed
    tails.greater = log_scale + log(band.values[at] + beyond)
    tails.less = log_complement(exp(log_scale) * beyond)
    tails.theta = theta
    free(band.values)
    return tails


cdef Tails poisson_binomial_tails(
    int64_t observed, const int64_t* n, const double* p, double* mirrored, int64_t size
) noexcept nogil:
    """P(X ≤ observed), P(X ≥ observed) and θ for a sum of Binomial(n[g], p[g]), all 0 < p[g] < 1."""
    cdef int64_t total = 0, g
    cdef double all_fail = 0.0, all_succeed = 0.0, mean = 0.0, seen
    cdef Tails tails = no_tails(), other
    for g in range(size):
        total += n[g]
        all_fail += n[g] * log1p(-p[g])
        all_succeed += n[g] * log(p[g])
        mean += n[g] * p[g]
    if total == 0:
        tails.less = tails.greater = 0.0
    elif observed == 0:
        tails.less = all_fail
        tails.greater = 0.0
        tails.theta = -INFINITY
    elif observed == total:
        tails.less = 0.0
        tails.greater = all_succeed
        tails.theta = INFINITY
    elif size == 1:
        tails = binomial_tails(observed, total, p[0])
        seen = <double> observed / total
        tails.theta = log(seen / (1 - seen)) - log(p[0] / (1 - p[0]))
    elif observed >= mean:
        tails = tilted_tails(observed, n, p, size)
    else:
        for g in range(size):
            mirrored[g] = 1 - p[g]
        other = tilted_tails(total - observed, n, mirrored, size)
        tails.less = other.greater
        tails.greater = other.less
        tails.theta = -other.theta
        tails.complete = other.complete
    return tails


def poisson_binomial_log_tails(
    const int64_t[::1] observed,
    const int64_t[::1] offsets,
    const int64_t[::1] n,
    const double[::1] p,
    double[::1] less,
    double[::1] greater,
    double[::1] theta,
):
    """Fill `less`, `greater` and `theta` for every sum; sum i has the binomials offsets[i]:offsets[i + 1]."""
    cdef Py_ssize_t i
    cdef int64_t start
    cdef double[::1] mirrored = np.empty(len(p) + 1)
    cdef const int64_t* trials = &n[0] if n.shape[0] else NULL
    cdef const double* chances = &p[0] if p.shape[0] else NULL
    cdef Tails tails = no_tails()
    with nogil:
        for i in range(observed.shape[0]):
            start = offsets[i]
            tails = poisson_binomial_tails(
                observed[i], trials + start, chances + start, &mirrored[0], offsets[i + 1] - start
            )
            less[i] = tails.less
            greater[i] = tails.greater
            theta[i] = tails.theta
            if not tails.complete:
                with gil:
                    raise MemoryError


cdef double log_gamma_tail(double a, double x) noexcept nogil:
    """Return log Q(a, x), the regularised upper incomplete gamma function, the tail of a chi-square."""
    cdef double lead, total, term, j, b, c, d, fraction, numerator
    cdef int i
    if isnan(x):
        return NAN
    if x == 0 or a == 0:
        return 0.0 if x == 0 else -INFINITY
    if x == INFINITY:
        return -INFINITY
    lead = a * log(x) - x - lgamma(a)
    if x < a + 1:
        total = 1 / a
        term = 1 / a
        j = a
        while term > NEGLIGIBLE * total:
            j += 1
            term *= x / j
            total += term
        return log_complement(exp(lead) * total)
    # Continued fraction 1/(x+1−a− 1(1−a)/(x+3−a− 2(2−a)/(x+5−a− …))), evaluated forwards.
    b = x + 1 - a
    c = 1e300
    d = 1 / b
    fraction = d
    for i in range(1, 100_000):
        numerator = -i * (i - a)
        b += 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        fraction *= c * d
        if fabs(c * d - 1) < 1e-16:
            break
    return lead + log(fraction)


def log_gamma_tails(const double[:] a, const double[:] x, double[:] result):
    """Fill `result` with log Q(a, x) of every pair."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(a.shape[0]):
            result[i] = log_gamma_tail(a[i], x[i])


cdef double hypergeometric_log_pmf(int64_t k, int64_t n, int64_t marked, int64_t size) noexcept nogil:
    """Return log P(k marked among n drawn from `size`, of which `marked`), as a ratio of binomials."""
    cdef double p
    if n == 0 or n == size or marked == 0 or marked == size:
        return 0.0
    p = <double> n / size
    return (
        binomial_log_pmf(k, marked, p, 1 - p)
        + binomial_log_pmf(n - k, size - marked, p, 1 - p)
        - binomial_log_pmf(n, size, p, 1 - p)
    )


cdef double tilted_count(double theta, int64_t n, int64_t marked, int64_t size) noexcept nogil:
    """Count at which a hypergeometric tilted by θ centres: x(size−marked−n+x) / ((marked−x)(n−x)) = e^θ."""
    cdef int64_t low = max(0, n + marked - size), high = min(n, marked)
    cdef double odds, b, c, root
    if low == high:
        return low
    if fabs(theta) < 1e-9:
        return <double> (n * marked) / size
    odds = exp(-fabs(theta))
    # e^θ is kept at or below 1 by counting, for θ > 0, the drawn that are not marked.
    if theta > 0:
        marked = size - marked
    b = size - (marked + n) * (1 - odds)
    c = odds * marked * n
    root = sqrt(b * b + 4 * (1 - odds) * c)
    root = 2 * c / (b + root) if b > 0 else (root - b) / (2 * (1 - odds))
    return min(max(n - root if theta > 0 else root, <double> low), <double> high)


cdef Band hypergeometric_band(
    double theta, int64_t n, int64_t marked, int64_t size, double* log_mode
) noexcept nogil:
    """The probabilities of one stratum over that of the mode; `log_mode` gets the log of its tilted weight."""
    cdef int64_t low = max(0, n + marked - size), high = min(n, marked), unmarked = size - marked - n
    cdef int64_t mode = <int64_t> tilted_count(theta, n, marked, size), first, last, j
    cdef double odds = exp(theta), term, step
    cdef Band band
    while mode < high and (marked - mode) * (n - mode) * odds > (mode + 1) * (unmarked + mode + 1):
        mode += 1
    while mode > low and mode * (unmarked + mode) > (marked - mode + 1) * (n - mode + 1) * odds:
        mode -= 1
    first = mode
    term = 1.0
    while first > low and term > NEGLIGIBLE:
        term *= first * (unmarked + first) / ((marked - first + 1) * (n - first + 1) * odds)
        first -= 1
    last = mode
    term = 1.0
    while last < high and term > NEGLIGIBLE:
        term *= (marked - last) * (n - last) * odds / ((last + 1) * (unmarked + last + 1))
        last += 1
    log_mode[0] = hypergeometric_log_pmf(mode, n, marked, size) + theta * mode
    band = new_band(first, last - first + 1)
    if band.values == NULL:
        return band
    band.values[mode - first] = 1.0
    for j in range(mode, first, -1):
        step = j * (unmarked + j) / ((marked - j + 1) * (n - j + 1) * odds)
        band.values[j - 1 - first] = band.values[j - first] * step
    for j in range(mode, last):
        step = (marked - j) * (n - j) * odds / ((j + 1) * (unmarked + j + 1))
        band.values[j + 1 - first] = band.values[j - first] * step
    return band


cdef Tails stratified_tails(
    int64_t k, const int64_t* n, const int64_t* marked, const int64_t* size, int64_t strata
) noexcept nogil:
    """P(X ≤ k) and P(X ≥ k) for a sum X of hypergeometric counts, one for each stratum, in logs."""
    cdef int64_t lowest = 0, highest = 0, low, high, s, at, j, outward
    cdef double at_lowest = 0.0, at_highest = 0.0, bottom = -100.0, ceiling = 100.0, theta = 0.0, mean
    cdef double log_weight = 0.0, log_mode = 0.0, beyond = 0.0, log_scale
    cdef Band band
    cdef Tails tails = no_tails()
    cdef int turn
    for s in range(strata):
        low = max(0, n[s] + marked[s] - size[s])
        high = min(n[s], marked[s])
        lowest += low
        highest += high
        at_lowest += hypergeometric_log_pmf(low, n[s], marked[s], size[s])
        at_highest += hypergeometric_log_pmf(high, n[s], marked[s], size[s])
    if k == highest:
        tails.less = 0.0
        tails.greater = at_highest if lowest < highest else 0.0
        return tails
    if k == lowest:
        tails.less = at_lowest
        tails.greater = 0.0
        return tails
    # Any tilt is exact; one that centres X near k keeps what matters there of ordinary size.
    # It is at most twice the log of the size, so e^100 is beyond any data.
    for turn in range(60):
        theta = 0.5 * (bottom + ceiling)
        mean = 0.0
        for s in range(strata):
            mean += tilted_count(theta, n[s], marked[s], size[s])
        if mean < k:
            bottom = theta
        else:
            ceiling = theta
    band = certain_zero()
    for s in range(strata):
        band = added(band, hypergeometric_band(theta, n[s], marked[s], size[s], &log_mode))
        log_weight += log_mode
    if band.values == NULL:
        return no_memory()
    at = k - band.first
    outward = 1 if theta >= 0 else -1
    j = at + outward
    while 0 <= j < band.size:
        beyond += band.values[j] * exp(-fabs(theta) * fabs(<double> (j - at)))
        j += outward
    log_scale = log_weight - theta * k
    tails.greater = log_scale + log(band.values[at] + beyond)
    tails.less = log_complement(exp(log_scale) * beyond)
    free(band.values)
    if theta < 0:
        tails.less, tails.greater = tails.greater, tails.less
    return tails


def stratified_log_tails(
    const int64_t[::1] k,
    const int64_t[:, ::1] n,
    const int64_t[:, ::1] marked,
    const int64_t[:, ::1] size,
    double[::1] less,
    double[::1] greater,
):
    """Fill `less` and `greater` for every row of strata (columns of n, marked and size); without strata, both are 1."""
    cdef Py_ssize_t i
    cdef Tails tails = no_tails()
    if n.shape[1] == 0:
        less[:] = 0
        greater[:] = 0
        return
    with nogil:
        for i in range(k.shape[0]):
            tails = stratified_tails(k[i], &n[i, 0], &marked[i, 0], &size[i, 0], n.shape[1])
            less[i] = tails.less
            greater[i] = tails.greater
            if not tails.complete:
                with gil:
                    raise MemoryError
