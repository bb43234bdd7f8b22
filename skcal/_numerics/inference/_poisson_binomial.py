"""Law of the number of successes of independent trials with different probabilities."""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

# Trials whose laws are convolved side by side; more are split in halves.
_BATCH = 1 << 15
# Laws of up to this length are convolved by sums of products, longer ones by transforms. These
# leave an error everywhere, which would add up over many laws of next to no variance: all such laws
# are shorter.
_SHORT = 64
# Probability of all that is cut off each of the two tails of a law.
_NEGLIGIBLE = 1e-17


def find_law(probabilities):
    """Probabilities of first, first + 1, ... successes; all others are negligible.

    Returns first, and the law within 1e-12 of the exact values for up to 10 million trials; it ends
    with success in all trials at the latest. Laws of neighbours are convolved, then those of pairs,
    and so on, each kept where it is not negligible, so that n trials need O(n log n) time.
    """
    certain = np.count_nonzero(probabilities == 1)
    uncertain = probabilities[(probabilities > 0) & (probabilities < 1)]
    if len(uncertain) == 0:
        return int(certain), np.ones(1)
    (first,), laws, _, _ = _convolve_all(uncertain)
    law = laws[: len(uncertain) + 1 - first, 0]
    # The rounding of 1 - p adds up over rare trials, in the sum of the law as in the law.
    return int(certain + first), law / law.sum()


def find_laws(probabilities):
    """Laws of the sums of several rows of trials, see `find_law`.

    The length of a row is a power of 2. All laws have one length, (n_sums, n_values), padded by
    zeros.
    """
    first, laws, _, _ = _convolve_pairs(probabilities.ravel(), len(probabilities))
    return first, (laws / laws.sum(axis=0)).T


def find_quantiles(first, law, alpha):
    """Smallest and largest q with P(S <= q) > alpha / 2 and P(S >= q) > alpha / 2.

    The number of successes S lies below the one, and above the other, with a probability of at most
    alpha / 2 each.
    """
    alpha = min(alpha, np.nextafter(1.0, 0.0))  # with 1, two medians would be in the wrong order
    below, above = np.cumsum(law), np.cumsum(law[::-1])
    low = np.searchsorted(below, alpha / 2, side="right")
    high = np.searchsorted(above, alpha / 2, side="right")
    return first + low, first + len(law) - 1 - high


def _convolve_all(probabilities):
    """First place, law (as a column), mean and variance of the number of successes."""
    if len(probabilities) > _BATCH:
        half = len(probabilities) // 2
        parts = [_convolve_all(probabilities[:half]), _convolve_all(probabilities[half:])]
        first, laws, mean, variance = (
            np.concatenate([_fit(one, len(other)), _fit(other, len(one))], axis=-1)
            for one, other in zip(*parts, strict=True)
        )
        return _convolve_columns(first, laws, mean, variance, 1)
    return _convolve_pairs(probabilities, 1)


def _convolve_pairs(probabilities, n_sums):
    """The same for each of `n_sums` parts of equal length."""
    first = np.zeros(len(probabilities), dtype=np.intp)
    laws = np.stack([1.0 - probabilities, probabilities])
    variance = probabilities * (1.0 - probabilities)
    return _convolve_columns(first, laws, probabilities, variance, n_sums)


def _convolve_columns(first, laws, mean, variance, n_sums):
    """Convolve neighbours until this many distributions are left."""
    while laws.shape[1] > n_sums:
        if laws.shape[1] % 2:  # no trial succeeds never
            first, mean, variance = np.append(first, 0), np.append(mean, 0), np.append(variance, 0)
            laws = np.column_stack([laws, np.eye(len(laws), 1)])
        laws = _convolve(laws[:, ::2], laws[:, 1::2])
        first, mean, variance = (x[::2] + x[1::2] for x in (first, mean, variance))
        first, laws = _cut_tails(first, laws, mean, variance)
    return first, laws, mean, variance


def _fit(values, length):
    """A law padded by zeros to at least this length; vectors as they are."""
    if values.ndim == 1:
        return values
    return np.pad(values, ((0, max(0, length - len(values))), (0, 0)))


def _convolve(left, right):
    """Convolutions of the columns of two arrays of one shape."""
    length = 2 * len(left) - 1
    if len(left) <= _SHORT:
        product = np.zeros((length, left.shape[1]))
        for k, row in enumerate(left):
            product[k : k + len(right)] += row * right
        return product
    size = next_fast_len(length, real=True)
    spectrum = rfft(left, size, axis=0)
    spectrum *= rfft(right, size, axis=0)
    return np.maximum(irfft(spectrum, size, axis=0)[:length], 0.0)


def _cut_tails(first, laws, mean, variance):
    """Keep a window around each mean.

    Bernstein's inequality P(|S - mean| >= t) <= 2 exp(-t^2 / (2 variance + 2 t / 3)), solved for t.
    """
    exponent = np.log(2 / _NEGLIGIBLE)
    reach = exponent / 3 + np.sqrt(exponent**2 / 9 + 2 * exponent * variance.max())
    low = np.maximum(np.floor(mean - reach).astype(np.intp), first)
    high = np.minimum(np.ceil(mean + reach).astype(np.intp), first + len(laws) - 1)
    length = (high - low).max() + 1
    if length >= len(laws):
        return first, laws
    start = np.minimum(low - first, len(laws) - length)
    window = start + np.arange(length)[:, None]
    return first + start, np.take_along_axis(laws, window, axis=0)
