"""Values that are drawn at random, in blocks with seeds of their own."""

from functools import partial

import numpy as np

from skcal._input._validation import check_integer, check_rng
from skcal._tools._parallel import run_parallel
from skcal._tools._progress import count_steps, read_progress

# Draws that share a seed and a job.
BLOCK = 128


class Draws:
    """How many values are drawn, from which random numbers, and by how many jobs.

    `n_resamples` must be at least `minimum`.
    """

    def __init__(self, n_resamples, random_state, n_jobs, *, minimum=1, progress=None):
        self.n_resamples = check_integer("n_resamples", n_resamples, minimum=minimum)
        self.rng, self._n_jobs = check_rng(random_state), n_jobs
        self._progress, self._show = progress, read_progress(progress)
        run_parallel([], n_jobs)  # which refuses what is no number of jobs

    def run(self, *functions):
        """Values of functions ``f(rng, n_draws)``, a row for each, whatever the number of jobs."""
        return np.concatenate(self._run_blocks(functions)).reshape(len(functions), self.n_resamples)

    def restart(self, n_resamples, rng):
        """Other draws by as many jobs."""
        return Draws(n_resamples, rng, self._n_jobs, progress=self._progress)

    def collect(self, function):
        """Values of one function that returns an array of n_draws rows, one below the other."""
        return np.concatenate(self._run_blocks([function]))

    def _run_blocks(self, functions):
        starts = range(0, self.n_resamples, BLOCK)
        sizes = [min(BLOCK, self.n_resamples - start) for start in starts]
        tasks = [(function, size) for function in functions for size in sizes]
        seeds = self.rng.integers(1 << 32, size=(len(tasks), 4), dtype=np.uint64)
        return run_parallel(
            [(_run_block, *task, seed) for task, seed in zip(tasks, seeds, strict=True)],
            self._n_jobs,
            partial(count_steps, self._show, sizes=[size for _, size in tasks]),
        )


def _run_block(function, size, seed):
    return function(np.random.default_rng(seed), size)
