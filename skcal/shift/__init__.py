"""Another population: what changes where rows come from elsewhere."""

from skcal.shift._domain_weights import domain_weights
from skcal.shift._estimate_performance import PerformanceEstimate, estimate_performance
from skcal.shift._estimate_prior import PriorEstimate, estimate_prior
from skcal.shift._prior_shift import PriorShift

__all__ = [
    "PerformanceEstimate",
    "PriorEstimate",
    "PriorShift",
    "domain_weights",
    "estimate_performance",
    "estimate_prior",
]
