"""A rule that chooses models by calibration, as long as their proper score is good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._input._advice import suggest_name

# A mean loss is within one standard error if it is above it by this part of it, or less: where
# they are equal, which of the two is rounded up must not decide.
_ROUNDING = 1e-9


def calibrated_within_one_se(score: str, calibration: str) -> Callable[..., Any]:
    """Make a ``refit=`` rule: the best calibrated candidate within one standard error.

    Do not search for the smallest calibration error alone: a model that always predicts the base
    rate has none. This rule first keeps the candidates whose proper score lies within one standard
    error of the best, and then takes the one with the best calibration.

    Parameters
    ----------
    score : str
        Name of the proper score in the ``scoring`` of the search: a key of the dict.
    calibration : str
        Name of the calibration score in it. As everywhere in scikit-learn, larger is better in
        both.

    Returns
    -------
    callable
        ``refit(cv_results)``, which returns the index of a candidate, for `GridSearchCV` and
        `RandomizedSearchCV` with several metrics. It raises a ValueError if one of the names is
        not among the metrics, or if no candidate has finite scores on all splits.

    Raises
    ------
    ValueError
        If `score` or `calibration` is not a string.

    See Also
    --------
    skcal.scorers.get_scorer : The calibration score of a ``scoring`` with several metrics.
    pooled_cross_val_score : A measure of the model that was chosen.

    Notes
    -----
    With :math:`d_k` the amount by which a candidate falls behind the best mean score on split k
    of m, the candidate is kept [1]_ if

    .. math:: \\bar d \\le \\sqrt{\\frac{1}{m (m - 1)} \\sum_k (d_k - \\bar d)^2}.

    The standard error is computed from paired differences, so that splits which are hard for all
    candidates do not widen it. With a single split there is no standard error, and only candidates
    that tie for the best score are kept. The first of equal candidates is taken. A candidate with a
    missing or infinite score on any split (a failed fit) is left out.

    All splits count as independent, which those of repeated cross-validation are not: the more
    repeats, the closer the rule gets to the best score.

    scikit-learn sets no ``best_score_`` where ``refit`` is a function; ``best_index_``,
    ``best_params_`` and ``best_estimator_`` are set. ``search.score`` gives the proper score.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984). Classification and
       regression trees. Wadsworth. :doi:`10.1201/9781315139470` (the rule of one standard error,
       there with the unpaired error of the best candidate)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcal.model_selection import calibrated_within_one_se
    >>> from skcal.scorers import get_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)

    Leaves of 300 rows leave no split: that tree always predicts the base rate, and is the best
    calibrated of the four.

    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"min_samples_leaf": [1, 10, 30, 300]},
    ...     scoring={"log_loss": "neg_log_loss", "smooth_ece": get_scorer("neg_smooth_ece")},
    ...     refit=calibrated_within_one_se("log_loss", "smooth_ece"),
    ... )
    >>> search.fit(X, y).best_params_
    {'min_samples_leaf': 30}
    """
    return _CalibratedWithinOneSE(score, calibration)


@dataclass(frozen=True, repr=False)
class _CalibratedWithinOneSE:
    score: str
    calibration: str

    def __post_init__(self):
        for argument in ("score", "calibration"):
            name = getattr(self, argument)
            if not isinstance(name, str):
                raise ValueError(
                    f"{argument} must be the name of a metric, a key of `scoring`; got {name!r}."
                )

    # A search looks its own score up by `refit`, whatever that is: scorers[refit]. The rule finds
    # what its proper score would find.
    def __hash__(self):
        return hash(self.score)

    def __eq__(self, other):
        if isinstance(other, str):
            return self.score == other
        if not isinstance(other, _CalibratedWithinOneSE):
            return NotImplemented
        return (self.score, self.calibration) == (other.score, other.calibration)

    def __call__(self, cv_results):
        score = _read_splits(cv_results, "score", self.score)
        calibration = _read_splits(cv_results, "calibration", self.calibration)
        complete = np.isfinite(score).all(axis=1) & np.isfinite(calibration).all(axis=1)
        if not complete.any():
            raise ValueError(
                f"No candidate has finite values of {self.score!r} and {self.calibration!r} on "
                'all splits; pass error_score="raise" to see why fits or scores fail.'
            )
        candidates = np.flatnonzero(complete)
        score = score[candidates]
        candidates = candidates[_is_within_one_se(score)]
        return int(candidates[calibration[candidates].mean(axis=1).argmax()])

    def __repr__(self):
        return f"calibrated_within_one_se({self.score!r}, {self.calibration!r})"


def _read_splits(cv_results, argument, name):
    """Scores of a metric, of shape (n_candidates, n_splits)."""
    if f"mean_test_{name}" not in cv_results:
        prefix = "mean_test_"
        metrics = [key.removeprefix(prefix) for key in cv_results if key.startswith(prefix)]
        raise ValueError(
            f"{argument} must be one of the metrics of the search, {metrics}; got {name!r}."
            f"{suggest_name(name, metrics)} Give both metrics in `scoring`, for example as a dict."
        )
    splits = []
    while (key := f"split{len(splits)}_test_{name}") in cv_results:
        splits.append(np.asarray(cv_results[key], dtype=float))
    if not splits:
        raise ValueError(
            f"cv_results must hold the scores of each split, split0_test_{name} and so on; it "
            "has none."
        )
    # Scaled by a power of 2, which rounds nothing, so that no sum overflows.
    return np.ldexp(np.stack(splits, axis=1), -len(splits).bit_length())


def _is_within_one_se(score):
    """Whether a row of scores is within one paired standard error of the row of the best mean."""
    loss = score[score.mean(axis=1).argmax()] - score
    # Nor must squares overflow or vanish: the rule does not depend on the unit.
    loss = np.ldexp(loss, -np.frexp(np.abs(loss).max(axis=1, keepdims=True))[1])
    n_splits = loss.shape[1]
    error = loss.std(axis=1, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0
    return loss.mean(axis=1) <= error * (1 + _ROUNDING)
