"""Adversarial group calibration: the worst of some random groups of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skcal._input._predicted._response_rows import check_values, make_pit_source, read_pit
from skcal._input._validation import check_integer, check_number, check_rng, check_sample_weight
from skcal._numerics.distributions._regression import measure_uniformity
from skcal._tools._arrays import read_numbers
from skcal._tools._progress import read_progress
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState


@as_record
class AdversarialGroupCurve(NamedTuple):
    """PIT calibration error of the worst random group, as a function of its size.

    Attributes
    ----------
    group_size : ndarray of shape (n_sizes,)
        Size of the groups, as a share of the rows.
    error : ndarray of shape (n_sizes,)
        Mean, over repetitions, of the largest error of the groups.
    null_error : ndarray of shape (n_sizes,)
        The same for targets that are drawn from the predictions.
    """

    group_size: np.ndarray
    error: np.ndarray
    null_error: np.ndarray


def adversarial_group_calibration(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    group_size: ArrayLike = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
    n_groups: int = 10,
    n_resamples: int = 10,
    norm: float = 1,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> AdversarialGroupCurve:
    r"""Adversarial group calibration: PIT calibration error of the worst random group.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions, as in :func:`probability_integral_transform`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    group_size : array-like of shape (n_sizes,), default=(0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
        Sizes of the groups as shares of the rows, above 0 and up to 1; a group holds at least one
        row.
    n_groups : int, default=10
        Number of random groups from which the worst is taken, at most 2^24.
    n_resamples : int, default=10
        Number of repetitions, over which the error of the worst is averaged, at most 2^24.
    norm : {1, 2, numpy.inf}, default=1
        Norm of the distance from uniform, see :func:`pit_calibration_error`.
    progress : bool or callable, default=None
        A progress bar over repetitions: True for a tqdm bar (tqdm must be installed), or a function
        that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the groups, and of the targets of ``null_error``.

    Returns
    -------
    AdversarialGroupCurve
        Named tuple of ``group_size``, ``error`` and ``null_error``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    pit_calibration_error : The error of all rows.
    skcal.inference.audit_groups : Groups that have a meaning, by the columns of a table.
    corp_distribution_decomposition : Rows with similar predictions, without groups.

    Notes
    -----
    The measure of [1]_, with groups that are drawn without replacement. Small groups have large
    errors by chance alone, which ``null_error`` shows. An error above it says that the model is
    wrong; groups that are drawn without looking at the features do not say where, and find no more
    than all rows do where errors of different rows balance.

    References
    ----------
    .. [1] S. Zhao, T. Ma, S. Ermon (2020). Individual calibration with randomized forecasting. ICML
       37. :doi:`10.48550/arXiv.2006.10288`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import adversarial_group_calibration
    >>> rng = np.random.default_rng(0)
    >>> mean, std = rng.normal(size=500), np.full(500, 0.5)
    >>> curve = adversarial_group_calibration(
    ...     rng.normal(mean, 1.0), (mean, std), group_size=[0.1, 1.0], random_state=0
    ... )
    >>> curve.error.round(2), curve.null_error.round(2)
    (array([0.14, 0.1 ]), array([0.08, 0.01]))
    """
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    if norm not in (1, 2, np.inf):
        raise ValueError(f"norm must be 1, 2 or numpy.inf; got {norm!r}.")
    n_groups = check_integer("n_groups", n_groups, minimum=1)
    n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
    sizes = np.atleast_1d(read_numbers("group_size", group_size).astype(np.float64))
    if sizes.ndim != 1 or len(sizes) == 0 or not np.all((sizes > 0) & (sizes <= 1)):
        raise ValueError(f"group_size must lie above 0 and up to 1; got {sizes.tolist()}.")
    rng, show = check_rng(random_state), read_progress(progress)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    observed = read_pit(targets, distribution)
    draw = make_pit_source(targets, distribution)
    kept = np.arange(len(targets)) if weights is None else np.flatnonzero(weights)

    def find_worst(ends, n_rows):
        low, high = ends
        groups = (rng.choice(kept, n_rows, replace=False) for _ in range(n_groups))
        return max(
            measure_uniformity(
                low[rows], high[rows], None if weights is None else weights[rows], norm
            )
            for rows in groups
        )

    errors = np.empty((2, len(sizes), n_resamples))
    for repetition in show(range(n_resamples)):
        drawn = draw(rng.random(len(targets)))
        for place, size in enumerate(sizes):
            n_rows = max(1, round(size * len(kept)))
            errors[0, place, repetition] = find_worst(observed, n_rows)
            errors[1, place, repetition] = find_worst(drawn, n_rows)
    return AdversarialGroupCurve(sizes, *errors.mean(axis=2))
