"""Weights that make labelled rows look like rows of another population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from skcal._fitting._folds import check_partition, check_rows, cross_fit, make_splits, stack_rows
from skcal._input._column_names import check_same_columns
from skcal._input._validation import check_integer, check_number, check_proba, check_rng
from skcal._numerics.shift._prior_shift import weigh_rows
from skcal._tools._arrays import list_column_names, read_numbers
from skcal._tools._progress import read_progress
from skcal._tools._typing import RandomState
from skcal._tools._warnings import warn

_N_STEPS = 1000
# Of the new population there should be old rows like so large a part.
_LEAST_COVERED = 0.5


def domain_weights(
    X_old: Any,
    X_new: Any,
    classifier: Any = None,
    *,
    cv: Any = 5,
    clip: float | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> np.ndarray:
    r"""Importance weights that adapt labelled rows to another population (covariate shift).

    With these weights old rows stand for the new population, wherever skcal takes
    `sample_weight`: in measures, tests, diagrams, the report and recalibrators. That is right under
    covariate shift, where rows of certain features are more frequent than before, but those of the
    same features have the same rates of the classes as before.

    Parameters
    ----------
    X_old : array-like, sparse matrix or DataFrame of shape (n_old, n_features)
        Features of the rows to weigh.
    X_new : array-like, sparse matrix or DataFrame of shape (n_new, n_features)
        Features of rows of the new population, of the same kind. Labels are not needed.
    classifier : classifier, default=None
        Tells new rows from old ones; needs `predict_proba`, and gets the rows unchanged. Its
        probabilities should be calibrated. None takes logistic regression on standardised numbers.
    cv : int, cross-validation generator or iterable, default=5
        Folds of the rows, the old ones first: a number of stratified folds in random order, or
        splits as in `sklearn.model_selection.cross_val_predict`, with every row in one test fold.
    clip : float, default=None
        Largest ratio of densities, at least 1; larger ones are set to it. None takes the square
        root of the number of old rows; infinity clips nothing.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the folds. An integer makes the result repeatable.

    Returns
    -------
    ndarray of shape (n_old,)
        Weights with mean 1.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the classifier is sure of all old rows that they are not
        new: then no old row tells anything of the new population.

    Warns
    -----
    UserWarning
        If old rows are like less than half of the new population, by the mean of w, see Notes.

    See Also
    --------
    estimate_prior : Where the rates of the classes have changed, and nothing else.
    estimate_performance : Metrics of rows without labels.
    skcal.report.calibration_report : Says how many rows of equal weight weighted ones are worth.

    Notes
    -----
    The mean of a loss in the new population is the mean in the old one with the ratio of densities
    as weights [1]_ [2]_. By Bayes' rule a classifier that tells the two samples apart knows the
    ratio [3]_:

    .. math:: w(x) = \frac{p(\mathrm{new} \mid x)}{p(\mathrm{old} \mid x)}
              \cdot \frac{n_{\mathrm{old}}}{n_{\mathrm{new}}} .

    Each row is judged by a classifier that was fitted on other folds, because one that has seen a
    row is too sure of it. This costs one fit for each fold. Without `clip` single rows may carry
    all weight; the square root of n is the bound of [4]_, at which the bias vanishes as n grows.

    Weighted rows are worth :math:`(\sum w)^2 / \sum w^2` of equal weight.
    :func:`~skcal.report.calibration_report` and the legends of diagrams show this number. If it is
    small, no sample of this size says much about the new population. Where it is not, there may
    still be new rows like no old ones. The mean of w over old rows is 1 if they are like all new
    ones, and else the share of the new population that they are like.

    :func:`~skcal.inference.calibration_test` is exact for any weights that do not depend on
    outcomes, such as these; that they are estimated from features does not matter. Other tests and
    intervals allow for weights, too, see :ref:`weights-in-inference`.

    References
    ----------
    .. [1] H. Shimodaira (2000). Improving predictive inference under covariate shift by weighting
       the log-likelihood function. Journal of Statistical Planning and Inference 90.
       :doi:`10.1016/S0378-3758(00)00115-4`
    .. [2] M. Sugiyama, M. Krauledat, K.-R. Müller (2007). Covariate shift adaptation by importance
       weighted cross validation. Journal of Machine Learning Research 8.
    .. [3] S. Bickel, M. Brückner, T. Scheffer (2009). Discriminative learning under covariate
       shift. Journal of Machine Learning Research 10.
    .. [4] E. L. Ionides (2008). Truncated importance sampling. Journal of Computational and
       Graphical Statistics 17. :doi:`10.1198/106186008X320456`

    Examples
    --------
    Here a model is right in one half of its rows only, and that half becomes rare:

    >>> import numpy as np
    >>> from skcal.metrics import smooth_ece
    >>> from skcal.shift import domain_weights
    >>> rng = np.random.default_rng(0)
    >>> X, X_new = rng.normal(size=(4000, 1)), rng.normal(1, size=(4000, 1))
    >>> y_proba = np.full(4000, 0.5)
    >>> y = rng.random(4000) < np.where(X[:, 0] < 0, 0.5, 0.8)
    >>> weights = domain_weights(X, X_new, random_state=0)
    >>> smooth_ece(y, y_proba) < 0.2 < smooth_ece(y, y_proba, sample_weight=weights)
    True

    The weighted old rows have the mean of the new ones, and are worth fewer:

    >>> bool(abs(weights @ X[:, 0] / 4000 - 1) < 0.1)
    True
    >>> bool(1000 < weights.sum() ** 2 / (weights**2).sum() < 2500)
    True
    """
    _check_classifier(classifier)
    show = read_progress(progress)
    if classifier is None:
        columns = list_column_names(X_new), list_column_names(X_old)
        if None not in columns:
            check_same_columns("X_new", columns[0], "X_old", columns[1])
        X_old, X_new = _read_features("X_old", X_old), _read_features("X_new", X_new)
    n_old, n_new = _count_rows("X_old", X_old), _count_rows("X_new", X_new)
    clip = np.sqrt(n_old) if clip is None else check_number("clip", clip, 1, allow_infinity=True)
    X = stack_rows(X_old, X_new)
    if classifier is None:
        # Squares of huge numbers would overflow.
        X = MaxAbsScaler().fit_transform(X)
        scaler = StandardScaler(with_mean=not issparse(X))
        classifier = make_pipeline(scaler, LogisticRegression(max_iter=_N_STEPS))
    X, is_new = check_rows(domain_weights, X, np.repeat([0, 1], [n_old, n_new]))
    splits = make_splits(_choose_folds(cv, max(n_old, n_new), random_state), X, is_new, {})
    check_partition(splits, len(is_new))
    found = cross_fit(
        classifier, X, is_new, np.array([0, 1]), splits, "predict_proba", {}, None, show
    )
    chances = check_proba("predict_proba of classifier", found.scores)
    weights, covered = weigh_rows(chances[:n_old, 1].astype(np.float64), n_old, n_new, clip)
    _check_weights(weights, chances[:n_old, 1])
    if covered < _LEAST_COVERED:
        warn(
            f"X_old has rows that resemble only {covered:.0%} of the new population; weights tell "
            "nothing about the rest."
        )
    return weights


def _check_classifier(classifier):
    if isinstance(classifier, type) or not (classifier is None or hasattr(classifier, "fit")):
        raise ValueError(
            f"classifier must be None or an instance of a classifier; got {classifier!r}."
        )


def _read_features(name, X):
    """A table of numbers for the default classifier, as an array or a sparse matrix."""
    if issparse(X):
        return X.tocsr()
    numbers = read_numbers(name, X).astype(np.float64)
    if numbers.ndim != 2 or 0 in numbers.shape:
        raise ValueError(
            f"{name} must have shape (n_samples, n_features), and neither of them 0; got shape "
            f"{numbers.shape}."
        )
    if not np.isfinite(numbers).all():
        row = np.flatnonzero(~np.isfinite(numbers).all(axis=1))[0]
        raise ValueError(
            f"{name} must hold finite numbers for the default classifier; got another one at row "
            f"{row}. Pass a classifier that takes missing values, such as "
            "HistGradientBoostingClassifier."
        )
    return numbers


def _count_rows(name, X):
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows < 2:
        raise ValueError(f"{name} must hold at least two rows; got {n_rows}.")
    return n_rows


def _choose_folds(cv, n_most, random_state):
    """Splits as scikit-learn takes them; a number stands for shuffled folds."""
    rng = check_rng(random_state)
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        return cv
    n_folds = check_integer("cv", cv, minimum=2)
    if n_folds > n_most:
        raise ValueError(
            f"cv must not be larger than the number of rows of both X_old and X_new; got {n_folds} "
            f"folds for at most {n_most} rows of each."
        )
    seed = int(rng.integers(2**32))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed)


def _check_weights(weights, chances):
    if np.isfinite(weights).all():
        return
    if (chances == 0).all():
        raise ValueError(
            "classifier is certain that no row of X_old could come from X_new, so no weights "
            "make them alike."
        )
    raise ValueError(
        f"classifier is certain that row {np.flatnonzero(chances == 1)[0]} of X_old comes from "
        "X_new, so its weight is infinite; pass a finite clip."
    )
