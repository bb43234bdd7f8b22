"""Bregman divergences by name, or by the user's own convex function."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skcal._estimates._bins import split_mass
from skcal._input._outcome_matrix import list_copies
from skcal._input._reduction import REDUCTIONS
from skcal._input._sample import CHUNK
from skcal._input._validation import check_option, check_unit_range
from skcal._numerics.errors._bregman import (
    bregman_divergence,
    expect_divergence,
    log_divergence,
    relative_entropy,
    squared_difference,
)
from skcal._tools._arrays import NUMPY, as_float64, list_slices, move_to, namespace, read_numbers

# Divergence of one component from another, and whether it is summed over all classes.
DIVERGENCES = {
    "brier": (squared_difference, squared_difference),
    "log": (log_divergence, relative_entropy),
}


@dataclass(frozen=True)
class BregmanDivergence:
    r"""Bregman divergence of a prediction from an outcome, given by a convex function.

    Parameters
    ----------
    phi : callable
        Strictly convex function of an array of numbers in [0, 1], finite at 0 and 1 too.
    gradient : callable
        Derivative of `phi`; it may be infinite at 0 and 1.

    Raises
    ------
    ValueError
        If a function is not defined on [0, 1], or some divergence negative.

    See Also
    --------
    calibration_decomposition : Takes a divergence as its `loss`.

    Notes
    -----
    .. math:: d(y, v) = \varphi(y) - \varphi(v) - \varphi'(v) (y - v)

    is 0 at v = y and positive elsewhere. Over outcomes y its mean is smallest where v is the mean
    of y, so that it is a proper score; every proper score of a binary outcome is of this form, up
    to what does not depend on v [1]_. :math:`\varphi(v) = v^2` gives the Brier score, and
    :math:`\varphi(v) = v \log v + (1 - v) \log(1 - v)` the log loss.

    References
    ----------
    .. [1] L. J. Savage (1971). Elicitation of personal probabilities and expectations.
       Journal of the American Statistical Association 66. :doi:`10.1080/01621459.1971.10482346`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.metrics import BregmanDivergence
    >>> divergence = BregmanDivergence(phi=np.square, gradient=lambda v: 2 * v)
    >>> divergence([0, 1], [0.25, 0.5])
    array([0.0625, 0.25  ])
    """

    phi: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]

    def __post_init__(self):
        for name in ("phi", "gradient"):
            if not callable(getattr(self, name)):
                raise ValueError(f"{name} must be callable; got {getattr(self, name)!r}.")
        places = np.linspace(0.0, 1.0, 33)
        self(places[:, None], places)  # so that mistakes show whatever the data are

    def __call__(self, y, v):
        """Divergence of predictions v from y, both numbers or arrays in [0, 1]."""
        y, v = _read_places("y", y), _read_places("v", v)
        try:
            y, v = np.broadcast_arrays(y, v)
        except ValueError:
            raise ValueError(
                f"y and v must have shapes that fit together; got {y.shape} and {v.shape}."
            ) from None
        phi_y, phi_v = self._call("phi", y), self._call("phi", v)
        gradient_v = self._call("gradient", v)
        with np.errstate(over="ignore", invalid="ignore"):  # a NaN is found below
            values = bregman_divergence(phi_y, phi_v, gradient_v, y, v)
        wrong = ~(values >= -1e-9 * np.maximum(np.abs(phi_y), np.abs(phi_v)))
        if wrong.any():
            where = tuple(np.argwhere(wrong)[0])
            raise ValueError(
                "phi must be convex and gradient its derivative, so that no divergence is "
                f"negative; got d({y[where]:.6g}, {v[where]:.6g}) = {values[where]:.6g}."
            )
        return np.maximum(values, 0.0)

    def _call(self, name, places):
        """Values of phi or of the gradient, checked."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            values = read_numbers(f"{name}(v)", getattr(self, name)(places))
            values = values.astype(float, copy=False)
        if values.shape != places.shape:
            raise ValueError(
                f"{name} must map an array to one number for each element; got shape "
                f"{values.shape} for {places.shape}."
            )
        bad = ~np.isfinite(values) if name == "phi" else np.isnan(values)
        if bad.any():
            where = tuple(np.argwhere(bad)[0])
            raise ValueError(
                f"{name} must be {'finite' if name == 'phi' else 'defined'} on [0, 1], 0 and 1 "
                f"included; got {values[where]} at {places[where]:.6g}."
            )
        return values


def _read_places(name, values):
    return check_unit_range(name, read_numbers(name, values, NUMPY)).astype(float, copy=False)


def find_divergences(loss):
    """Divergence of binary predictions, and that whose sum over classes is the total."""
    if isinstance(loss, BregmanDivergence):
        return loss, loss
    if not isinstance(loss, str):
        raise ValueError(
            f"loss must be 'brier', 'log' or a BregmanDivergence(phi, gradient); got {loss!r}."
        )
    check_option("loss", loss, tuple(DIVERGENCES))
    return DIVERGENCES[loss]


def average_rows(sample, function):
    """Sum of function(predictions, outcomes, weights) over chunks, divided by the total weight."""
    return sum(function(*chunk) for chunk in sample.present_chunks()) / sample.total_weight


def average_over_classes(proba, target, weights, divergence):
    """Mean over rows of the divergence of the vector of probabilities from the outcome."""
    total, mass = 0.0, 0.0
    xp = namespace(proba)
    for rows in list_slices(proba, max(1, CHUNK // proba.shape[1])):
        if weights is None:
            weight = xp.ones_like(proba[rows, 0], dtype=xp.float64)
        else:
            weight = as_float64(weights[rows])
        mass += float(xp.sum(weight))
        present = weight > 0
        chosen, codes, weight = proba[rows, ...][present], target[rows][present], weight[present]
        if codes.ndim == 2:
            copied, codes, share = list_copies(codes)
            chosen, weight = chosen[copied], weight[copied] * share
        total += float(xp.sum(weight * diverge_over_classes(chosen, codes, divergence)))
    return total / mass


def diverge_over_classes(proba, target, divergence):
    """Divergences of a few rows of probabilities from their one-hot outcomes."""
    classes = move_to(np.arange(proba.shape[1]), target)
    outcomes = as_float64(target[:, None] == classes)
    return namespace(proba).sum(divergence(outcomes, as_float64(proba)), axis=1)


def measure_total(predictions, of_row, of_classes):
    """Mean loss of checked `Predictions`, by the divergences of `find_divergences`."""
    if predictions.is_multiclass:
        data = predictions.proba, predictions.target, predictions.weights
        return float(average_over_classes(*data, of_classes))

    def expect(predictions, outcomes, weights):
        negative, positive = split_mass(outcomes, weights)
        return expect_divergence(of_row, negative, positive, predictions)

    (sample,) = REDUCTIONS["auto"](predictions)
    return float(average_rows(sample, expect))
