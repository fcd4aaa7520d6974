# Points laid out on a map by t-SNE.

cdef extern from *:
    """
    /* Sixteen sums at a time: the same bits with registers of any width, so compilers may take the widest. */
    WIDEST
    static double cuecard_repel(const float *x, const float *y, float *push_x, float *push_y, int64_t n) {
        double total = 0;
        for (int64_t i = 0; i < n; i++) {
            float near_[16] = {0}, right[16] = {0}, up[16] = {0};
            float own_x = x[i], own_y = y[i], nears = 0, rights = 0, ups = 0;
            int64_t j = 0;
            for (; j + 16 <= n; j += 16) {
                for (int lane = 0; lane < 16; lane++) {
                    float across = own_x - x[j + lane], along = own_y - y[j + lane];
                    float alike = 1.0f / (1.0f + across * across + along * along);
                    near_[lane] += alike;
                    right[lane] += alike * alike * across;
                    up[lane] += alike * alike * along;
                }
            }
            for (; j < n; j++) {
                float across = own_x - x[j], along = own_y - y[j];
                float alike = 1.0f / (1.0f + across * across + along * along);
                nears += alike;
                rights += alike * alike * across;
                ups += alike * alike * along;
            }
            for (int lane = 0; lane < 16; lane++) {
                nears += near_[lane];
                rights += right[lane];
                ups += up[lane];
            }
            total += nears - 1;
            push_x[i] = rights;
            push_y[i] = ups;
        }
        return total;
    }
    """
    # Writes how far all points push each one away; returns the sum of all similarities on the map.
    double cuecard_repel(const float* x, const float* y, float* push_x, float* push_y, int64_t n) noexcept nogil


def neighbour_shares(const double[:, ::1] distances, double perplexity):
    """Return for every point how near its neighbours are: shares that sum to one, as even as the perplexity says."""
    cdef int64_t n = distances.shape[0], k = distances.shape[1], i, j
    cdef double[:, ::1] shares = np.empty((n, k))
    cdef double aim = log(perplexity), scale, low, high, nearest, total, weighted, entropy
    cdef int halving
    with nogil:
        for i in range(n):
            scale = 1.0
            low = 0.0
            high = INFINITY
            nearest = distances[i, 0]
            for j in range(k):
                nearest = min(nearest, distances[i, j])
            total = 1.0
            for halving in range(60):  # far more than the digits of a number
                total = 0.0
                weighted = 0.0
                for j in range(k):
                    shares[i, j] = exp(-scale * (distances[i, j] - nearest))
                    total += shares[i, j]
                    weighted += shares[i, j] * (distances[i, j] - nearest)
                entropy = log(total) + scale * weighted / total
                if fabs(entropy - aim) < 1e-6:
                    break
                if entropy > aim:
                    low = scale
                    scale = scale * 2 if isinf(high) else (scale + high) / 2
                else:
                    high = scale
                    scale = (scale + low) / 2
            for j in range(k):
                shares[i, j] /= total
    return shares.base


def descend(
    float[:, ::1] places,
    const int64_t[::1] starts,
    const int64_t[::1] columns,
    const float[::1] joint,
    int64_t steps,
    int64_t early,
    float exaggeration,
    float rate,
):
    """Move points on a map until those that are near in space are near on it; in place.

    `joint` are similarities in space in compressed rows; during the first `early` steps they count `exaggeration`-fold.
    """
    cdef int64_t n = places.shape[0], step, i, place, axis
    cdef float[:, ::1] at = np.ascontiguousarray(places.base.T)
    cdef float[:, ::1] old = np.empty_like(at)
    cdef float[:, ::1] push = np.empty_like(at)
    cdef float[:, ::1] move = np.zeros_like(at)
    cdef float[:, ::1] gain = np.ones_like(at)
    cdef float momentum, times, total, pull_x, pull_y, across, along, force, slope
    with nogil:
        for step in range(steps):
            momentum = 0.5 if step < early else 0.8
            times = exaggeration if step < early else 1.0
            total = <float> cuecard_repel(&at[0, 0], &at[1, 0], &push[0, 0], &push[1, 0], n)
            old[:, :] = at
            for i in range(n):
                pull_x = 0
                pull_y = 0
                for place in range(starts[i], starts[i + 1]):
                    across = old[0, i] - old[0, columns[place]]
                    along = old[1, i] - old[1, columns[place]]
                    force = times * joint[place] / (<float> 1 + across * across + along * along)
                    pull_x += force * across
                    pull_y += force * along
                for axis in range(2):
                    slope = 4 * ((pull_x if axis == 0 else pull_y) - push[axis, i] / total)
                    if slope * move[axis, i] < 0:
                        gain[axis, i] += <float> 0.2
                    else:
                        gain[axis, i] = max(gain[axis, i] * <float> 0.8, <float> 0.01)
                    move[axis, i] = momentum * move[axis, i] - rate * gain[axis, i] * slope
                    at[axis, i] += move[axis, i]
    places.base[:] = at.base.T
