"""Calibration errors of binned predictions."""

import numpy as np

from skcal._numerics._binned import bin_index, gap_norm, quantile_edges, uniform_edges
from skcal._reduction import (
    average_over_samples,
    check_integer,
    check_number,
    check_option,
    reduce_to_samples,
)


def expected_calibration_error(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    n_bins=15,
    strategy="uniform",
    norm=1,
):
    r"""Expected calibration error (ECE): mean gap between predictions and outcomes over bins.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; with ``strategy="quantile"`` they are read as counts.
    pos_label : label, default=None
        The positive label; by default the last label. With more than two classes it
        selects that class against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "classwise"}, default="auto"
        How class probabilities become binary predictions: "confidence" takes the largest
        probability and whether its label came true, "classwise" averages over the classes one
        against the rest, "auto" takes the positive label of a binary problem (or `pos_label`)
        and the confidence otherwise.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal mass; equal predictions always share a bin.
    norm : float, default=1
        Exponent q >= 1 of the norm over bins; `numpy.inf` gives the maximum calibration error.

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    maximum_calibration_error : The largest gap.
    smooth_ece : A measure that does not depend on bins.

    Notes
    -----
    With :math:`P_b` the mass of bin b and :math:`g_b` the distance between its mean outcome and
    its mean prediction,

    .. math:: \mathrm{ECE}_q = \Bigl(\sum_b P_b\, g_b^q\Bigr)^{1/q}.

    Bins are closed on the right, the first one on both sides, exactly as in
    :func:`sklearn.calibration.calibration_curve`; empty bins count for nothing. The value
    depends on the bins, jumps when a prediction crosses an edge, and is biased upwards: a
    calibrated model shows about .04 at n = 1000 with 15 bins.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated
       probabilities using Bayesian binning. AAAI 29. :doi:`10.1609/aaai.v29i1.9602`
    .. [2] A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS 32.
       :doi:`10.48550/arXiv.1909.10155`

    Examples
    --------
    >>> from skcal.metrics import expected_calibration_error
    >>> expected_calibration_error([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.25
    """
    n_bins = check_integer("n_bins", n_bins, minimum=1)
    check_option("strategy", strategy, ("uniform", "quantile"))
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )

    def measure(sample):
        edges = _find_edges(sample, n_bins, strategy)
        mass, residual = sample.sum_by_bin(lambda v: bin_index(v, edges), n_bins)
        return gap_norm(mass, residual, norm)

    return average_over_samples(measure, samples)


def maximum_calibration_error(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    n_bins=15,
    strategy="uniform",
):
    r"""Maximum calibration error (MCE): largest gap between predictions and outcomes of a bin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; with ``strategy="quantile"`` they are read as counts.
    pos_label : label, default=None
        The positive label; by default the last label. With more than two classes it
        selects that class against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "classwise"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`expected_calibration_error`; "classwise" is the mean of the largest gaps.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal mass; equal predictions always share a bin.

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    expected_calibration_error : The mean gap; this is its norm for q = infinity.

    Notes
    -----
    :math:`\mathrm{MCE} = \max_b g_b` over the bins that hold any mass. A bin with few rows has
    a large gap by chance, so that the value grows with the number of bins.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated
       probabilities using Bayesian binning. AAAI 29. :doi:`10.1609/aaai.v29i1.9602`

    Examples
    --------
    >>> from skcal.metrics import maximum_calibration_error
    >>> maximum_calibration_error([0, 0, 1, 1], [0.1, 0.25, 0.5, 0.75], n_bins=2)
    0.25
    """
    return expected_calibration_error(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        n_bins=n_bins,
        strategy=strategy,
        norm=np.inf,
    )


def _find_edges(sample, n_bins, strategy):
    if strategy == "uniform":
        return uniform_edges(n_bins)
    ties = sample.sorted
    if len(ties.predictions) > 1 and sample.total_weight < 2:
        raise ValueError(
            'strategy="quantile" reads sample_weight as counts, which must sum to at least 2; '
            f"got {sample.total_weight:g}. Scale them to sum to the number of rows."
        )
    return quantile_edges(ties.predictions, ties.weight, n_bins)
