"""The recalibrators that the common tests run over: all that are exported."""

import numpy as np

from skcal import recalibration
from skcal.recalibration import BaseRecalibrator

CLASSES = [
    member
    for name in recalibration.__all__
    if isinstance(member := getattr(recalibration, name), type)
    and issubclass(member, BaseRecalibrator)
    and member is not BaseRecalibrator
]


def make_scores(n_classes, n_samples=300, seed=0):
    """Over-confident class probabilities, and labels 0 to n_classes - 1."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(n_classes), n_samples)
    y = np.array([rng.choice(n_classes, p=p) for p in truth])
    sharpened = truth**2
    return sharpened / sharpened.sum(axis=1, keepdims=True), y
