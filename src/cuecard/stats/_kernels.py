"""Compiled loops: tails of binomial and Poisson-binomial distributions in log space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]

NEGLIGIBLE = 1e-18  # terms below this share of the largest cannot change a float64 sum
HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


@njit(cache=True, nogil=True)
def stirling_error(n: float) -> float:
    """Error of Stirling's formula: log n! minus it, accurate also where log n! is in the hundred millions."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - HALF_LOG_TAU
    s = 1 / (n * n)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / n


@njit(cache=True, nogil=True)
def deviance(x: float, mean: float) -> float:
    """Deviance x log(x / mean) + mean − x, without cancellation where x is near its mean."""
    u = (x - mean) / mean
    if abs(u) > 0.1:
        return x * math.log(x / mean) + mean - x
    # (1 + u) log(1 + u) − u = Σ_{j≥2} (−u)^j / (j (j − 1))
    total = 0.0
    power = u * u
    for j in range(2, 40):
        term = power / (j * (j - 1))
        total += term
        if abs(term) < 1e-18 * total:
            break
        power *= -u
    return mean * total


@njit(cache=True, nogil=True)
def binomial_log_pmf(k: int, n: int, p: float, q: float) -> float:
    """Return log P(X = k) in saddle-point form, whose error does not grow with n as with log-gammas."""
    if k == 0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if k == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    return float(
        stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(k, n * p)
        - deviance(n - k, n * q)
        + 0.5 * (math.log(n) - math.log(k) - math.log(n - k))
        - HALF_LOG_TAU
    )


@njit(cache=True, nogil=True)
def log_complement(p: float) -> float:
    """log(1 − p), never above 0 nor a negative zero, where rounding may have pushed p past 1."""
    return math.log1p(-min(p, 1.0)) + 0.0


@njit(cache=True, nogil=True)
def outward_tails(k: int, n: int, p: float, q: float) -> tuple[float, float]:
    """(log P(X ≥ k), log P(X ≤ k)) for k at or above the mean: a falling series outwards from k."""
    ratio = p / q
    beyond = 0.0
    term = 1.0
    j = k
    while j < n:
        term *= (n - j) / (j + 1) * ratio
        beyond += term
        j += 1
        if term < NEGLIGIBLE * beyond:
            break
    log_pmf = binomial_log_pmf(k, n, p, q)
    return log_pmf + math.log1p(beyond), log_complement(math.exp(log_pmf) * beyond)


@njit(cache=True, nogil=True)
def binomial_log_tails_of(k: int, n: int, p: float) -> tuple[float, float]:
    """(log P(X ≤ k), log P(X ≥ k)) of one count."""
    q = 1 - p
    if math.isnan(p):
        return math.nan, math.nan
    if n == 0:
        return 0.0, 0.0
    if p == 0 or q == 0:
        certain = 0.0 if p == 0 else n
        return (0.0 if k >= certain else -math.inf), (0.0 if k <= certain else -math.inf)
    if k >= n * p:
        greater, less = outward_tails(k, n, p, q)
    else:
        less, greater = outward_tails(n - k, n, q, p)
    return less, greater


@njit(cache=True, nogil=True)
def binomial_log_tails(k: Array, n: Array, p: Array, less: Array, greater: Array) -> None:
    """Fill `less` and `greater` with the log tails of every (k, n, p)."""
    for i in range(len(k)):
        less[i], greater[i] = binomial_log_tails_of(k[i], n[i], p[i])


@njit(cache=True, nogil=True)
def tilt_to(observed: int, n: Array, p: Array) -> float:
    """θ ≥ 0 such that trials with odds p/(1−p)·e^θ succeed `observed` times on average; observed ≥ mean."""
    low, high, theta = 0.0, math.inf, 0.0
    for _ in range(200):
        mean, variance = 0.0, 0.0
        for g in range(len(n)):
            tilted = p[g] / (p[g] + (1 - p[g]) * math.exp(-theta))
            mean += n[g] * tilted
            variance += n[g] * tilted * (1 - tilted)
        gap = observed - mean
        if gap >= 0:
            low = theta
        else:
            high = theta
        step = gap / variance if variance > 0 else math.inf
        if abs(step) <= 1e-14 * (1 + abs(theta)):
            break
        theta += step
        if not low <= theta <= high:
            theta = 2 * low + 1 if high == math.inf else 0.5 * (low + high)
    return theta


@njit(cache=True, nogil=True)
def binomial_band(n: int, p: float) -> tuple[int, Array]:
    """(first count, probabilities) of the counts whose probability is not negligible beside the mode's."""
    odds = p / (1 - p)
    mode = min(int((n + 1) * p), n)
    low, term = mode, 1.0
    while low > 0 and term > NEGLIGIBLE:
        term *= low / ((n - low + 1) * odds)
        low -= 1
    high, term = mode, 1.0
    while high < n and term > NEGLIGIBLE:
        term *= (n - high) * odds / (high + 1)
        high += 1
    band = np.empty(high - low + 1)
    band[mode - low] = 1.0
    for j in range(mode, low, -1):
        band[j - 1 - low] = band[j - low] * (j / ((n - j + 1) * odds))
    for j in range(mode, high):
        band[j + 1 - low] = band[j - low] * ((n - j) * odds / (j + 1))
    return low, band / band.sum()


@njit(cache=True, nogil=True)
def convolved(a: Array, b: Array) -> Array:
    """Distribution of the sum of two independent counts."""
    if len(a) < len(b):
        a, b = b, a
    result = np.zeros(len(a) + len(b) - 1)
    for j in range(len(b)):
        weight = b[j]
        for i in range(len(a)):
            result[i + j] += weight * a[i]
    return result


@njit(cache=True, nogil=True)
def trimmed(first: int, band: Array) -> tuple[int, Array]:
    """Return the band without its negligible ends."""
    floor = NEGLIGIBLE * band.max()
    low, high = 0, len(band)
    while band[low] < floor:
        low += 1
    while band[high - 1] < floor:
        high -= 1
    return first + low, band[low:high]


@njit(cache=True, nogil=True)
def tilted_tails(observed: int, n: Array, p: Array) -> tuple[float, float, float]:
    """(log P(X ≥ observed), log P(X ≤ observed), θ) for a sum X of binomials, observed at or above its mean.

    Tilted by θ, the distribution has its mean at the observed count, so all that matters there is of
    ordinary size; P(X = j) = P_θ(X = j) · exp(K(θ) − θ j), K the cumulant function, takes the tilt back
    exactly.
    """
    theta = tilt_to(observed, n, p)
    cumulant = 0.0
    first, band = 0, np.ones(1)
    for g in range(len(n)):
        cumulant += n[g] * math.log1p(p[g] * math.expm1(theta))
        tilted = p[g] / (p[g] + (1 - p[g]) * math.exp(-theta))
        start, next_band = binomial_band(n[g], tilted)
        first, band = trimmed(first + start, convolved(band, next_band))
    at = observed - first
    beyond = 0.0
    for j in range(at + 1, len(band)):
        beyond += band[j] * math.exp(-theta * (j - at))
    log_scale = cumulant - theta * observed
    return (
        log_scale + math.log(band[at] + beyond),
        log_complement(math.exp(log_scale) * beyond),
        theta,
    )


@njit(cache=True, nogil=True)
def poisson_binomial_log_tails_of(observed: int, n: Array, p: Array) -> tuple[float, float, float]:
    """(log P(X ≤ observed), log P(X ≥ observed), θ) for a sum of Binomial(n[g], p[g]), all 0 < p[g] < 1."""
    total = n.sum()
    if total == 0:
        return 0.0, 0.0, math.nan
    if observed == 0:
        return (n * np.log1p(-p)).sum(), 0.0, -math.inf
    if observed == total:
        return 0.0, (n * np.log(p)).sum(), math.inf
    if len(n) == 1:
        less, greater = binomial_log_tails_of(observed, total, p[0])
        seen = observed / total
        return less, greater, math.log(seen / (1 - seen)) - math.log(p[0] / (1 - p[0]))
    if observed >= (n * p).sum():
        greater, less, theta = tilted_tails(observed, n, p)
        return less, greater, theta
    less, greater, theta = tilted_tails(total - observed, n, 1 - p)
    return less, greater, -theta


@njit(cache=True, nogil=True)
def poisson_binomial_log_tails(
    observed: Array, offsets: Array, n: Array, p: Array, less: Array, greater: Array, theta: Array
) -> None:
    """Fill `less`, `greater` and `theta` for every sum; sum i has the binomials offsets[i]:offsets[i + 1]."""
    for i in range(len(observed)):
        part = slice(offsets[i], offsets[i + 1])
        less[i], greater[i], theta[i] = poisson_binomial_log_tails_of(observed[i], n[part], p[part])


@njit(cache=True, nogil=True)
def log_gamma_tail(a: float, x: float) -> float:
    """Return log Q(a, x), the regularised upper incomplete gamma function, the tail of a chi-square."""
    if math.isnan(x):
        return math.nan
    if x == 0 or a == 0:
        return 0.0 if x == 0 else -math.inf
    if x == math.inf:
        return -math.inf
    lead = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1:
        total, term, j = 1 / a, 1 / a, a
        while term > NEGLIGIBLE * total:
            j += 1
            term *= x / j
            total += term
        return float(log_complement(math.exp(lead) * total))
    # Continued fraction 1/(x+1−a− 1(1−a)/(x+3−a− 2(2−a)/(x+5−a− …))), evaluated forwards.
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 100_000):
        numerator = -i * (i - a)
        b += 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return lead + math.log(fraction)


@njit(cache=True, nogil=True)
def log_gamma_tails(a: Array, x: Array, result: Array) -> None:
    """Fill `result` with log Q(a, x) of every pair."""
    for i in range(len(a)):
        result[i] = log_gamma_tail(a[i], x[i])


@njit(cache=True, nogil=True)
def hypergeometric_log_pmf(k: int, n: int, marked: int, size: int) -> float:
    """Return log P(k marked among n drawn from `size`, of which `marked`), as a ratio of binomials."""
    if n == 0 or n == size or marked == 0 or marked == size:
        return 0.0
    p = n / size
    return float(
        binomial_log_pmf(k, marked, p, 1 - p)
        + binomial_log_pmf(n - k, size - marked, p, 1 - p)
        - binomial_log_pmf(n, size, p, 1 - p)
    )


@njit(cache=True, nogil=True)
def tilted_count(theta: float, n: int, marked: int, size: int) -> float:
    """Count at which a hypergeometric tilted by θ centres: x(size−marked−n+x) / ((marked−x)(n−x)) = e^θ."""
    low, high = max(0, n + marked - size), min(n, marked)
    if low == high:
        return float(low)
    if abs(theta) < 1e-9:
        return n * marked / size
    odds = math.exp(-abs(theta))
    # e^θ is kept at or below 1 by counting, for θ > 0, the drawn that are not marked.
    if theta > 0:
        marked = size - marked
    b = size - (marked + n) * (1 - odds)
    c = odds * marked * n
    root = math.sqrt(b * b + 4 * (1 - odds) * c)
    root = 2 * c / (b + root) if b > 0 else (root - b) / (2 * (1 - odds))
    return min(max(n - root if theta > 0 else root, low), high)


@njit(cache=True, nogil=True)
def hypergeometric_band(theta: float, n: int, marked: int, size: int) -> tuple[int, Array, float]:
    """(first count, probabilities over that of the mode, log of the mode's tilted weight) of one stratum."""
    low, high = max(0, n + marked - size), min(n, marked)
    odds, unmarked = math.exp(theta), size - marked - n
    mode = int(tilted_count(theta, n, marked, size))
    while mode < high and (marked - mode) * (n - mode) * odds > (mode + 1) * (unmarked + mode + 1):
        mode += 1
    while mode > low and mode * (unmarked + mode) > (marked - mode + 1) * (n - mode + 1) * odds:
        mode -= 1
    first, term = mode, 1.0
    while first > low and term > NEGLIGIBLE:
        term *= first * (unmarked + first) / ((marked - first + 1) * (n - first + 1) * odds)
        first -= 1
    last, term = mode, 1.0
    while last < high and term > NEGLIGIBLE:
        term *= (marked - last) * (n - last) * odds / ((last + 1) * (unmarked + last + 1))
        last += 1
    band = np.ones(last - first + 1)
    for j in range(mode, first, -1):
        step = j * (unmarked + j) / ((marked - j + 1) * (n - j + 1) * odds)
        band[j - 1 - first] = band[j - first] * step
    for j in range(mode, last):
        step = (marked - j) * (n - j) * odds / ((j + 1) * (unmarked + j + 1))
        band[j + 1 - first] = band[j - first] * step
    return first, band, hypergeometric_log_pmf(mode, n, marked, size) + theta * mode


@njit(cache=True, nogil=True)
def stratified_log_tails_of(k: int, n: Array, marked: Array, size: Array) -> tuple[float, float]:
    """(log P(X ≤ k), log P(X ≥ k)) for a sum X of hypergeometric counts, one for each stratum."""
    strata = len(n)
    least, most = 0, 0
    at_least, at_most = 0.0, 0.0
    for s in range(strata):
        low, high = max(0, n[s] + marked[s] - size[s]), min(n[s], marked[s])
        least += low
        most += high
        at_least += hypergeometric_log_pmf(low, n[s], marked[s], size[s])
        at_most += hypergeometric_log_pmf(high, n[s], marked[s], size[s])
    if k == most:
        return 0.0, at_most if least < most else 0.0
    if k == least:
        return at_least, 0.0
    # Any tilt is exact; one that centres X near k keeps what matters there of ordinary size.
    # It is at most twice the log of the size, so e^100 is beyond any data.
    floor, ceiling = -100.0, 100.0
    for _ in range(60):
        theta = 0.5 * (floor + ceiling)
        mean = 0.0
        for s in range(strata):
            mean += tilted_count(theta, n[s], marked[s], size[s])
        if mean < k:
            floor = theta
        else:
            ceiling = theta
    first, band, log_weight = 0, np.ones(1), 0.0
    for s in range(strata):
        start, next_band, log_mode = hypergeometric_band(theta, n[s], marked[s], size[s])
        first, band = trimmed(first + start, convolved(band, next_band))
        log_weight += log_mode
    at, beyond = k - first, 0.0
    outward = 1 if theta >= 0 else -1
    j = at + outward
    while 0 <= j < len(band):
        beyond += band[j] * math.exp(-abs(theta) * abs(j - at))
        j += outward
    log_scale = log_weight - theta * k
    tail, other = log_scale + math.log(band[at] + beyond), log_complement(math.exp(log_scale) * beyond)
    return (other, tail) if theta >= 0 else (tail, other)


@njit(cache=True, nogil=True)
def stratified_log_tails(k: Array, n: Array, marked: Array, size: Array, less: Array, greater: Array) -> None:
    """Fill `less` and `greater` for every row of strata (columns of n, marked and size)."""
    for i in range(len(k)):
        less[i], greater[i] = stratified_log_tails_of(k[i], n[i], marked[i], size[i])
