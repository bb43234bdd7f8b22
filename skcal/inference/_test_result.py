"""What a test of calibration returns."""

from typing import NamedTuple

from skcal._tools._show_record import as_record
from skcal._tools._words import show_label, show_pvalue, show_test

CALIBRATED = "calibrated predictions"
# Of the joint test of an intercept and a slope, and of the tests of each.
RECALIBRATION_HYPOTHESES = (CALIBRATED, "predictions right as a whole", "predictions with slope 1")


@as_record
class TestResult(NamedTuple):
    """Result of a test that a model is calibrated, or that two are equally calibrated.

    ``print`` shows it as a sentence, which calls a p-value of 0.05 or less more than chance.

    Attributes
    ----------
    statistic : float
        Value that is compared with what calibrated models give; the larger, the less calibrated,
        in both directions where a test is two-sided.
    pvalue : float
        Probability (or a bound of it) that a calibrated model gives a statistic at least as
        extreme; never 0.
    estimate : float
        Estimate of the calibration error that the statistic is built on, or one that goes with it.
    worst_group : label or None
        Most significant group, for a test that compares groups; None for all others.
    null_mean : float or None
        Mean of the statistic under the hypothesis, what it shows by chance: over the draws, or
        their expected value where it is known. None for tests that draw nothing.
    n_groups : int or None
        Number of groups whose outcomes are compared with predictions, of a test that makes such
        groups; None for all others.
    name : str
        Name of the statistic.
    hypothesis : str
        What is as the hypothesis says, such as "calibrated predictions".
    """

    statistic: float
    pvalue: float
    estimate: float
    worst_group: object = None
    null_mean: float | None = None
    n_groups: int | None = None
    name: str = "Statistic"
    hypothesis: str = CALIBRATED

    def __str__(self) -> str:
        text = show_test(self.name, self.statistic, self.pvalue, self.hypothesis, self.null_mean)
        if self.worst_group is not None:
            text += f"; the worst group is {show_label(self.worst_group)}"
        return f"{text}."


def tell_level(level, test):
    """What is known of a recalibration if all predictions are equal."""
    return (
        f"All predictions are equal, so that no slope is identified; calibration in the large is "
        f"{level}, and 0 if calibrated ({show_pvalue(test.pvalue)})."
    )


# Its name makes pytest take it for a class of tests.
TestResult.__test__ = False  # type: ignore[attr-defined]
