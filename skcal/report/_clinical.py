"""Numbers for a clinical paper."""

import numpy as np

from skcal.inference import (
    Interval,
    confidence_interval,
    cox_recalibration,
    observed_expected_ratio,
)
from skcal.report._records import ClinicalSummary

_QUANTILES = {"ici": None, "e50": 0.5, "e90": 0.9, "emax": 1.0}


def describe_clinical(problem, *, confidence_level, n_jobs, seed):
    """The `ClinicalSummary` of a problem whose measures read the probability of one label."""
    predictions, outcomes, _ = next(problem.sample.chunks(size=len(problem.codes)))
    rows, level = problem.data, {"confidence_level": confidence_level}
    keywords = problem.clustered_keywords
    has_log_odds = predictions.min() > 0 and predictions.max() < 1
    distances = {
        name: confidence_interval(
            *rows,
            measure="integrated_calibration_index",
            quantile=quantile,
            n_jobs=n_jobs,
            random_state=seed,
            **keywords,
            **level,
        )
        for name, quantile in _QUANTILES.items()
    }
    return ClinicalSummary(
        observed_expected=observed_expected_ratio(*rows, **keywords, **level)
        if predictions.any()
        else Interval(np.inf, np.inf, np.inf),
        recalibration=cox_recalibration(*rows, **keywords, **level)
        if has_log_odds and outcomes.min() < outcomes.max()
        else None,
        **distances,
    )
