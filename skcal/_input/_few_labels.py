"""Rows of which few are labelled, and which all have verdicts of a judge."""

import numpy as np
import pandas as pd

from skcal._input._categories import list_categories
from skcal._input._clusters import read_clusters, sort_clusters
from skcal._input._reduction import check_predictions
from skcal._input._validation import (
    check_number,
    check_option,
    clip_rounding,
    is_inside,
    show_labels,
)
from skcal._numerics.inference._few_labels import PartlyLabelled
from skcal._tools._arrays import as_float64, read, read_labels, read_numbers
from skcal._tools._warnings import warn

# Labelled rows are no sample of all rows if means are further apart, in standard errors.
_FAR = 5.0
# A single label tells nothing of this.
_FEWEST = 2
_ROUNDING = 1e-9
# Texts that stand for nothing, as those that NumPy makes of NaN and None.
_CODES = {"", "nan", "NaN", "None", "<NA>"}


def read_few_labels(
    y_true,
    y_proba,
    proxy,
    *,
    sampling_probability=None,
    pos_label=None,
    labels=None,
    sample_weight=None,
    clusters=None,
):
    """`PartlyLabelled` rows, and a mask of those whose weight is above 0: the others are left out.

    Labels may be NaN, None, or masked; so may verdicts.
    """
    values, is_labelled = _fill("y_true", y_true)
    if labels is None:
        _refuse_codes(values, _CODES)
    categories = list_categories(y_true)
    if categories is not None:  # whose order the columns may have
        values = pd.Series(pd.Categorical(values, categories=categories))
    try:
        rows = check_predictions(
            values, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
        ).to_numpy()
    except ValueError:
        if _list_scalars(values) == {-1, 0, 1}:
            _refuse_codes(values, {-1})
        raise
    if rows.is_multiclass:
        raise ValueError(
            "y_proba must be of one event, such as that an answer is right; got "
            f"{rows.proba.shape[1]} columns. pos_label= names a class."
        )
    predictions = as_float64(rows.proba)
    if predictions.ndim == 2:
        predictions = predictions[:, rows.positive_column]
    n_rows = len(predictions)
    others = np.unique(read_labels("y_true", values) if labels is None else np.asarray(labels))
    verdicts, has_verdict = _read_proxies(proxy, rows, n_rows, others)
    if is_labelled.all() and len(has_verdict) and not has_verdict.mean(axis=1).min() > 0.5:
        raise ValueError(
            "y_true has all labels, and proxy few verdicts. Are y_true and proxy swapped?"
        )
    probability = _read_probability(sampling_probability, is_labelled, clusters)
    residuals = np.where(is_labelled, as_float64(rows.target) - predictions, 0.0)
    opinions = np.where(has_verdict, verdicts - predictions, 0.0)
    weights = np.ones(n_rows) if rows.weights is None else as_float64(rows.weights)
    present = weights > 0
    _refuse_nothing_known(is_labelled & present, has_verdict)
    if sampling_probability is None and clusters is None:
        _compare_with_labelled(is_labelled, predictions, verdicts, has_verdict)
    _warn_of_agreement(is_labelled, residuals, opinions, has_verdict)
    member = None if clusters is None else read_clusters(clusters, present)
    found = PartlyLabelled(
        residuals[present],
        is_labelled[present],
        predictions[present],
        opinions[:, present],
        has_verdict[:, present],
        probability[present],
        weights[present] / weights.max(),
        member,
    )
    return found, present


def arrange_clusters(rows):
    """Rows that stand for clusters of copies, or in an order that no name of a cluster decides."""
    rows = rows.unite_copies()
    if rows.member is None:
        return rows
    given = rows.is_labelled, rows.predictions, *rows.opinions, *rows.has_verdict, rows.probability
    columns = np.stack(given, axis=1).astype(np.float64)
    member, order = sort_clusters(rows.member, columns, rows.residuals, rows.weights)
    return rows.take(order)._replace(member=member)


def _refuse_codes(values, codes):
    """Refuse what stands for a missing label, which would be taken for a label."""
    found = sorted(codes & _list_scalars(values))
    if found:
        raise ValueError(
            "y_true must hold NaN or None for rows without a label, unless labels= names what it "
            f"holds; got {show_labels(np.array(found))}."
        )


def _list_scalars(values):
    items = np.asarray(values, dtype=object).ravel().tolist()
    return {value for value in items if isinstance(value, str | int | float)}


def _refuse_nothing_known(is_labelled, has_verdict):
    if not is_labelled.any():
        raise ValueError("y_true must hold labels of rows whose weight is above 0; got none.")
    for number, given in enumerate(has_verdict):
        if not (given & is_labelled).any():
            raise ValueError(
                "proxy must hold verdicts of labelled rows, too, which tell how good they are; "
                f"column {number} has none."
            )


def _fill(name, values):
    """Labels, the first one in place of those that are missing, and which are not."""
    if isinstance(values, np.ma.MaskedArray):
        found, is_missing = values.data, np.ma.getmaskarray(values)
    else:
        if isinstance(values, list | tuple):
            values = [None if value is np.ma.masked else value for value in values]
        found = read(name, values)
        if isinstance(found, list | tuple):
            found = pd.Series(found, dtype=object)
        found = np.asarray(found)
        is_missing = np.zeros(found.shape, dtype=bool)
    if found.ndim == 2 and found.shape[1] == 1:
        found, is_missing = found[:, 0], is_missing[:, 0]
    if found.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label for each row; got shape {found.shape}."
        )
    if found.dtype.kind in "Of":
        is_missing = is_missing | pd.isna(found)
    if is_missing.all():
        raise ValueError(f"{name} must hold labels of some rows; all {len(found)} are missing.")
    if is_missing.any():
        found = found.copy()
        found[is_missing] = found[~is_missing][0]
    return found.tolist() if found.dtype.kind == "O" else found, ~is_missing


def _read_proxies(proxy, rows, n_rows, others):
    """Verdicts as probabilities, and which are given: a row for each judge."""
    if proxy is None:
        return np.zeros((0, n_rows)), np.zeros((0, n_rows), dtype=bool)
    columns = _list_columns(proxy)
    pairs = [_read_proxy(column, rows, others) for column in columns]
    for verdicts, _ in pairs:
        if len(verdicts) != n_rows:
            raise ValueError(
                f"y_true and proxy must have the same length; got {n_rows} and {len(verdicts)}."
            )
    return tuple(map(np.array, zip(*pairs, strict=True)))


def _list_columns(proxy):
    if not isinstance(proxy, np.ma.MaskedArray | list | tuple):  # what is masked is missing
        proxy = read("proxy", proxy)
    if hasattr(proxy, "columns"):
        return [proxy[name] for name in proxy.columns]
    if isinstance(proxy, np.ndarray) and proxy.ndim == 2:
        return list(proxy.T)
    if isinstance(proxy, list | tuple) and len(proxy) and np.ndim(proxy[0]) == 1:
        if len({np.size(row) for row in proxy}) > 1:
            raise ValueError("proxy must have as many verdicts in each row.")
        return list(zip(*proxy, strict=True))
    return [proxy]


def _read_proxy(column, rows, others):
    """Whether labels are the positive one, and probabilities as they are; and which are given.

    Of a class against the rest, `others` are the labels that verdicts may be if they exceed [0, 1].
    """
    values, is_given = _fill("proxy", column)
    values = read_labels("proxy", values)
    positive, known = rows.positive_label, rows.labels
    if positive is not None:
        if known is None:  # all of y_true are the positive one
            known = np.unique(values) if isinstance(positive, str) else np.array([positive])
        known = np.asarray(known)
        is_alike = (known.dtype.kind == "U") == (values.dtype.kind == "U")
        if is_alike and np.isin(values, known).all():
            return 1.0 * (values == positive), is_given
    if values.dtype.kind in "biuf":
        numbers = clip_rounding(as_float64(values))
        if is_inside(numbers):
            return numbers, is_given
        is_known = others.dtype.kind in "biuf" and np.isin(values, others).all()
        if positive is not None and is_known:
            return 1.0 * (values == positive), is_given
    known = np.array([0, 1]) if known is None else known
    known = others if positive is not None and len(others) > 2 else known
    raise ValueError(
        "proxy must hold probabilities in [0, 1], or the labels of y_true, "
        f"{show_labels(known)}; got {show_labels(np.unique(values))}."
    )


def _read_probability(probability, is_labelled, clusters):
    """The probability that a row was to be labelled, above 0, for each row."""
    n_rows, n_labels = len(is_labelled), int(is_labelled.sum())
    if probability is None:
        return np.full(n_rows, n_labels / n_rows)
    probability = read("sampling_probability", probability)
    if np.ndim(probability) == 0:
        value = check_number("sampling_probability", probability, 0)
        values = np.full(n_rows, value)
    else:
        values = as_float64(read_numbers("sampling_probability", probability))
        if values.shape != (n_rows,):
            raise ValueError(
                f"sampling_probability must be a number, or one for each of the {n_rows} rows; "
                f"got shape {values.shape}."
            )
    is_bad = ~((values > 0) & (values <= 1))
    if is_bad.any():
        row = np.flatnonzero(is_bad)[0]
        raise ValueError(
            "sampling_probability must be above 0 and at most 1, or nothing tells of rows that "
            f"are never labelled; got {values[row]} at row {row}."
        )
    if (values[~is_labelled] == 1).any():
        row = np.flatnonzero(~is_labelled & (values == 1))[0]
        raise ValueError(f"sampling_probability is 1 at row {row}, which has no label.")
    chance = np.sqrt((values * (1 - values)).sum())
    if clusters is None and abs(n_labels - values.sum()) > _FAR * chance + 1:
        warn(
            f"sampling_probability sums to {values.sum():.0f}, but {n_labels} rows are labelled: "
            "these are hardly the probabilities that labels were drawn by."
        )
    return values


def _compare_with_labelled(is_labelled, predictions, verdicts, has_verdict):
    """Warn where labelled rows differ from others by more than a simple random sample does."""
    n_labels, n_rows = int(is_labelled.sum()), len(is_labelled)
    if not _FEWEST <= n_labels < n_rows:
        return
    columns = [("predictions", predictions)]
    for values, given in zip(verdicts, has_verdict, strict=True):
        columns += [("verdicts", np.where(given, values, 0.0)), ("missing verdicts", ~given)]
    for name, values in columns:
        mean, own = values.mean(), values[is_labelled].mean()
        error = np.std(values) * np.sqrt((1 - n_labels / n_rows) / n_labels)
        if abs(own - mean) > _FAR * error + _ROUNDING:
            warn(
                f"Mean {name} of the labelled rows and of all rows are {own:.2g} and {mean:.2g}, "
                "too far apart for a simple random sample, which is assumed without "
                "sampling_probability: results are biased if labels were chosen."
            )
            return


def _warn_of_agreement(is_labelled, residuals, opinions, has_verdict):
    if is_labelled.all():
        return
    for opinion, given in zip(opinions, has_verdict, strict=True):
        rows = is_labelled & given
        if rows.sum() > 1 and (opinion[rows] == residuals[rows]).all():
            warn(
                f"proxy agrees with y_true in all {rows.sum()} rows that have both. Make sure that "
                "it was not made from the labels: of other rows it would then be wrong."
            )


def read_proxy_weight(proxy_weight, rows):
    """A weight for each judge; None for "auto", which needs two labels more than it fits numbers.

    These are a level, and one for each judge.
    """
    n_judges, n_labels = len(rows.opinions), int(rows.is_labelled.sum())
    if isinstance(proxy_weight, str):
        check_option("proxy_weight", proxy_weight, ("auto",))
        if not rows.is_labelled.all() and n_labels < n_judges + 3:
            raise ValueError(
                f'proxy_weight="auto" needs {n_judges + 3} labels or more; y_true has {n_labels}. '
                "A number, such as 0 or 1, needs none."
            )
        return None
    if np.ndim(proxy_weight) == 0:
        return np.full(n_judges, check_number("proxy_weight", proxy_weight, -np.inf))
    weights = as_float64(read_numbers("proxy_weight", proxy_weight))
    if weights.shape != (n_judges,) or not np.isfinite(weights).all():
        raise ValueError(
            f'proxy_weight must be "auto", a number, or one for each of {n_judges} proxies; got '
            f"{proxy_weight!r}."
        )
    return weights
