# The averaged n-gram model and word vectors: one thread, one example at a time, the same every run.

# What is learned from beside the labels, and how much of the expert is mixed in (see `learn_labels`).
cdef struct Losses:
    int64_t k
    const float* offset
    const float* target
    double amount
    double penalty
    double slope


# Rows of weighted features in compressed form, and the vectors of features.
cdef struct Bags:
    const int64_t* indptr
    const int32_t* indices
    const float* values
    float* vectors
    int64_t width


cdef void average_row(Bags* bags, int64_t row, float* hidden) noexcept nogil:
    """Write the weighted sum of the vectors of a row's features."""
    cdef int64_t d, t
    cdef float value
    cdef const float* vector
    for d in range(bags.width):
        hidden[d] = 0
    for t in range(bags.indptr[row], bags.indptr[row + 1]):
        vector = bags.vectors + bags.indices[t] * bags.width
        value = bags.values[t]
        for d in range(bags.width):
            hidden[d] += value * vector[d]


cdef void spread_change(Bags* bags, int64_t row, const float* change, float rate) noexcept nogil:
    """Move the vectors of a row's features against a gradient of their weighted sum."""
    cdef int64_t d, t
    cdef float step
    cdef float* vector
    for t in range(bags.indptr[row], bags.indptr[row + 1]):
        vector = bags.vectors + bags.indices[t] * bags.width
        step = rate * bags.values[t]
        for d in range(bags.width):
            vector[d] -= step * change[d]


cdef float dot_product(const float* a, const float* b, int64_t n) noexcept nogil:
    """Return the product of two vectors, summed in eight lanes, so that it is the same whatever the processor."""
    cdef float lanes[8]
    cdef float rest = 0
    cdef int64_t d = 0
    cdef int lane
    for lane in range(8):
        lanes[lane] = 0
    while d + 8 <= n:
        for lane in range(8):
            lanes[lane] += a[d + lane] * b[d + lane]
        d += 8
    while d < n:
        rest += a[d] * b[d]
        d += 1
    return (((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))) + rest


cdef void softmax_in_place(float* margins, int64_t k) noexcept nogil:
    """Turn margins into probabilities, in place."""
    cdef float top = margins[0], total = 0
    cdef int64_t j
    for j in range(1, k):
        top = max(top, margins[j])
    for j in range(k):
        margins[j] = expf(margins[j] - top)
        total += margins[j]
    for j in range(k):
        margins[j] /= total


cdef double loss_and_residual(Losses* given, float* margins, int64_t i, int64_t gold) noexcept nogil:
    """Turn margins into the gradient of example i's loss by them; return the loss, and set its slope in `amount`.

    `amount` times the expert's log-probabilities in `offset` is added to the margins; `target` has probabilities to
    learn instead of the label; both are NULL where they are not used. A `penalty` times the entropy of the expert
    with that amount is added to the loss: with V the variance of its log-probabilities, the entropy's slope is
    −amount · V.
    """
    cdef int64_t k = given.k, j
    cdef double slope = 0.0, loss = 0.0, total = 0.0, first = 0.0, second = 0.0, e, mean, amount = given.amount
    cdef const float* expert = given.offset + i * k
    cdef const float* wanted = given.target + i * k
    cdef float top
    if given.penalty > 0:
        top = expert[0]
        for j in range(1, k):
            top = max(top, expert[j])
        for j in range(k):
            e = exp(amount * (expert[j] - top))
            total += e
            first += e * expert[j]
            second += e * (<double> expert[j] * expert[j])
        mean = first / total
        loss += given.penalty * (log(total) + amount * (top - mean))
        slope -= given.penalty * amount * (second / total - mean * mean)
    if given.offset != NULL:
        for j in range(k):
            margins[j] += <float> amount * expert[j]
    softmax_in_place(margins, k)
    if given.target != NULL:
        for j in range(k):
            loss -= wanted[j] * log(<double> max(margins[j], <float> 1e-30))
            margins[j] -= wanted[j]
    else:
        loss -= log(<double> max(margins[gold], <float> 1e-30))
        margins[gold] -= 1
    if given.offset != NULL:
        for j in range(k):
            slope += margins[j] * expert[j]
    given.slope = slope
    return loss


cdef double group_factor(int64_t group, float[::1] shares, double pace, double loss) noexcept nogil:
    """Raise the share of the example's group by its loss; return the share times the number of groups.

    Sagawa et al. 2020, algorithm 1: examples are drawn so that every group is as frequent as any other.
    """
    cdef float total = 0
    cdef int64_t g
    shares[group] *= expf(<float> (pace * loss))
    for g in range(shares.shape[0]):
        total += shares[g]
    for g in range(shares.shape[0]):
        shares[g] /= total
    return <double> shares[group] * shares.shape[0]


cdef inline double mixing_margin(const float* mixing, const float* hidden, int64_t width) noexcept nogil:
    """Return the number whose softplus is how much of the expert a row asks for; the last entry is the intercept."""
    return <double> mixing[width] + dot_product(mixing, hidden, width)


cdef inline double softplus(double s) noexcept nogil:
    return max(s, 0.0) + log1p(exp(-fabs(s)))


cdef Losses losses_of(int64_t k, const float[:, ::1] offset, const float[:, ::1] target):
    cdef Losses given
    given.k = k
    given.offset = &offset[0, 0] if offset.shape[0] else NULL
    given.target = &target[0, 0] if target.shape[0] else NULL
    given.amount = 1.0
    given.penalty = 0.0
    given.slope = 0.0
    return given


cdef Bags bags_of(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] values, float[:, ::1] vectors
):
    cdef Bags bags
    bags.indptr = &indptr[0]
    bags.indices = &indices[0] if indices.shape[0] else NULL
    bags.values = &values[0] if values.shape[0] else NULL
    bags.vectors = &vectors[0, 0] if vectors.shape[0] else NULL
    bags.width = vectors.shape[1]
    return bags


def learn_labels(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] values,
    const int64_t[::1] gold,
    const float[::1] weight,
    const int64_t[::1] order,
    double rate,
    double decay,
    float[:, ::1] vectors,
    float[:, ::1] output,
    float[::1] bias,
    const float[:, :] offset,
    const float[:, :] target,
    const int64_t[::1] groups,
    float[::1] aside,
    double pace,
):
    """Learn from the rows in `order`; return the sum of their losses.

    The rate of the first step is `rate`, and `decay` less with every further one. `vectors` has a row per
    feature, `output` one per label. `offset` and `target` are those of `loss_and_residual`, without rows where they are
    not used. With `groups`, `aside` has their shares and `pace` is the step size; without, an `aside` that is not empty
    are mixing weights and `pace` is the weight of the entropy.
    """
    cdef int64_t k = output.shape[0], width = output.shape[1], step, i, j, d
    cdef float[::1] hidden = np.empty(width, np.float32)
    cdef float[::1] change = np.empty(width, np.float32)
    cdef float[::1] chance = np.empty(k, np.float32)
    cdef bint mixes = aside.shape[0] > 0 and groups.shape[0] == 0
    cdef const float[:, ::1] experts = np.ascontiguousarray(offset)
    cdef const float[:, ::1] targets = np.ascontiguousarray(target)
    cdef Losses given = losses_of(k, experts, targets)
    cdef Bags bags = bags_of(indptr, indices, values, vectors)
    cdef float* label
    cdef double loss = 0.0, s = 0.0, each, factor
    cdef float now, g
    given.penalty = pace if mixes else 0.0
    with nogil:
        for step in range(order.shape[0]):
            i = order[step]
            average_row(&bags, i, &hidden[0])
            for j in range(k):
                chance[j] = bias[j] + dot_product(&output[j, 0], &hidden[0], width)
            if mixes:
                s = mixing_margin(&aside[0], &hidden[0], width)
                given.amount = softplus(s)
            each = loss_and_residual(&given, &chance[0], i, gold[i])
            factor = weight[i]
            loss += factor * each
            if groups.shape[0]:
                factor *= group_factor(groups[i], aside, pace, each)
            now = <float> ((rate - decay * step) * factor)
            for d in range(width):
                change[d] = 0
            for j in range(k):
                g = chance[j]
                label = &output[j, 0]
                for d in range(width):
                    change[d] += g * label[d]
                    label[d] -= now * g * hidden[d]
                bias[j] -= now * g
            if mixes:
                g = <float> (given.slope / (1 + exp(-s)))
                for d in range(width):
                    change[d] += g * aside[d]
                    aside[d] -= now * g * hidden[d]
                aside[width] -= now * g
            spread_change(&bags, i, &change[0], now)
    return loss


def learn_choices(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] values,
    const int64_t[::1] starts,
    const int64_t[::1] gold,
    const float[::1] weight,
    const int64_t[::1] order,
    double rate,
    double decay,
    float[:, ::1] vectors,
    float[:, ::1] output,
    const float[:, :] offset,
    const float[:, :] target,
    const int64_t[::1] groups,
    float[::1] aside,
    double pace,
):
    """Learn from the examples in `order`, whose rows compete; return the sum of their losses.

    Example e has the rows from `starts[e]` to `starts[e + 1]`; `output` has one row. The rest is that of
    `learn_labels`, by example; the amount of the expert that is mixed in is the mean of its rows'.
    """
    cdef int64_t width = output.shape[1], widest = 1, step, e, first, n, i, d
    for e in range(starts.shape[0] - 1):
        widest = max(widest, starts[e + 1] - starts[e])
    cdef float[:, ::1] hidden = np.empty((widest, width), np.float32)
    cdef float[::1] chance = np.empty(widest, np.float32)
    cdef float[::1] change = np.empty(width, np.float32)
    cdef float[::1] before = np.empty(width, np.float32)
    cdef float[::1] pulled = np.zeros(widest, np.float32)
    cdef float[::1] mixing = np.array(aside, np.float32)
    cdef bint mixes = aside.shape[0] > 0 and groups.shape[0] == 0
    cdef const float[:, ::1] experts = np.ascontiguousarray(offset)
    cdef const float[:, ::1] targets = np.ascontiguousarray(target)
    cdef Losses given = losses_of(offset.shape[1], experts, targets)
    cdef Bags bags = bags_of(indptr, indices, values, vectors)
    cdef double loss = 0.0, s, each, factor
    cdef float now, g
    if target.shape[0]:
        given.k = target.shape[1]
    cdef int64_t stride = given.k
    given.penalty = pace if mixes else 0.0
    with nogil:
        for step in range(order.shape[0]):
            e = order[step]
            first = starts[e]
            n = starts[e + 1] - first
            if mixes:
                given.amount = 0.0
            for i in range(n):
                average_row(&bags, first + i, &hidden[i, 0])
                chance[i] = dot_product(&output[0, 0], &hidden[i, 0], width)
                if mixes:
                    s = mixing_margin(&aside[0], &hidden[i, 0], width)
                    given.amount += softplus(s) / n
                    pulled[i] = <float> (1 / ((1 + exp(-s)) * n))
            each = loss_of_choices(&given, &chance[0], e, gold[e], n, stride)
            factor = weight[e]
            loss += factor * each
            if groups.shape[0]:
                factor *= group_factor(groups[e], aside, pace, each)
            now = <float> ((rate - decay * step) * factor)
            for d in range(width):
                before[d] = output[0, d]
            for d in range(aside.shape[0]):
                mixing[d] = aside[d]
            for i in range(n):
                for d in range(width):
                    change[d] = chance[i] * before[d]
                    output[0, d] -= now * chance[i] * hidden[i, d]
                if mixes:
                    g = <float> given.slope * pulled[i]
                    for d in range(width):
                        change[d] += g * mixing[d]
                        aside[d] -= now * g * hidden[i, d]
                    aside[width] -= now * g
                spread_change(&bags, first + i, &change[0], now)
    return loss


cdef double loss_of_choices(
    Losses* given, float* margins, int64_t e, int64_t gold, int64_t n, int64_t stride
) noexcept nogil:
    """Return the loss of an example of n choices, where rows of `offset` and `target` have room for more."""
    cdef Losses own = given[0]
    cdef double loss
    own.k = n
    if own.offset != NULL:
        own.offset += e * stride
    if own.target != NULL:
        own.target += e * stride
    loss = loss_and_residual(&own, margins, 0, gold)
    given.slope = own.slope
    return loss


cdef inline int64_t feature_of(
    const int32_t[::1] ids, const int64_t[::1] keys, int64_t first, int64_t length, uint64_t mask, const int32_t[::1] column
) noexcept nogil:
    """Return the feature of an n-gram of a single text, or -1."""
    cdef uint64_t h = 1
    cdef int64_t t
    for t in range(first, first + length):
        h = mixed_two(h, <uint64_t> keys[ids[t]])
    return column[<int64_t> (h & mask)]


def add_ngrams(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const int64_t[::1] keys,
    int64_t longest,
    uint64_t mask,
    const int32_t[::1] column,
    double[::1] scratch,
    double[::1] squares,
):
    """Add to every token the squares of the values of the n-grams it is part of, each n-gram once.

    Row i has the entries from `indptr[i]`; `column` is the feature of a hash or -1, `scratch` a zero per feature.
    """
    cdef int64_t i, t, begin, end, length, s, r, feature
    cdef bint again
    with nogil:
        for i in range(offsets.shape[0] - 1):
            for t in range(indptr[i], indptr[i + 1]):
                scratch[indices[t]] = values[t]
            begin = offsets[i]
            end = offsets[i + 1]
            for t in range(begin, end):
                for length in range(1, longest + 1):
                    for s in range(max(begin, t - length + 1), min(t, end - length) + 1):
                        feature = feature_of(ids, keys, s, length, mask, column)
                        if feature < 0:
                            continue
                        again = False  # the same n-gram around the same token, as in "no no no"
                        for r in range(max(begin, t - length + 1), s):
                            again = again or feature_of(ids, keys, r, length, mask, column) == feature
                        if not again:
                            squares[t] += scratch[feature] * scratch[feature]
            for t in range(indptr[i], indptr[i + 1]):
                scratch[indices[t]] = 0


def add_shared(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    const int32_t[::1] premise,
    const int64_t[::1] premise_offsets,
    const int32_t[::1] hypothesis,
    const int64_t[::1] offsets,
    const int64_t[::1] keys,
    uint64_t mask,
    const int32_t[::1] column,
    double[::1] scratch,
    int64_t[::1] stamp,
    double[::1] premise_squares,
    double[::1] hypothesis_squares,
):
    """Add the squares of the values of shared and unshared words to the tokens of both texts that make them up."""
    cdef int64_t i, t, feature
    cdef int32_t word
    cdef uint64_t shared
    with nogil:
        for i in range(offsets.shape[0] - 1):
            for t in range(indptr[i], indptr[i + 1]):
                scratch[indices[t]] = values[t]
            for t in range(premise_offsets[i], premise_offsets[i + 1]):
                stamp[premise[t]] = 2 * i
            for t in range(offsets[i], offsets[i + 1]):
                word = hypothesis[t]
                shared = stamp[word] >= 2 * i
                feature = column[<int64_t> (mixed_two(mixed_two(0, shared), <uint64_t> keys[word]) & mask)]
                if feature >= 0:
                    hypothesis_squares[t] += scratch[feature] * scratch[feature]
                if shared:
                    stamp[word] = 2 * i + 1  # both texts have it
            for t in range(premise_offsets[i], premise_offsets[i + 1]):
                if stamp[premise[t]] == 2 * i + 1:
                    word = premise[t]
                    feature = column[<int64_t> (mixed_two(mixed_two(0, 1), <uint64_t> keys[word]) & mask)]
                    if feature >= 0:
                        premise_squares[t] += scratch[feature] * scratch[feature]
            for t in range(indptr[i], indptr[i + 1]):
                scratch[indices[t]] = 0


cdef inline uint64_t next_state(uint64_t state) noexcept nogil:
    """Return the next state of a 64-bit xorshift generator."""
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state


def cbow_epoch(
    const int32_t[::1] ids,
    const int64_t[::1] offsets,
    const int64_t[::1] order,
    const float[::1] keep,
    const int32_t[::1] negatives,
    int64_t window,
    int64_t n_negatives,
    double first_rate,
    double last_rate,
    int64_t seed,
    float[:, ::1] vectors,
    float[:, ::1] contexts,
):
    """Learn word vectors from texts in an order, in place: the mean of the words around predicts each word.

    `keep` is the chance of every word to be left in its text, `negatives` a long list of words in proportion to
    their chance to be drawn as a wrong answer. The rate falls evenly from the first to the last text.
    """
    cdef int64_t dimensions = vectors.shape[1], longest = 1, i, step, row, n, at, reach, first, last, around, near
    cdef int64_t d, draw
    cdef uint64_t state = <uint64_t> seed * 2 + <uint64_t> 88172645463325253
    cdef float unit = 1.0 / 16777216.0, rate, share, target, score, step_size
    cdef int32_t word
    cdef float* vector
    cdef float* context
    for i in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    cdef int32_t[::1] text = np.empty(longest, np.int32)
    cdef float[::1] mean_array = np.empty(dimensions, np.float32)
    cdef float[::1] change_array = np.empty(dimensions, np.float32)
    cdef float* mean = &mean_array[0]
    cdef float* change = &change_array[0]
    for i in range(20):
        state = next_state(state)
    with nogil:
        for step in range(order.shape[0]):
            rate = <float> (first_rate + (last_rate - first_rate) * step / order.shape[0])
            row = order[step]
            n = 0
            for at in range(offsets[row], offsets[row + 1]):
                word = ids[at]
                state = next_state(state)
                if <float> (state >> 40) * unit < keep[word]:
                    text[n] = word
                    n += 1
            for at in range(n):
                state = next_state(state)
                reach = 1 + <int64_t> ((state >> 33) % <uint64_t> window)
                first = max(0, at - reach)
                last = min(n, at + reach + 1)
                around = last - first - 1
                if around == 0:
                    continue
                for d in range(dimensions):
                    mean[d] = 0
                    change[d] = 0
                for near in range(first, last):
                    if near != at:
                        vector = &vectors[text[near], 0]
                        for d in range(dimensions):
                            mean[d] += vector[d]
                share = 1.0 / around
                for d in range(dimensions):
                    mean[d] *= share
                for draw in range(n_negatives + 1):
                    if draw == 0:
                        word = text[at]
                        target = 1
                    else:
                        state = next_state(state)
                        word = negatives[<int64_t> ((state >> 33) % <uint64_t> negatives.shape[0])]
                        if word == text[at]:
                            continue
                        target = 0
                    context = &contexts[word, 0]
                    score = dot_product(mean, context, dimensions)
                    step_size = (target - <float> 1 / (<float> 1 + expf(-score))) * rate
                    for d in range(dimensions):
                        change[d] += step_size * context[d]
                        context[d] += step_size * mean[d]
                for near in range(first, last):
                    if near != at:
                        vector = &vectors[text[near], 0]
                        for d in range(dimensions):
                            vector[d] += change[d]
