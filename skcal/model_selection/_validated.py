"""What internal validation returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skcal._tools._show_record import as_record
from skcal._tools._words import show_within
from skcal.inference import Interval

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {
    "slope": "slope of the log odds",
    "observed_expected_ratio": "observed over expected",
    "smooth_ece": "smECE",
    "roc_auc": "AUC",
}
# What the sentence tells, if it is known; else of other measures so many.
_TOLD, _MOST_TOLD = ("slope", "observed_expected_ratio", "smooth_ece"), 3


@as_record
class ValidatedMeasure(NamedTuple):
    """A measure of a model that was validated without a test set.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    apparent : float
        Value for the rows that the model was fitted on.
    optimism : float
        By how much that is too large: `apparent` minus the corrected value.
    corrected : Interval
        What new rows are expected to give, with its interval.
    n_missing : int
        Number of resamples, or repetitions of folds, in which the measure had no finite value.
        They are left out of the mean.
    """

    apparent: float
    optimism: float
    corrected: Interval
    n_missing: int

    def __str__(self) -> str:
        (apparent,) = show_within(*self.corrected[1:], self.apparent)
        return f"{self.corrected}, where {apparent} is apparent"


@as_record
class ValidatedCurve(NamedTuple):
    """Calibration curves of a model, apparent and corrected.

    Attributes
    ----------
    prob_pred : ndarray of shape (n_points,)
        Predictions.
    apparent : ndarray of shape (n_points,)
        Mean outcome there of the rows that the model was fitted on.
    corrected : ndarray of shape (n_points,)
        Mean outcome there that new rows are expected to have.
    low, high : ndarray of shape (n_points,)
        Ends of the interval of each.
    """

    prob_pred: np.ndarray
    apparent: np.ndarray
    corrected: np.ndarray
    low: np.ndarray
    high: np.ndarray


@as_record
class PredictionStability(NamedTuple):
    """What models of resamples predict for each row of the data.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    predictions : ndarray of shape (n_samples,)
        Predictions of the model of all rows.
    resampled : ndarray of shape (n_samples, n_models)
        Predictions of the models of resamples.
    outcomes : ndarray of shape (n_samples,)
        1 where the event came, else 0.
    weights : ndarray of shape (n_samples,) or None
        Weights of the rows.
    confidence_level : float
        Share of the models between `low` and `high`.
    """

    predictions: np.ndarray
    resampled: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray | None
    confidence_level: float

    @property
    def low(self) -> np.ndarray:
        """Lower quantile over models of the prediction for each row, shape (n_samples,)."""
        return np.quantile(self.resampled, (1 - self.confidence_level) / 2, axis=1)

    @property
    def high(self) -> np.ndarray:
        """Upper quantile over models of the prediction for each row, shape (n_samples,)."""
        return np.quantile(self.resampled, (1 + self.confidence_level) / 2, axis=1)

    @property
    def errors(self) -> np.ndarray:
        """Mean absolute prediction error of each row, shape (n_samples,).

        It is the mean distance of the models of resamples from the model of all rows.
        """
        return np.abs(self.resampled - self.predictions[:, None]).mean(axis=1)

    @property
    def mean_absolute_error(self) -> float:
        """Mean of `errors` over the rows, with their weights."""
        return float(np.average(self.errors, weights=self.weights))

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame.

        Returns
        -------
        DataFrame
            Columns "prediction", "low", "high" and "error", one row for each of the data.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "prediction": self.predictions,
                "low": self.low,
                "high": self.high,
                "error": self.errors,
            }
        )

    def __str__(self) -> str:
        row = np.argmin(np.abs(self.predictions - np.average(self.predictions)))
        told, low, high = (100 * ends[row] for ends in (self.predictions, self.low, self.high))
        told, low, high = show_within(low, high, told, low, high)
        return (
            f"A row told {told} % would have been told {low} % to {high} % by "
            f"{100 * self.confidence_level:g} % of {self.resampled.shape[1]} models that could as "
            f"well have come from these data; over all rows models differ from this one by "
            f"{100 * self.mean_absolute_error:.2g} percentage points on average."
        )


@as_record
class InternalValidation(NamedTuple):
    """Performance of a model that is expected of new rows, without a test set.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    measures : dict of ValidatedMeasure
        Each measure by its name: apparent, optimism and corrected with its interval.
    curve : ValidatedCurve or None
        Calibration curves; None of survival models.
    stability : PredictionStability or None
        What models of resamples predict for each row, if that was asked for.
    held_out : ndarray of shape (n_samples,) or None
        Predictions of the first repetition of folds, each of a model that has not seen the row;
        None with "optimism".
    method : str
        "optimism" or "cv".
    name : str
        Class of the estimator.
    pos_label : int, float, bool, str or None
        The label whose probability is validated; None of survival models.
    confidence_level : float
        Level of each interval.
    n_rows : int
        Number of rows.
    n_models : int
        Number of models that were fitted besides that of all rows, and measured.
    n_failed : int
        Number of resamples, or repetitions of folds, whose model could not be fitted; they are
        left out.
    n_redrawn : int
        Number of resamples that lacked one of the outcomes; others were drawn in their place.
    n_certain : int
        Number of rows with a prediction of exactly 0 or 1, of folds its mean over repetitions:
        intercept and slope leave them out, as their log odds are infinite.
    """

    measures: dict[str, ValidatedMeasure]
    curve: ValidatedCurve | None
    stability: PredictionStability | None
    held_out: np.ndarray | None
    method: str
    name: str
    pos_label: int | float | bool | str | None
    confidence_level: float
    n_rows: int
    n_models: int
    n_failed: int
    n_redrawn: int
    n_certain: int

    def to_frame(self) -> pd.DataFrame:
        """The measures as a pandas DataFrame.

        Returns
        -------
        DataFrame
            One row for each measure, by name; columns "apparent", "optimism", "corrected", "low",
            "high" and "n_missing".
        """
        import pandas as pd

        rows = {
            name: (found.apparent, found.optimism, *found.corrected, found.n_missing)
            for name, found in self.measures.items()
        }
        columns = ["apparent", "optimism", "corrected", "low", "high", "n_missing"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def __str__(self) -> str:
        known = {
            name: found
            for name, found in self.measures.items()
            if np.isfinite(found.corrected.estimate)
        }
        names = [name for name in _TOLD if name in known] or list(known)[:_MOST_TOLD]
        told = "; ".join(f"{_WORDS.get(name, name)} {known[name]}" for name in names)
        how = "folds" if self.method == "cv" else "resamples"
        failed = f" {self.n_failed} could not be fitted." if self.n_failed else ""
        if self.n_redrawn:
            what = "events" if self.curve is None else "y"
            failed += (
                f" {self.n_redrawn} resamples without one of the outcomes were drawn again; pass "
                f"stratify={what}."
            )
        if self.n_certain and "slope" in known:
            failed += (
                f" Intercept and slope leave out {self.n_certain} rows with predictions of exactly "
                "0 or 1."
            )
        return (
            f"No test set was used: {self.n_models} models of {how} of the same {self.n_rows} rows "
            f"correct what {self.name} shows on them: {told or 'no measure has a value'}.{failed}"
        )
