"""Predicted distributions: those of SciPy, NGBoost and skpro, mixtures, and multivariate ones."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.stats.distributions import rv_frozen

from skcal._input._predicted._points import Ensemble, check_everywhere, read_finite, show_place
from skcal._input._validation import ROW_SUM_TOLERANCE, clip_rounding
from skcal._numerics.distributions._distribution_kernels import (
    Laplaces,
    Mixtures,
    MultivariateNormals,
    Normals,
)
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record

# A covariance may be asymmetric by this share of its largest entry: the rounding of float32.
_ASYMMETRY = 1e-5
# Products of larger means, roots of covariances and costs of transport might overflow.
LARGEST = 1e100
_FROZEN = type(stats.norm())
_FAMILIES = {type(stats.norm): Normals, type(stats.laplace): Laplaces}
# SciPy >= 1.15 has a second kind of distributions, without a Laplace among them.
_NEW_NORMAL = getattr(stats, "Normal", ())
# Those of skpro by the names of their classes, with the names of location and scale.
_SKPRO = {"Normal": (stats.norm, "mu", "sigma"), "Laplace": (stats.laplace, "mu", "scale")}
_SUPPORTED = (
    "scipy.stats.norm(loc, scale), scipy.stats.laplace(loc, scale), "
    "a skcal.regression.MultivariateNormal or a skcal.regression.Mixture"
)


def unwrap(distribution):
    """What NGBoost and skpro predict, as distributions of SciPy, as a normal one or an ensemble.

    A tuple of means and standard deviations becomes normal distributions. Anything else is returned
    as it is, and so are the other families of skpro.
    """
    if type(distribution) is tuple:
        return _make_normal(distribution)
    # NGBoost: a frozen distribution of SciPy inside, or arrays.
    inner = getattr(distribution, "dist", None)
    if isinstance(inner, rv_frozen):
        return inner
    loc, cov = (getattr(distribution, name, None) for name in ("loc", "cov"))
    if isinstance(loc, np.ndarray) and isinstance(cov, np.ndarray):
        return MultivariateNormal(loc, cov)
    # skpro: a matrix of distributions, with one column.
    if _has_one_column(distribution):
        name = type(distribution).__name__
        if name in _SKPRO:
            family, *names = _SKPRO[name]
            parameters = (np.asarray(getattr(distribution, name), np.float64) for name in names)
            return family(*(np.broadcast_to(p, distribution.shape)[:, 0] for p in parameters))
        if name == "Empirical":
            return Ensemble(_find_members(distribution))
    return distribution


def _find_members(empirical):
    """Members of the empirical distributions of skpro, a row for each."""
    if empirical.weights is not None:
        raise ValueError("The weights of an Empirical distribution must be None; got some.")
    # A table with a row for each draw; its labels are those of the draw and of the row.
    draws, labels = empirical.spl, empirical.index
    rows = labels.get_indexer(draws.index.droplevel(0))
    counts = np.bincount(rows, minlength=len(labels))
    if (counts != counts[0]).any():
        raise ValueError(
            "An Empirical distribution must have as many draws for each row; "
            f"got {counts.min()} to {counts.max()}."
        )
    values = np.asarray(draws, dtype=np.float64)[:, 0]
    return values[np.argsort(rows, kind="stable")].reshape(len(labels), -1)


def _make_normal(pair):
    if len(pair) != 2:
        raise ValueError(
            "A tuple of means and standard deviations must hold these two; "
            f"got {len(pair)} elements."
        )
    mean, deviation = (
        read_finite(f"The {name} of distribution", values)
        for name, values in zip(("mean", "standard deviation"), pair, strict=True)
    )
    check_everywhere(
        "The standard deviation of distribution", deviation, deviation > 0, "be positive"
    )
    return stats.norm(mean, deviation)


def evaluate(distribution, method, argument):
    """Call a method of a distribution with numbers, one for each row or one for all."""
    if _has_one_column(distribution):
        argument = argument[:, None] if np.ndim(argument) == 1 else argument
        return np.asarray(getattr(distribution, method)(argument), dtype=np.float64)[:, 0]
    return np.asarray(getattr(distribution, method)(argument), dtype=np.float64)


def _has_one_column(distribution):
    shape = getattr(distribution, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] == 1


@as_record
class MultivariateNormal(NamedTuple):
    """Multivariate normal distributions, one for each row.

    The multivariate normal of SciPy is a single distribution; this is a pair of arrays for many.

    Attributes
    ----------
    mean : array-like of shape (n_samples, n_dimensions)
        Means.
    cov : array-like of shape (n_samples, n_dimensions, n_dimensions)
        Symmetric and positive definite covariance matrices. One matrix, of shape
        (n_dimensions, n_dimensions), serves for all rows.
    """

    mean: ArrayLike
    cov: ArrayLike


@as_record
class Mixture(NamedTuple):
    """Mixture distributions, one for each row, with components from one family.

    Attributes
    ----------
    weights : array-like of shape (n_samples, n_components)
        Probabilities of the components, with rows that sum to 1. One row, of shape
        (n_components,), serves for all mixtures.
    components : list of distributions, or distribution
        For each component a distribution over all rows, ``scipy.stats.norm(loc, scale)``,
        ``scipy.stats.laplace(loc, scale)`` or :class:`MultivariateNormal`, all of one kind. Or
        a single one that has the components on its second axis: loc and scale of shape
        (n_samples, n_components), or mean of shape (n_samples, n_components, n_dimensions).
    """

    weights: ArrayLike
    components: Any

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Cumulative distribution function of every row.

        Parameters
        ----------
        x : array-like of shape (n_samples,)
            One number for each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probability that the target is at most `x`.

        Raises
        ------
        ValueError
            If `x` or the weights are invalid, if the components are not univariate or do not fit
            the rows of `x`, or if one of them gives a value outside [0, 1].
        """
        at = read_numbers("x", x).astype(np.float64)
        if at.ndim != 1:
            raise ValueError(f"x must be one-dimensional; got shape {at.shape}.")
        if _are_listed(self.components):
            columns = [_read_cdf(component, at) for component in self.components]
            if not columns:
                raise ValueError("components must hold at least one distribution; got none.")
            values = np.stack(columns, axis=-1)
        else:
            values = _read_cdf(self.components, at[:, None])
        return np.sum(_read_weights("weights", self.weights, values.shape) * values, axis=-1)

    def ppf(self, q: ArrayLike) -> np.ndarray:
        """Quantile function of every row.

        Parameters
        ----------
        q : float or array-like of shape (n_samples,)
            Level, strictly between 0 and 1; one number, or one for each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            The quantiles, found by halving the range of those of the components.

        Raises
        ------
        ValueError
            If `q` or the weights are invalid, or if the components are not univariate or do not fit
            each other.
        """
        levels = read_numbers("q", q).astype(np.float64)
        if levels.ndim > 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(
                "q must be one number, or one for each row, strictly between 0 and 1; "
                f"got {levels.tolist()}."
            )
        if _are_listed(self.components):
            columns = [_read_ppf(component, levels) for component in self.components]
            shapes = {column.shape for column in columns} - {()}
            if len(shapes) > 1:
                raise ValueError(
                    "components and q must be for the same rows; got arrays of shapes "
                    f"{sorted(shapes)}."
                )
            columns = list(np.broadcast_arrays(*columns))
        else:
            columns = np.moveaxis(_read_ppf(self.components, levels[..., None]), -1, 0)
        if len(columns) == 0:
            raise ValueError("components must hold at least one distribution; got none.")
        low, high = np.min(columns, axis=0), np.max(columns, axis=0)
        shape = low.shape
        low, high = np.atleast_1d(low), np.atleast_1d(high)
        self.cdf(high)  # refuses what does not fit
        while True:
            middle = low + (high - low) / 2
            if np.all((middle <= low) | (middle >= high)):
                return high.reshape(shape)
            is_enough = self.cdf(middle) >= levels
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)


def _are_listed(components):
    is_list = isinstance(components, list | tuple)
    return is_list and not isinstance(components, MultivariateNormal | Mixture)


def _read_cdf(component, x):
    """Cumulative probabilities of univariate components, with as many axes as x, checked."""
    component = unwrap(component)
    if not callable(getattr(component, "cdf", None)):
        raise ValueError(f"components must be univariate for a cdf; got {describe(component)}.")
    if isinstance(component, type | stats.rv_continuous):
        raise ValueError(
            "components must have parameters, such as scipy.stats.norm(loc, scale); got "
            f"{component if isinstance(component, type) else describe(component)}."
        )
    needed = f"components must hold one distribution for each of the {len(x)} rows, or a single one"
    try:
        with np.errstate(all="ignore"):  # what comes of it is looked at
            values = evaluate(component, "cdf", x)
    except (ValueError, IndexError, TypeError) as error:  # shapes, or long double parameters
        raise ValueError(f"{needed}; a cdf raised: {error}") from error
    if values.ndim != x.ndim or len(values) != len(x):
        raise ValueError(f"{needed}; a cdf gave an array of shape {values.shape}.")
    values = clip_rounding(values)
    check_everywhere(
        "The cdf of components", values, (values >= 0) & (values <= 1), "lie in [0, 1]"
    )
    return values


def _read_ppf(component, levels):
    """Quantiles of univariate components, checked."""
    component = unwrap(component)
    method = next((name for name in ("ppf", "icdf") if hasattr(component, name)), None)
    if method is None:
        raise ValueError(f"components must be univariate for a ppf; got {describe(component)}.")
    try:
        with np.errstate(all="ignore"):  # what comes of it is looked at
            values = evaluate(component, method, levels)
    except (ValueError, IndexError, TypeError) as error:  # shapes, or long double parameters
        raise ValueError(
            f"components and q must be for the same rows; {method} raised: {error}"
        ) from error
    check_everywhere("The ppf of components", values, np.isfinite(values), "be finite")
    return values


def read_predictions(targets_name, targets, name, distribution):
    """Check targets and the distributions predicted for them, one for each row or one for all.

    Distributions are frozen scipy.stats.norm or laplace, `MultivariateNormal` or `Mixture`, and
    come back as `Normals`, `Laplaces`, `MultivariateNormals` or `Mixtures`. Targets have shape
    (n_samples,), or (n_samples, n_dimensions) if multivariate.
    """
    targets = read_numbers(targets_name, targets).astype(np.float64, copy=False)
    if targets.ndim not in (1, 2) or targets.size == 0:
        raise ValueError(
            f"{targets_name} must have shape (n_samples,) or (n_samples, n_dimensions) and hold "
            f"at least one row; got shape {targets.shape}."
        )
    if isinstance(distribution, Mixture):
        predictions = _read_mixture(name, distribution, len(targets))
        family = predictions.components
    else:
        predictions = family = _expand(name, _read_family(name, distribution), len(targets))
    n_dimensions = family.mean.shape[-1] if isinstance(family, MultivariateNormals) else None
    targets = _match_dimensions(targets_name, targets, name, n_dimensions)
    check_everywhere(targets_name, targets, np.isfinite(targets), "be finite")
    return targets, predictions


def _match_dimensions(targets_name, targets, name, n_dimensions):
    """Targets in the shape that belongs to the distributions; None means univariate."""
    if n_dimensions is None:
        if targets.ndim == 2 and targets.shape[1] == 1:
            return targets[:, 0]
        needed = "(n_samples,)"
    else:
        if targets.ndim == 1 and n_dimensions == 1:
            return targets[:, None]
        needed = f"(n_samples, {n_dimensions})"
    if targets.shape[1:] != (() if n_dimensions is None else (n_dimensions,)):
        raise ValueError(
            f"{targets_name} must have shape {needed}, the dimension of {name}; "
            f"got shape {targets.shape}."
        )
    return targets


# --------------------------------------------------------------------------- families


def _read_family(name, distribution):
    """Distributions of one family, with as many axes as their parameters have."""
    distribution = unwrap(distribution)
    if isinstance(distribution, MultivariateNormal):
        return _read_multivariate(name, distribution)
    if isinstance(distribution, _NEW_NORMAL):
        return _read_location_scale(name, Normals, distribution.mu, distribution.sigma)
    family = None
    if isinstance(distribution, _FROZEN):
        family = _FAMILIES.get(type(distribution.dist))
    if family is None:
        raise ValueError(
            f"{name} must be {_SUPPORTED}; got {describe(distribution)}.{advise(distribution)}"
        )
    # `args` and `kwds` hold what the user wrote. mean() and std() of invalid parameters are NaN,
    # which says nothing of what is wrong.
    loc, scale = (
        distribution.args[place] if place < len(distribution.args) else distribution.kwds.get(*item)
        for place, item in enumerate([("loc", 0.0), ("scale", 1.0)])
    )
    return _read_location_scale(name, family, loc, scale)


def advise(distribution):
    """What to pass in place of a model, for messages."""
    for method in ("pred_dist", "predict_proba"):  # of NGBoost, of skpro
        if hasattr(distribution, method):
            return f" Pass what its {method}(X) returns."
    return ""


def describe(distribution):
    if isinstance(distribution, (_FROZEN, type(stats.poisson(1.0)))):
        return f"scipy.stats.{distribution.dist.name}"
    if isinstance(distribution, type(stats.multivariate_normal(0.0))):
        return "scipy.stats.multivariate_normal, which is a single distribution"
    kind = type(distribution)
    room = "scipy.stats." if kind.__module__.startswith("scipy.stats") else ""
    return f"{room}{kind.__name__}"


def _read_location_scale(name, family, loc, scale):
    loc, scale = (
        read_finite(f"The loc of {name}", loc),
        read_finite(f"The scale of {name}", scale),
    )
    check_everywhere(f"The scale of {name}", scale, scale > 0, "be positive")
    if loc.shape != scale.shape:
        shape = _broadcast_shapes(name, "loc and scale", loc.shape, scale.shape)
        loc, scale = np.broadcast_to(loc, shape), np.broadcast_to(scale, shape)
    return family(loc, scale)


def _read_multivariate(name, distribution):
    mean = read_finite(f"The mean of {name}", distribution.mean)
    cov = read_finite(f"The cov of {name}", distribution.cov)
    size = mean.shape[-1] if mean.ndim else 0
    if size == 0 or cov.shape[-2:] != (size, size):
        raise ValueError(
            f"The mean of {name} must have shape (n_samples, n_dimensions) and its cov "
            "(n_samples, n_dimensions, n_dimensions); "
            f"got shapes {mean.shape} and {cov.shape}."
        )
    _check_moderate(f"The mean of {name}", mean)
    _check_moderate(f"The cov of {name}", cov)
    cov = _check_symmetric(f"The cov of {name}", cov)
    root = _take_root(f"The cov of {name}", cov)
    shape = _broadcast_shapes(name, "mean and cov", mean.shape[:-1], cov.shape[:-2])
    return MultivariateNormals(
        np.broadcast_to(mean, (*shape, size)),
        np.broadcast_to(cov, (*shape, size, size)),
        np.broadcast_to(root, (*shape, size, size)),
    )


def _check_symmetric(name, cov):
    transpose = np.swapaxes(cov, -1, -2)
    difference = np.abs(cov - transpose).max(axis=(-2, -1))
    is_symmetric = difference <= _ASYMMETRY * np.abs(cov).max(axis=(-2, -1))
    if not np.all(is_symmetric):
        place = np.argwhere(~is_symmetric)[0]
        raise ValueError(
            f"{name} must be symmetric; entries that should be equal differ by "
            f"{difference[tuple(place)]:.6g}{show_place(place)}."
        )
    return (cov + transpose) / 2


def _take_root(name, cov):
    """Cholesky factors, which only positive definite matrices have."""
    try:
        return np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(cov)[..., 0]
        place = np.unravel_index(smallest.argmin(), smallest.shape)
        raise ValueError(
            f"{name} must be positive definite; the smallest eigenvalue is "
            f"{smallest[place]:.6g}{show_place(place)}."
        ) from None


def _expand(name, family, n_samples):
    """One distribution for each row."""
    shape = family.shape
    if shape not in ((), (n_samples,)):
        raise ValueError(
            f"{name} must hold one distribution for each of the {n_samples} rows, or a single one; "
            f"got parameters of shape {shape}."
        )
    return family.broadcast((n_samples,))


# --------------------------------------------------------------------------- mixtures


def _read_mixture(name, distribution, n_samples):
    if _are_listed(distribution.components):
        components = _stack_components(name, distribution.components, n_samples)
    else:
        components = _read_family(f"components of {name}", distribution.components)
        if len(components.shape) != 2 or components.shape[0] != n_samples:
            raise ValueError(
                f"The components of {name} must be a list of distributions, or one distribution "
                f"with parameters of shape ({n_samples}, n_components); got parameters of shape "
                f"{components.shape}."
            )
    for values in components:
        _check_moderate(f"All parameters of {name}", values)
    weights = _read_weights(f"The weights of {name}", distribution.weights, components.shape)
    return Mixtures(weights, components)


def _stack_components(name, components, n_samples):
    """Components side by side on a second axis."""
    labels = [f"component {number} of {name}" for number in range(len(components))]
    families = [
        _expand(label, _read_family(label, component), n_samples)
        for label, component in zip(labels, components, strict=True)
    ]
    kinds = {type(family).__name__ for family in families}
    if len(kinds) != 1:
        raise ValueError(
            f"The components of {name} must be distributions of one kind; "
            f"got {', '.join(sorted(kinds)) or 'none'}."
        )
    shapes = {tuple(field.shape for field in family) for family in families}
    if len(shapes) != 1:
        raise ValueError(f"The components of {name} must have one number of dimensions.")
    return type(families[0])(*(np.stack(fields, axis=1) for fields in zip(*families, strict=True)))


def _read_weights(name, weights, shape):
    weights = read_finite(name, clip_rounding(read_numbers(name, weights)))
    if weights.shape not in (shape, shape[1:]):
        raise ValueError(
            f"{name} must have shape {shape}, a weight for each row and component, or "
            f"{shape[1:]}; got shape {weights.shape}."
        )
    weights = np.broadcast_to(weights, shape)
    check_everywhere(name, weights, weights >= 0, "not be negative")
    sums = weights.sum(axis=1)
    check_everywhere(name, sums, np.abs(sums - 1) <= ROW_SUM_TOLERANCE, "sum to 1 in each row")
    return weights / sums[:, None]


# --------------------------------------------------------------------------- arrays


def _check_moderate(name, values):
    is_moderate = np.abs(values) <= LARGEST
    check_everywhere(name, values, is_moderate, f"be at most {LARGEST:g} in absolute value")


def _broadcast_shapes(name, what, shape, other_shape):
    try:
        return np.broadcast_shapes(shape, other_shape)
    except ValueError:
        raise ValueError(
            f"{name} must have {what} for the same rows; got shapes {shape} and {other_shape} "
            "of rows."
        ) from None
