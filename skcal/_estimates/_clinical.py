"""What clinical papers write beside a calibration plot."""

from typing import NamedTuple

from scipy.special import logit

from skcal._input._independent_rows import list_weights
from skcal._numerics.inference._concordance import find_auc
from skcal._numerics.inference._cox import CoxLikelihood

# Of an interval of which the estimate alone is asked for.
_ANY_LEVEL = 0.95


class ClinicalNumbers(NamedTuple):
    """Cox's level at slope 1 (calibration in the large), his slope, and the area under the ROC.

    None stands for what is not defined: a regression on log odds that are infinite, a slope where
    they are all equal, and all three where outcomes are of one kind.
    """

    in_the_large: float | None
    slope: float | None
    auc: float | None


def describe_clinically(sample):
    """`ClinicalNumbers` of rows of positive weight with outcomes 0 and 1."""
    predictions, outcomes, weights = sample.predictions, sample.outcomes, list_weights(sample)
    if outcomes.min() == outcomes.max():
        return ClinicalNumbers(None, None, None)
    ties = sample.sorted
    auc = find_auc(ties.positive, ties.weight - ties.positive)
    low, high = float(predictions.min()), float(predictions.max())
    if low <= 0 or high >= 1:
        return ClinicalNumbers(None, None, auc)
    likelihood = CoxLikelihood(predictions, outcomes, weights)
    level = float(likelihood.bound_level(_ANY_LEVEL)[0])
    slope = None if logit(low) == logit(high) else float(likelihood.fit().slope)
    return ClinicalNumbers(level, slope, auc)
