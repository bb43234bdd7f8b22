"""Few labels and many verdicts: numbers that stand for the labels of all rows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._few_labels import read_few_labels, read_proxy_weight
from skcal._numerics.inference._few_labels import make_targets
from skcal._tools._typing import ArrayLike


def prediction_powered_targets(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    proxy: ArrayLike | None = None,
    *,
    sampling_probability: float | ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    proxy_weight: float | ArrayLike | Literal["auto"] = "auto",
) -> np.ndarray:
    r"""Numbers that stand for the labels of all rows, where few are labelled and all are judged.

    For given predictions their mean is the probability of the event, however bad the judge is. So
    all functions of predicted means take them as targets, and probabilities as predictions.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels; NaN, None or masked where there is none.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities.
    proxy : array-like of shape (n_samples,) or (n_samples, n_proxies), default=None
        Verdicts of a judge, or of several: labels of `y_true`, or probabilities of the positive
        label. NaN, None or masked where there is none, which must not depend on whether there is a
        label. None means that there is no judge.
    sampling_probability : float or array-like of shape (n_samples,), default=None
        Probability that each row was to be labelled, above 0: that of its stratum, or what
        :func:`choose_rows_to_label` gives. None means a simple random sample of the rows.
    pos_label : int, float, bool or str, default=None
        The label that `y_proba` is the probability of. Needed unless labels are {0, 1} or {-1, 1}.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`; the labels of both classes for a single column, that of
        the event last.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, by which the weight of the judge is chosen.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    proxy_weight : "auto", float or array-like of shape (n_proxies,), default="auto"
        :math:`\lambda`, how much verdicts count: 0 forgets them, 1 takes them as they are. "auto"
        makes variances small; it is found without the label, or the cluster, that it is used for.

    Returns
    -------
    ndarray of shape (n_samples,)
        Real numbers, also below 0 and above 1; the labels themselves where all rows have one.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no row is labelled, or none of those with a verdict.

    Warns
    -----
    UserWarning
        If labelled rows differ from all rows by more than a simple random sample does, if there are
        far fewer or more labels than `sampling_probability` says, if verdicts agree with all
        labels, or if there are fewer than 10 clusters.

    See Also
    --------
    prediction_powered_calibration : What these tell, with intervals for few disagreements.
    choose_rows_to_label : Which rows to label.
    audit_mean_groups : Groups in which probabilities are wrong; takes these targets.
    skcal.survival.pseudo_values : The same for censored rows.

    Notes
    -----
    With prediction :math:`p_i`, verdict :math:`f_i`, label :math:`y_i`, which is seen where
    :math:`s_i = 1`, and the probability :math:`\pi_i` to see it, the target is

    .. math::
        t_i = p_i + g_i + \frac{s_i}{\pi_i} (y_i - p_i - g_i), \qquad
        g_i = a + \lambda (f_i - p_i),

    whose mean given all but :math:`s_i` is :math:`y_i`, whatever g is [1]_ [2]_. A number as
    `proxy_weight` has a = 0: 0 makes it the estimate of Horvitz and Thompson, 1 the difference
    estimator of surveys. "auto" takes a and :math:`\lambda` from a regression of the labelled
    :math:`y - p` on :math:`f - p`, with the weights :math:`w^2 (1 / \pi - 1) / \pi` that make the
    variance of the weighted mean smallest, without row i or its cluster. Several proxies are
    several regressors. A missing verdict counts as one that is equal to the prediction.

    The variance of sums of targets is seen in the targets themselves, so that functions of means
    give valid intervals and tests. That holds if labels and verdicts disagree in some rows. Where a
    judge was right in 99 % of 4000 rows, intervals of :func:`actual_expected_ratio` covered in 74 %
    of 400 samples with 50 labels and 10 % events, and in 86 % with 100; with 1 % events and 100
    labels in 49 %, and the sum of the targets was negative in 16 %.
    :func:`prediction_powered_calibration` counts disagreements that were not seen.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan, T. Zrnic (2023).
       Prediction-powered inference. Science 382. :doi:`10.1126/science.adi6000`
    .. [2] A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023). PPI++: Efficient prediction-powered
       inference. :doi:`10.48550/arXiv.2311.01453`

    Examples
    --------
    Two of four answers have a label, and the judge is taken at its word where there is none:

    >>> import numpy as np
    >>> from skcal.inference import prediction_powered_targets
    >>> prediction_powered_targets(
    ...     [1, None, 0, None], [0.8, 0.6, 0.4, 0.2], [1, 1, 1, 0], proxy_weight=1
    ... )
    array([ 1.,  1., -1.,  0.])
    """
    rows, present = read_few_labels(
        y_true,
        y_proba,
        proxy,
        sampling_probability=sampling_probability,
        pos_label=pos_label,
        labels=labels,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    targets = np.zeros(len(present))
    targets[present], _ = make_targets(rows, read_proxy_weight(proxy_weight, rows))
    return targets
