"""Members of a mixture on rows that they were not fitted on, and the weights that these give."""

from functools import cached_property

import numpy as np

from skcal._numerics.recalibration._mixture import (
    expect_an_error,
    find_refuted,
    fit_mixture_weights,
    judge,
)

# A recalibrator is left out if held-out rows are less likely under it than under the best member by
# more than this factor, a logarithm; the scores if by twice their prior count, by default the same.
_REFUTED, _REFUTED_PER_ROW = 10.0, 2.0
# A larger prior count of the scores is this one; beyond it sums would not be exact.
_MOST_ROWS = 1e12


class Stack:
    """Likelihoods of the members on held-out rows, and the weights that follow from them.

    They are 0 in splits beyond those that a member has parts of.
    """

    def __init__(self, held_out, codes, sample_weight, splits, prior_rows):
        self.names = list(held_out)
        prior_rows, n_others = min(float(prior_rows), _MOST_ROWS), len(self.names) - 1
        self.prior = np.array([prior_rows, *[1.0 / max(n_others, 1)] * n_others])
        self.limits = np.array([_REFUTED_PER_ROW * prior_rows, *[_REFUTED] * n_others])
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        tests = [test for _, test in splits]
        n_tests = np.bincount(np.concatenate([[], *tests]).astype(np.intp), minlength=len(codes))
        # A row that several splits test counts once in all.
        self.masses = [weight[test] / n_tests[test] for test in tests]
        self.n_tested = [len(held_out[name]) for name in self.names]
        self.likelihoods = [np.zeros((len(self.names), len(mass))) for mass in self.masses]
        for number, name in enumerate(self.names):
            for likelihoods, part, test in zip(
                self.likelihoods, held_out[name], tests, strict=False
            ):
                likelihoods[number] = part if part.ndim == 1 else take_own(part, codes[test])

    def list_hopeful(self, n_splits):
        """Names of members that the rows of the first splits may leave in, the first one always."""
        limits = self.limits * max(mass.max(initial=1.0) for mass in self.masses)
        likelihoods = np.concatenate(self.likelihoods[:n_splits], axis=1)
        mass = np.concatenate(self.masses[:n_splits])
        refuted = find_refuted(likelihoods, mass, limits, self.n_rows)
        return [name for k, name in enumerate(self.names) if k == 0 or not refuted[k]]

    @property
    def n_rows(self):
        """Number of rows that are tested."""
        return sum(mass.sum() for mass in self.masses)

    @cached_property
    def totals(self):
        """Log likelihoods of the members, split by split."""
        pairs = zip(self.likelihoods, self.masses, strict=True)
        return [judge(*pair, self.n_rows) for pair in pairs]

    def weigh(self, splits):
        """Weights by name, from the test rows of some splits."""
        likelihoods = np.concatenate(
            [np.empty((len(self.names), 0)), *[self.likelihoods[k] for k in splits]], axis=1
        )
        mass = np.concatenate([np.empty(0), *[self.masses[k] for k in splits]])
        total = sum((self.totals[k] for k in splits), start=np.zeros(len(self.names)))
        kept = total >= total.max() - self.limits
        weights = np.zeros(len(kept))
        weights[kept] = fit_mixture_weights(likelihoods[kept], self.prior[kept], mass)
        weights = expect_an_error(weights, (1 - likelihoods) @ mass)
        return dict(zip(self.names, weights.tolist(), strict=True))

    def weigh_others(self, split):
        return self.weigh([k for k in range(len(self.masses)) if k != split])

    def measure(self):
        """Mean log loss by name, and of the mixture, with weights from the other splits."""
        mixed = [
            np.array(list(self.weigh_others(k).values())) @ likelihood
            for k, likelihood in enumerate(self.likelihoods)
        ]
        losses, masses = [], []
        for likelihood, own, mass in zip(self.likelihoods, mixed, self.masses, strict=True):
            likelihood = np.vstack([likelihood, own])
            # The logarithm of 0 is infinite, and is meant.
            logs = np.log(likelihood, where=likelihood > 0, out=np.full_like(likelihood, -np.inf))
            losses.append(-logs @ mass)
            masses.append(mass.sum())
        *means, mixture = (
            float(sum(part[k] for part in losses[:n]) / sum(masses[:n]))
            for k, n in enumerate([*self.n_tested, len(masses)])
        )
        return dict(zip(self.names, means, strict=True)), mixture


def take_own(proba, codes):
    """Probabilities of what came true."""
    return proba[np.arange(len(codes)), codes]
