"""Temperature scaling: the fit of one parameter."""

from copy import copy

import numpy as np
from scipy.optimize import minimize_scalar

from skcal._numerics.recalibration._row_blocks import RowBlocks

# Relative to the largest difference of two logits of a row. At the first the probabilities differ
# from even ones by less than 1e-12. The second is only there to have an end.
_LARGEST_TEMPERATURE = 1e12
_SMALLEST_TEMPERATURE = 1e-12
# Differences beyond this many times their median are cut to it: they are masks of classes that are
# ruled out, beside which all others would be nothing. If most are, those beyond this many times the
# largest one of a true class are cut to it.
_LARGEST_GAP, _LARGEST_UNTRUE_GAP = 1e6, 1e8
# Differences below this share of the largest one, or below this number, are none: with a
# temperature of their size the others would overflow.
_SMALLEST_SHARE, _SMALLEST_GAP = 1e-200, 1e-300
# Newton's method ends where the derivative with respect to log(temperature) is below this.
_NEGLIGIBLE = 1e-12
# Steps in log(temperature): after one as short as the first, what is left is its square; none is
# longer than the second.
_LAST_STEP, _LONGEST_STEP = 1e-7, 3.0
_MAX_ITERATIONS = 100
# Probabilities exp(-x) of larger x than this are nothing beside others, and take long.
_DEEPEST = 700.0
# From this many classes on, rows are contiguous in memory, and differences are found anew in each
# pass, which is faster than to keep them.
MANY_CLASSES = 256
# Every 16th row, of at least 500 or with many classes 30, tells where to start.
_PART, _FEW_ROWS, _FEW_WIDE_ROWS = 16, 500, 30
# Multiples of the best temperature by the log loss among which that by the Brier score is sought.
_BRIER_GRID = np.exp(np.linspace(-4, 4, 33))


def fit_temperature(logits, codes, weights=None, *, loss="log", start=None, xp=np):
    """The temperature that minimises the mean loss of softmax(logits / temperature).

    The loss is "log" or "brier". Logits are of any float type of the library `xp`, or `RowBlocks`
    of it; the passes over the rows are made where they are, a block of rows at a time. -inf takes a
    class, which must not be the true one, out of its row. `start` is a temperature near that of
    the log loss; None finds one from a part of the rows. The second number returned counts
    evaluations of the loss or its derivatives on all rows.
    """
    if weights is None:
        weights = xp.ones_like(codes, dtype=xp.float64)
    if not isinstance(logits, RowBlocks):
        logits = RowBlocks(logits)
    gaps = _Gaps(logits, codes, weights / xp.sum(weights), xp)
    spread = gaps.measure()
    if spread < _SMALLEST_GAP:
        return 1.0, 0
    spread = gaps.cut(spread)
    inverse, n_iter = _minimise_log_loss(gaps, start and spread / start)
    if loss == "brier":
        inverse, n_more = _minimise_brier_score(gaps, inverse)
        n_iter += n_more
    return float(spread / inverse), n_iter


class _Gaps:
    """Logits less the largest of their row, read block by block; -inf of impossible classes.

    Of each row `true` is the gap of the true class, and `means` the mean of the possible ones.
    """

    def __init__(self, logits, codes, mass, xp):
        self.logits, self.codes, self.mass, self.xp = logits, codes, mass, xp
        self.smallest, self.limit, self.unit = 0.0, np.inf, 1.0
        self.has_impossible, self.kept = False, None
        self.slices = logits.list_slices()
        if logits.shape[1] < MANY_CLASSES or len(self.slices) == 1:
            self.kept = [self.read(rows) for rows in self.slices]

    def __iter__(self):
        """Slices of rows, and their gaps."""
        parts = map(self.read, self.slices) if self.kept is None else self.kept
        return zip(self.slices, parts, strict=True)

    def read(self, rows):
        logits, xp = self.logits[rows], self.xp
        if xp is np and logits.shape[1] < MANY_CLASSES and logits.flags.c_contiguous:
            logits = np.asfortranarray(logits)  # sums over few classes are faster side by side
        return self.limit_gaps(logits - xp.max(logits, axis=1, keepdims=True))

    def limit_gaps(self, gaps):
        """Gaps that may be overwritten, changed as `cut` says."""
        xp = self.xp
        if self.smallest:
            gaps = xp.where(gaps < -self.smallest, gaps, xp.zeros_like(gaps))
        if self.limit < np.inf:
            gaps = xp.where(gaps > -np.inf, xp.clip(gaps, -self.limit, 0.0), gaps)
        if self.unit != 1:
            gaps /= self.unit
        return gaps

    def fill(self, gaps):
        """0 for the gaps of impossible classes."""
        xp = self.xp
        return xp.where(gaps > -np.inf, gaps, xp.zeros_like(gaps)) if self.has_impossible else gaps

    def measure(self):
        """The largest gap; `true` and `means` are found on the way."""
        xp, spread, true, means = self.xp, 0.0, [], []
        for rows, part in self:
            true.append(pick_true(part, self.codes[rows], xp))
            if float(xp.min(part)) == -np.inf:
                self.has_impossible = True
            n_possible = part.shape[1]
            if self.has_impossible:
                n_possible = xp.sum(xp.astype(part > -np.inf, xp.float64), axis=1)
            part = self.fill(part)
            spread = max(spread, -float(xp.min(part)))
            means.append(xp.sum(part, axis=1) / n_possible)
        self.true, self.means = xp.concat(true), xp.concat(means)
        return spread

    def cut(self, spread):
        """Drop gaps that are next to none and cut masks; the largest gap left becomes the unit."""
        xp, smallest = self.xp, max(_SMALLEST_SHARE * spread, _SMALLEST_GAP)
        n_gaps, n_clear, n_far = self.count_below(0.0, -smallest, -spread / _LARGEST_GAP)
        limit = np.inf
        if 2 * n_far < n_clear:  # so that the median is not as far
            limit = _LARGEST_GAP * self.find_median(n_clear, smallest)
        elif 2 * (n_clear - n_far) >= self.mass.shape[0]:  # more than hardly any row has others
            true = xp.where(self.mass > 0, self.true, xp.zeros_like(self.true))
            limit = _LARGEST_UNTRUE_GAP * (-float(xp.min(true)) or self.find_least(smallest))
        is_changed = n_clear < n_gaps or limit < spread
        self.smallest, self.limit = smallest if n_clear < n_gaps else 0.0, limit
        self.unit = min(spread, limit)
        self.true = self.limit_gaps(self.true)
        if self.kept is not None:
            self.kept = [self.limit_gaps(part) for part in self.kept]
        if is_changed:
            self.measure()
        else:
            self.means = self.means / self.unit
        return self.unit

    def count_below(self, *limits):
        counts = np.zeros(len(limits), dtype=np.int64)
        for _, part in self:
            part = self.fill(part)
            counts += [int(self.xp.count_nonzero(part < limit)) for limit in limits]
        return counts.tolist()

    def find_least(self, smallest):
        """The least gap beyond the smallest one that counts."""
        xp = self.xp
        return min(
            float(xp.min(xp.where(part < -smallest, -part, np.inf * xp.ones_like(part))))
            for _, part in self
        )

    def find_median(self, n_clear, smallest):
        """Median of the gaps beyond the smallest one that counts, of which there are `n_clear`."""

        def list_clear():
            for _, part in self:
                yield -part[(part < -smallest) & (part > -np.inf)]

        if self.xp is not np:
            return find_median(self.xp.concat(list(list_clear())), self.xp)
        return (
            _find_rank(list_clear, (n_clear - 1) // 2) + _find_rank(list_clear, n_clear // 2)
        ) / 2

    def take_part(self):
        """Every 16th row."""
        part = copy(self)
        part.logits = self.logits.take_rows(self.xp.arange(0, self.mass.shape[0], _PART))
        part.slices = part.logits.list_slices()
        part.codes, part.mass, part.true, part.means = (
            each[::_PART] for each in (self.codes, self.mass, self.true, self.means)
        )
        if self.kept is not None:
            part.kept = [part.read(rows) for rows in part.slices]
        return part


def _find_rank(list_parts, rank):
    """The number of a rank, from 0 on, among positive ones, by 16 of their bits after the other."""
    found = 0
    for shift in (48, 32, 16, 0):
        counts = 0
        for part in list_parts():
            bits = part.view(np.int64)
            bits = bits[bits >> shift >> 16 == found]
            counts += np.bincount(bits >> shift & 0xFFFF, minlength=1 << 16)
        heaped = np.cumsum(counts)
        digit = int(np.searchsorted(heaped, rank, side="right"))
        rank -= heaped[digit] - counts[digit]
        found = found << 16 | digit
    return float(np.int64(found).view(np.float64))


def _minimise_log_loss(gaps, start=None):
    """Inverse temperature by Newton's method in its logarithm, kept in a bracket.

    The loss E[log sum_k exp(b (g_k - g_y))] is convex in b, with the derivative
    E[sum_k p_k g_k - g_y] and the second derivative E[variance of g under p].
    """
    slope = float(gaps.xp.sum(gaps.mass * (gaps.means - gaps.true)))
    if slope >= 0:  # the logits are worse than none
        return 1 / _LARGEST_TEMPERATURE, 1
    b = start or _start_from_part(gaps)
    if b is None:  # one Newton step from 0
        b = -slope / _differentiate(0.0, gaps)[1]
    low, high = 1 / _LARGEST_TEMPERATURE, 1 / _SMALLEST_TEMPERATURE
    n_iter, step = 1, np.inf
    while n_iter < _MAX_ITERATIONS and abs(step) > _LAST_STEP:
        n_iter += 1
        b = float(b if low < b < high else np.sqrt(low * high))
        slope, curvature = _differentiate(b, gaps)
        slope, rate = b * slope, b**2 * curvature
        if abs(slope) <= _NEGLIGIBLE:
            break
        low, high = (b, high) if slope < 0 else (low, b)
        step = -slope / max(rate, abs(slope) / _LONGEST_STEP)
        b *= np.exp(step)
    return b, n_iter


def _differentiate(b, gaps):
    """First and second derivative of the mean log loss by the inverse temperature b."""
    xp, slope, curvature = gaps.xp, 0.0, 0.0
    for rows, part in gaps:
        terms, part, mass = _exponentiate(b, part, gaps), gaps.fill(part), gaps.mass[rows]
        total = xp.sum(terms, axis=1)
        terms *= part
        mean = xp.sum(terms, axis=1) / total
        terms *= part
        # Sums of products, as a product of vectors starts threads.
        slope += float(xp.sum(mass * (mean - gaps.true[rows])))
        curvature += float(xp.sum(mass * (xp.sum(terms, axis=1) / total - mean**2)))
    return slope, curvature


def _exponentiate(b, part, gaps):
    """exp(b gaps), 0 for impossible classes also where b is 0."""
    xp = gaps.xp
    powers = b * gaps.fill(part)
    if b > _DEEPEST:  # in units of the largest
        powers = xp.clip(powers, -_DEEPEST, 0.0)
    terms = xp.exp(powers)
    return xp.where(part > -np.inf, terms, xp.zeros_like(terms)) if gaps.has_impossible else terms


def _start_from_part(gaps):
    """Inverse temperature of an even part of many rows; None where they are few."""
    few = _FEW_ROWS if gaps.logits.shape[1] < MANY_CLASSES else _FEW_WIDE_ROWS
    if gaps.mass.shape[0] < _PART * few:
        return None
    b, n_iter = _minimise_log_loss(gaps.take_part())
    return b if n_iter > 1 else None


def _minimise_brier_score(gaps, start):
    """Inverse temperature of the lowest Brier score, which may have several minima."""
    xp = gaps.xp

    def score(log_multiple):
        b, total = float(start * np.exp(log_multiple)), 0.0
        for rows, part in gaps:
            proba = _exponentiate(b, part, gaps)
            proba /= xp.sum(proba, axis=1, keepdims=True)
            true = pick_true(proba, gaps.codes[rows], xp)
            total += float(xp.sum(gaps.mass[rows] * (xp.sum(proba**2, axis=1) - 2 * true + 1)))
        return total

    grid = np.log(_BRIER_GRID)
    best = grid[np.argmin([score(x) for x in grid])]
    step = grid[1] - grid[0]
    bounds = best - step, best + step
    found = minimize_scalar(score, bounds=bounds, options={"xatol": 1e-9})
    return start * np.exp(found.x), len(grid) + found.nfev


def find_median(values, xp):
    """Median of an array of one dimension, of any library."""
    if xp is np:
        return float(np.median(values))
    ordered, n_values = xp.sort(values), values.shape[0]
    return float(ordered[(n_values - 1) // 2] + ordered[n_values // 2]) / 2


def pick_true(values, codes, xp):
    """Values of the true classes."""
    if xp is np:
        return values[np.arange(len(codes)), codes]
    is_true = xp.arange(values.shape[1], device=codes.device) == codes[:, None]
    return xp.sum(xp.where(is_true, values, xp.zeros_like(values)), axis=1)
