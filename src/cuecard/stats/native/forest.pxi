# Random forests on distinct points with counts per label.

cdef enum:
    TABLED = 20  # Poisson numbers of means up to this are drawn from a table
    OUTCOMES = 64  # of a table: they hold all but 1e-12 of the mass
    SORTED = 24  # nodes of at most this many records are sorted


# What a tree is grown from. `records` hold a cell (ranks of its features, label) and its drawn weight; they are moved,
# not pointed to, so that nodes are read in a row.
cdef struct Growth:
    const double* values
    const int64_t* ranks
    int64_t n_ranks
    int64_t n_features
    int64_t n_labels
    int32_t* records
    int64_t width
    double* totals
    double* left
    double* histogram
    uint64_t* occupied
    int64_t n_words
    int64_t* keys
    int64_t* features
    int64_t tried
    bint entropy
    uint64_t state


# The best cut of a node on one feature: its score (−1 if constant) and the ranks beside it.
cdef struct Cut:
    double score
    int64_t low
    int64_t high


cdef inline uint64_t random_bits(uint64_t* state) noexcept nogil:
    """Return 64 random bits (splitmix64)."""
    cdef uint64_t z
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> 30)) * MIX_A
    z = (z ^ (z >> 27)) * MIX_B
    return z ^ (z >> 31)


cdef inline double uniform(uint64_t* state) noexcept nogil:
    """Return a random number from 0 to below 1."""
    return <double> (random_bits(state) >> 11) * (1.0 / 9007199254740992.0)


def _poisson_tables():
    """Return Walker's alias tables of the Poisson laws of mean 0 … TABLED: where to stay, and where to go else."""
    cdef double[:, ::1] stay = np.ones((TABLED + 1, OUTCOMES))
    cdef int64_t[:, ::1] other = np.zeros((TABLED + 1, OUTCOMES), dtype=np.int64)
    cdef double mass[OUTCOMES]
    cdef bint settled[OUTCOMES]
    cdef double total
    cdef int mean, k, turn, small, large
    for mean in range(1, TABLED + 1):
        mass[0] = total = exp(-<double> mean)
        for k in range(1, OUTCOMES):
            mass[k] = mass[k - 1] * mean / k
            total += mass[k]
        for k in range(OUTCOMES):
            mass[k] *= OUTCOMES / total
            settled[k] = False
        for turn in range(OUTCOMES - 1):
            small = large = -1
            for k in range(OUTCOMES):
                if not settled[k]:
                    if small < 0 or mass[k] < mass[small]:
                        small = k
                    if large < 0 or mass[k] > mass[large]:
                        large = k
            settled[small] = True
            stay[mean, small] = mass[small]
            other[mean, small] = large
            mass[large] -= 1.0 - mass[small]
    return stay.base, other.base


cdef int64_t small_poisson(double mean, uint64_t* state) noexcept nogil:
    """Return a Poisson number of a mean below 1, by counting arrivals; a mean of 0 uses no random number."""
    cdef int64_t k = 0
    cdef double left, end
    if mean <= 0.0:
        return 0
    left = uniform(state)
    end = exp(-mean)
    while left > end:
        k += 1
        left *= uniform(state)
    return k


cdef int64_t large_poisson(int64_t mean, uint64_t* state) noexcept nogil:
    """Return a Poisson number by Hörmann's transformed rejection."""
    cdef double b = 0.931 + 2.53 * sqrt(<double> mean)
    cdef double a = -0.059 + 0.02483 * b
    cdef double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    cdef double edge = 0.9277 - 3.6224 / (b - 2.0)
    cdef double u, v, us, k
    while True:
        u = uniform(state) - 0.5
        v = uniform(state)
        us = 0.5 - fabs(u)
        if us <= 0.0 or v <= 0.0:
            continue
        k = floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= edge:
            return <int64_t> k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -mean + k * log(<double> mean) - lgamma(k + 1.0):
            return <int64_t> k


cdef inline int64_t poisson(
    int64_t mean, double[:, ::1] stay, int64_t[:, ::1] other, uint64_t* state
) noexcept nogil:
    """Return a Poisson number: from the tables for a small mean, by transformed rejection for another."""
    cdef uint64_t bits
    cdef int64_t k
    cdef double u
    if mean == 0:  # uses no random number, so that rows left out have no say at all
        return 0
    if mean > TABLED:
        return large_poisson(mean, state)
    bits = random_bits(state)
    k = <int64_t> (bits >> 58)
    u = <double> ((bits << 6) >> 11) * (1.0 / 9007199254740992.0)
    return k if u < stay[mean, k] else other[mean, k]


def poisson_numbers(const int64_t[::1] means, uint64_t seed):
    """Return a Poisson number of every mean, as the bootstrap of a forest draws them."""
    cdef int64_t[::1] drawn = np.empty(len(means), dtype=np.int64)
    cdef double[:, ::1] stay
    cdef int64_t[:, ::1] other
    cdef int64_t i
    stay, other = _poisson_tables()
    for i in range(means.shape[0]):
        drawn[i] = poisson(means[i], stay, other, &seed)
    return drawn.base


def forest(
    const double[:, ::1] values,
    const int64_t[:, ::1] ranks,
    const int32_t[:, ::1] cells,
    const int64_t[::1] counts,
    const double[::1] rests,
    int64_t n_labels,
    const int64_t[::1] held,
    int64_t trees,
    int64_t depth,
    int64_t tried,
    uint64_t seed,
    bint entropy=False,
):
    """Return the mean leaf distribution over trees for the held-out points `held`.

    A cell is a point with one of its labels: a row (ranks of its features …, label) of `cells`, seen
    `counts` times, or of that weight with `rests` as the fractions beyond whole numbers (empty if there are none).
    Every tree is grown on Poisson(count) copies of each cell: the bootstrap of all rows up to its exact total,
    which a tree does not depend on. Held-out points are led down while the tree grows, and
    branches that none of them takes are not grown at all. Cuts lower Gini's impurity, or the entropy.
    """
    cdef int64_t n = cells.shape[0], width = cells.shape[1], size, i, f, j, tree
    cdef double[:, ::1] stay
    cdef int64_t[:, ::1] other
    stay, other = _poisson_tables()
    cdef int64_t[::1] drawn = np.zeros(n + 1, dtype=np.int64)
    cdef int32_t[:, ::1] records = np.empty((n + 1, width + 1), dtype=np.int32)
    cdef int64_t[::1] guests = np.empty(len(held) + 1, dtype=np.int64)
    cdef double[:, ::1] shares = np.zeros((len(held), n_labels))
    cdef double[:, ::1] histogram = np.zeros((ranks.shape[1] + 1, n_labels))
    cdef int64_t[::1] keys = np.empty(SORTED + 1, dtype=np.int64)
    cdef uint64_t[::1] occupied = np.zeros(ranks.shape[1] // 64 + 1, dtype=np.uint64)
    cdef double[::1] sums = np.empty(2 * n_labels)
    cdef int64_t[::1] features = np.empty(len(ranks), dtype=np.int64)
    # A branch waits on the stack while its sibling grows: at most one per level.
    cdef int64_t[:, ::1] stack = np.empty((min(depth, n) + 2, 5), dtype=np.int64)
    cdef Growth growth
    if n == 0 or held.shape[0] == 0:
        return shares.base
    growth.values, growth.ranks = &values[0, 0], &ranks[0, 0]
    growth.n_ranks, growth.n_features, growth.n_labels = ranks.shape[1], ranks.shape[0], n_labels
    growth.records, growth.width = &records[0, 0], width + 1
    growth.totals, growth.left = &sums[0], &sums[0] + n_labels
    growth.histogram, growth.occupied = &histogram[0, 0], &occupied[0]
    growth.n_words, growth.keys, growth.features = occupied.shape[0], &keys[0], &features[0]
    growth.tried, growth.entropy, growth.state = tried, entropy, seed
    with nogil:
        for tree in range(trees):
            for i in range(n):
                drawn[i] = poisson(counts[i], stay, other, &growth.state)
            for i in range(rests.shape[0]):
                drawn[i] += small_poisson(rests[i], &growth.state)
            size = 0
            for i in range(n):
                if drawn[i] > 0:
                    for f in range(width):
                        records[size, f] = cells[i, f]
                    records[size, width] = <int32_t> drawn[i]
                    size += 1
            for j in range(held.shape[0]):
                guests[j] = j
            if size > 0:
                grow_tree(&growth, size, &held[0], &guests[0], held.shape[0], depth, &stack[0, 0], &shares[0, 0])
    return shares.base / trees


cdef void grow_tree(
    Growth* g,
    int64_t size,
    const int64_t* held,
    int64_t* guests,
    int64_t n_guests,
    int64_t depth,
    int64_t* stack,
    double* shares,
) noexcept nogil:
    """Grow one tree and add the distribution of the leaf that each guest ends in to `shares`."""
    cdef int64_t label_at = g.n_features, top = 1, start, end, first, last, level, m, k, f, visited, pick
    cdef int64_t feature, low, high, middle, parting, guest
    cdef double total, largest, best, threshold
    cdef int32_t* record
    cdef int64_t* node = stack
    cdef Cut cut
    node[0], node[1], node[2], node[3], node[4] = 0, size, 0, n_guests, 0
    for f in range(g.n_features):
        g.features[f] = f
    while top > 0:
        top -= 1
        node = stack + 5 * top
        start, end, first, last, level = node[0], node[1], node[2], node[3], node[4]
        if first == last:
            continue
        for k in range(g.n_labels):
            g.totals[k] = 0.0
        for m in range(start, end):
            record = g.records + m * g.width
            g.totals[record[label_at]] += record[label_at + 1]
        total = 0.0
        largest = 0.0
        for k in range(g.n_labels):
            total += g.totals[k]
            largest = max(largest, g.totals[k])
        best = -1.0
        feature = -1
        low = high = 0
        if level < depth and end - start > 1 and largest < total:
            for visited in range(g.n_features):
                if visited >= g.tried and feature >= 0:
                    break
                pick = visited + <int64_t> (uniform(&g.state) * (g.n_features - visited))
                g.features[visited], g.features[pick] = g.features[pick], g.features[visited]
                f = g.features[visited]
                cut = best_cut(g, f, start, end, total)
                if cut.score > best:
                    best = cut.score
                    feature = f
                    low = cut.low
                    high = cut.high
        if feature < 0:
            for m in range(first, last):
                for k in range(g.n_labels):
                    shares[guests[m] * g.n_labels + k] += g.totals[k] / total
            continue
        middle = part_records(g, start, end, feature, low)
        # As in scikit-learn, a value between two seen ones goes to the nearer side.
        threshold = 0.5 * (g.values[feature * g.n_ranks + low] + g.values[feature * g.n_ranks + high])
        parting = first
        for m in range(first, last):
            guest = guests[m]
            if g.values[feature * g.n_ranks + g.ranks[feature * g.n_ranks + held[guest]]] <= threshold:
                guests[m] = guests[parting]
                guests[parting] = guest
                parting += 1
        node[0], node[1], node[2], node[3], node[4] = middle, end, parting, last, level + 1
        node += 5
        node[0], node[1], node[2], node[3], node[4] = start, middle, first, parting, level + 1
        top += 2


cdef int64_t part_records(Growth* g, int64_t start, int64_t end, int64_t feature, int64_t cut) noexcept nogil:
    """Move the records up to a cut to the front; return where the others begin."""
    cdef int64_t i = start, j = end - 1, f
    cdef int32_t* one
    cdef int32_t* two
    while True:
        while i <= j and g.records[i * g.width + feature] <= cut:
            i += 1
        while i <= j and g.records[j * g.width + feature] > cut:
            j -= 1
        if i >= j:
            return i
        one = g.records + i * g.width
        two = g.records + j * g.width
        for f in range(g.width):
            one[f], two[f] = two[f], one[f]


cdef inline double times_log(double x) noexcept nogil:
    """Return x log x, which is 0 at 0."""
    return x * log(x) if x > 0.0 else 0.0


cdef inline double cut_score(
    Growth* g, double n_left, double total, double squares_left, double squares_right
) noexcept nogil:
    """Return how good a cut is: at least 0, and larger as the weighted impurity of both sides falls.

    By Gini's impurity Σ_k left_k² / left + Σ_k right_k² / right; by the entropy what is left of its maximum.
    """
    cdef double n_right = total - n_left, score
    cdef int64_t k
    if not g.entropy:
        return (squares_left * n_right + squares_right * n_left) / (n_left * n_right)
    score = total * log(<double> g.n_labels) - times_log(n_left) - times_log(n_right)
    for k in range(g.n_labels):
        score += times_log(g.left[k]) + times_log(g.totals[k] - g.left[k])
    return max(score, 0.0)


cdef Cut best_cut(Growth* g, int64_t f, int64_t start, int64_t end, double total) noexcept nogil:
    """Return the best cut of a node on one feature.

    Both sums of squares are kept up to date while records move from right to left. Few records are sorted; many are counted by rank,
    with a bit for every rank that occurs, so that empty ones cost nothing.
    """
    cdef int64_t label_at = g.n_features, size = end - start, m, p, k, r, previous = -1, word, first_word, last_word
    cdef int64_t key
    cdef double n_left = 0.0, squares_left = 0.0, squares_right = 0.0, score, w
    cdef double* left = g.left
    cdef double* totals = g.totals
    cdef double* counted
    cdef const int32_t* record
    cdef uint64_t bits
    cdef Cut cut
    cut.score = -1.0
    cut.low = cut.high = -1
    for k in range(g.n_labels):
        left[k] = 0.0
        squares_right += totals[k] * totals[k]
    if size <= SORTED:
        for m in range(size):
            key = <int64_t> g.records[(start + m) * g.width + f] << 32 | m
            p = m
            while p > 0 and g.keys[p - 1] > key:
                g.keys[p] = g.keys[p - 1]
                p -= 1
            g.keys[p] = key
        for p in range(size):
            r = g.keys[p] >> 32
            if r > previous:
                if p > 0:
                    score = cut_score(g, n_left, total, squares_left, squares_right)
                    if score > cut.score:
                        cut.score, cut.low, cut.high = score, previous, r
                previous = r
            record = g.records + (start + <int64_t> (<uint32_t> g.keys[p])) * g.width
            k = record[label_at]
            w = record[label_at + 1]
            n_left += w
            squares_left += w * (2.0 * left[k] + w)
            squares_right -= w * (2.0 * (totals[k] - left[k]) - w)
            left[k] += w
        return cut
    first_word = g.n_words
    last_word = -1
    for m in range(start, end):
        record = g.records + m * g.width
        r = record[f]
        g.histogram[r * g.n_labels + record[label_at]] += record[label_at + 1]
        word = r >> 6
        g.occupied[word] |= <uint64_t> 1 << (r & 63)
        first_word = min(first_word, word)
        last_word = max(last_word, word)
    for word in range(first_word, last_word + 1):
        bits = g.occupied[word]
        g.occupied[word] = 0
        while bits != 0:
            r = word * 64 + lowest_bit(bits)
            bits &= bits - 1
            if previous >= 0:
                score = cut_score(g, n_left, total, squares_left, squares_right)
                if score > cut.score:
                    cut.score, cut.low, cut.high = score, previous, r
            previous = r
            counted = g.histogram + r * g.n_labels
            for k in range(g.n_labels):
                w = counted[k]
                n_left += w
                squares_left += w * (2.0 * left[k] + w)
                squares_right -= w * (2.0 * (totals[k] - left[k]) - w)
                left[k] += w
                counted[k] = 0.0
    return cut
