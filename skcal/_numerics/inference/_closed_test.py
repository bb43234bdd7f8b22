"""The closed test of updates of a model: how much of it may stay as it is."""

from typing import NamedTuple

import numpy as np

UPDATES = ("none", "intercept", "slope", "revision")


class Update(NamedTuple):
    """An update, its fit, and its test against the largest one; None for that itself."""

    name: str
    fit: object
    test: object


def list_updates(models, *, has_revision):
    """Updates from the smallest to the largest of `SoftmaxModels` of two classes, with their tests.

    Those without a further parameter are left out.
    """
    intercept, slope = models.intercepts, models.slopes
    bases = [intercept[:0], intercept, np.concatenate([intercept, slope])]
    if not slope.any():
        bases.pop()
    names = list(UPDATES[: len(bases)])
    if has_revision and models.places.size > len(bases[-1]):
        bases.append(models.everything)
        names.append(UPDATES[-1])
    fits = [models.fit(basis) for basis in bases]
    tests = [models.compare(fit, fits[-1]) for fit in fits[:-1]]
    return [Update(*one) for one in zip(names, fits, [*tests, None], strict=True)]


def choose_update(pvalues, alpha):
    """Number of the smallest update that the test against the largest one does not reject."""
    return int(np.argmax(np.append(np.array(pvalues) > alpha, True)))
