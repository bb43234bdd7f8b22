"""Values of a statistic for labels that are drawn from the predictions."""

import numpy as np

from skcal._numerics._merging import BernoulliSums, WeightedBernoulliSums, merge_rows
from skcal._numerics._place_resampling import SmoothECEOnPlaces
from skcal._parallel import run_in_threads
from skcal._validation import check_generator
from skcal.metrics import smooth_ece

# Draws that share a seed and a job.
BLOCK = 128
# Binary problems of more rows are merged; those of fewer are as fast as they are.
FEW_ROWS = 1 << 12


def make_null(statistic, rows, is_binary):
    """Source of values of a statistic under the hypothesis that the rows are calibrated.

    Parameters
    ----------
    statistic : Statistic
    rows : Rows
        No row of weight zero.
    is_binary : bool
        Whether the statistic reads one binary problem, in which equal rows may be merged.

    Returns
    -------
    NullRows or NullCells
        With `observed`, the value to compare, and `draw(rng, n_draws)`.
    """
    mergeable = is_binary and statistic.measure.soft_labels
    if mergeable and (rows.n_rows > FEW_ROWS or is_plain_smooth_ece(statistic)):
        return NullCells(statistic, rows)
    return NullRows(statistic, rows)


class NullRows:
    """The statistic of the rows themselves, with a label drawn for each."""

    def __init__(self, statistic, rows):
        self._statistic, self._rows = statistic, rows
        if rows.proba.ndim == 2:
            cumulative = np.cumsum(rows.proba, axis=1, dtype=np.float64)
            # Rows sum to 1 within a tolerance only.
            self._edges = cumulative[:, :-1] / cumulative[:, -1:]
        self.observed = rows.measure(statistic)

    def draw(self, rng, n_draws):
        """Values for labels drawn from the predictions."""
        return np.array(
            [self._rows.measure(self._statistic, self._draw_codes(rng)) for _ in range(n_draws)]
        )

    def _draw_codes(self, rng):
        uniform = rng.random(self._rows.n_rows)
        if self._rows.proba.ndim == 2:
            return np.count_nonzero(uniform[:, None] >= self._edges, axis=1)
        happens = uniform < self._rows.proba
        return np.where(happens, self._rows.positive, 1 - self._rows.positive)


class NullCells:
    """The statistic of a binary problem whose rows are merged in small cells."""

    def __init__(self, statistic, rows):
        self._statistic = statistic
        self._cells = cells = merge_rows(rows.proba, rows.weights, list_bin_edges(statistic))
        predictions, weights = rows.proba[cells.order], rows.weights
        variance = predictions * (1 - predictions)
        if weights is None or (weights == weights[0]).all():
            self._weights = 1.0 if weights is None else float(weights[0])
            self._unit = self._weights
            self._sums = BernoulliSums(predictions, cells.starts)
            noise = variance.sum() / len(predictions) ** 2
        else:
            self._weights = weights[cells.order].astype(np.float64)
            self._unit = 1.0
            self._sums = WeightedBernoulliSums(predictions, cells.starts, self._weights)
            noise = (self._weights**2 * variance).sum() / self._weights.sum() ** 2
        self._batch = None
        if is_plain_smooth_ece(statistic):
            self._batch = SmoothECEOnPlaces(cells.places, cells.mass, noise)
        (self.observed,) = self.measure(rows.codes[None])

    def measure(self, codes):
        """Values for labels of the rows, one row of an array for each sample."""
        sums = self._cells.sum_rows(self._weights * codes[:, self._cells.order])
        return self._measure_sums(sums)

    def draw(self, rng, n_draws):
        """Values for labels drawn from the predictions."""
        return self._measure_sums(self._unit * self._sums.draw(rng, n_draws))

    def _measure_sums(self, sums):
        _, _, places, mass = self._cells
        if self._batch is not None:
            return self._batch.measure(sums)
        shares = np.minimum(sums / mass, 1.0)  # the mean outcome of a cell is a soft label
        return np.array([self._statistic(share, places, mass) for share in shares])


def list_bin_edges(statistic):
    """Edges of the equal bins of measures that have bins, so that no cell extends over them."""
    n_bins = statistic.find_default("n_bins")
    return () if n_bins is None else np.linspace(0.0, 1.0, n_bins + 1)[1:-1]


def is_plain_smooth_ece(statistic):
    """Whether a statistic is SmoothECE by its definition, on the scale of probabilities.

    Of all measures this one alone gains by a look at many samples at a time.
    """
    return (
        statistic.function is smooth_ece
        and statistic.find_default("bandwidth") is None
        and statistic.find_default("scale") == "probability"
    )


def draw_null(problems, n_resamples, rng, n_jobs):
    """Values of several statistics under the hypothesis.

    Parameters
    ----------
    problems : list of NullRows or NullCells
    n_resamples : int
    rng : Generator or RandomState
        Each block of draws has a seed of its own, so that the values do not depend on `n_jobs`.
    n_jobs : int or None

    Returns
    -------
    ndarray of shape (n_problems, n_resamples)
    """
    return run_blocks([problem.draw for problem in problems], n_resamples, rng, n_jobs)


def run_blocks(functions, n_resamples, rng, n_jobs):
    """Results of functions ``f(rng, n_draws)``, in blocks of draws of fixed size.

    Returns
    -------
    ndarray of shape (n_functions, n_resamples)
    """
    sizes = [min(BLOCK, n_resamples - start) for start in range(0, n_resamples, BLOCK)]
    tasks = [(function, size) for function in functions for size in sizes]
    seeds = _draw_seeds(rng, len(tasks))
    values = run_in_threads(
        ((_run_block, *task, seed) for task, seed in zip(tasks, seeds, strict=True)), n_jobs
    )
    return np.concatenate(values).reshape(len(functions), n_resamples)


def _run_block(function, size, seed):
    return function(np.random.default_rng(seed), size)


def _draw_seeds(rng, n_seeds):
    draw = rng.integers if isinstance(rng, np.random.Generator) else rng.randint
    return draw(1 << 32, size=(n_seeds, 4), dtype=np.uint64)


def check_source(random_state):
    """A Generator as it is, or what `check_generator` makes of any other source."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_generator(random_state)
