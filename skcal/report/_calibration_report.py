"""The function that reports on given probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from skcal._tools._typing import ArrayLike, RandomState
from skcal.report._compute import compute_report
from skcal.report._report import CalibrationReport


def calibration_report(
    y_true: ArrayLike,
    y_proba: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    groups: Any = None,
    features: Any = None,
    clusters: ArrayLike | None = None,
    reduction: Literal["auto", "confidence", "multilabel"] = "auto",
    scale: Literal["probability", "logit"] = "probability",
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
    clinical: bool = False,
    n_resamples: int = 499,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> CalibrationReport:
    r"""Report whether a model is calibrated, where it is wrong, and whether it is worth repairing.

    The model must not have been fitted on the rows. These must be independent, or of independent
    clusters.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,), or (n_samples, n_labels)
        True labels, or an indicator for ``reduction="multilabel"``, whose missing entries (NaN or
        None) are left out.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes), or dict
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1. A dictionary holds such arrays of several models, by name. With
        ``reduction="multilabel"`` a column for each label, or a list with an array of shape
        (n_samples, 2) for each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights that do not depend on outcomes, see :ref:`weights-in-inference`.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    groups : data frame, dict, Groups or array-like, default=None
        Groups for each of which the model should be right: a table, of whose columns groups are
        made, a label for each row, or a matrix of memberships, see
        :func:`skcal.inference.audit_groups`. None looks at all rows together alone.
    features : data frame, dict of array-like, or array-like, default=None
        Features to look for rows in which the model is wrong, see
        :func:`skcal.inference.audit_features`. None looks for none.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    reduction : {"auto", "confidence", "multilabel"}, default="auto"
        What measures and tests read: "auto" the probability of the positive label, or the
        confidence if there are more than two classes; "confidence" the largest probability of
        each row. Proper scores and recalibration take whole rows. "multilabel" reports on each
        label of an indicator, at a level that holds for all of them at once; `groups`,
        `features` and `clinical` are for one label at a time.
    scale : {"probability", "logit"}, default="probability"
        On which scale SmoothECE and the diagram smooth and the diagram is drawn. "logit" tells rare
        events apart.
    confidence_level : float, default=0.95
        Level of intervals and bounds; tests reject at 1 - confidence_level, in (0, 1).
    tolerance : float, default=0.05
        Average error, in units of probability, that still counts as calibrated, or nearly so where
        it is detectable. In (0, 1).
    clinical : bool, default=False
        Whether to add a section for a clinical paper: observed to expected events, calibration in
        the large and slope with their tests, and the integrated calibration index with E50, E90
        and Emax, all with intervals. It needs the probability of one label.
    n_resamples : int, default=499
        Number of draws of labels, from 2 to 2^24; more for tests that share the level, so that the
        smallest p-value times its factor still is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over parts of each model, four and one each for `clinical`, `groups` and
        `features`: True for a tqdm bar (tqdm must be installed), or a function that takes an
        iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of draws, halves and folds. All models get the same, and what a report shows of a
        measure is what its function says with the same integer.

    Returns
    -------
    CalibrationReport
        Prints as text, shows as HTML in notebooks, and has ``verdict``, ``to_frame()``,
        ``to_dict()``, ``to_html()`` and ``models``.

    Raises
    ------
    ValueError
        If an argument is invalid, if `y_true` holds soft labels, or if `sample_weight` is that of
        :func:`skcal.survival.at_horizon`.

    See Also
    --------
    CalibrationReport.from_estimator : The same for fitted classifiers.
    skcal.inference.calibration_test : The exact test, with other statistics and groups.
    skcal.inference.audit_groups : The audit of groups, with more options.
    skcal.inference.audit_features : The search in features, with more options.
    skcal.diagrams.ReliabilityDisplay : The diagram, in full size.

    Notes
    -----
    **Verdict.** Tests ask whether there is an error beyond chance; bounds L and U say how small and
    how large it may be on average, as a mean of :math:`|P(y \mid v) - v|`. Models are rejected if
    a test rejects at 1 - `confidence_level`.

    1. The model is rejected and L is above the tolerance: what is wrong. The tolerance of the
       probability of one label is at most a quarter of the mean probability of the rarer label:
       where 1 % are predicted an error of 5 points would be five times as much.
    2. Otherwise, if U is above the tolerance: "inconclusive". The sentence says whether no error is
       found, or one whose size the rows leave open.
    3. Otherwise, if probabilities say no more than the base rate: "uninformative".
    4. Otherwise "nearly calibrated" if the model is rejected, else "calibrated".

    **Tests.** Errors are looked for on five scales, which share the level. Three of them, lines,
    bins and cumulative sums, are read by the exact test of
    :func:`~skcal.inference.calibration_test` with its default statistic; with more than two classes
    half of their part is for a second such test, of the probabilities of all classes
    (``reduction="classwise"``). One is read by the fine test: the sum over cells of :math:`R^2 /
    W`, with the sum R of the weighted residuals and the sum W of the weights of a cell, is compared
    with that of labels that are drawn from the predictions. Values of five effective rows or more
    are cells of their own, and so are all others if these hold less than 5 % of the rows, unless
    that gives more than 2000 of them; other neighbouring predictions share cells, as many as the
    power 2/3 of the effective number of their rows. The last is the same test of larger cells, of
    which there are as many as the square root of the effective number of rows. Rows without company
    are left out. A p-value counts as often as its part of the level fits into the level
    (Bonferroni).

    **What is wrong.** Where measures read the confidence, "over-confident" or "under-confident" if
    the interval of mean confidence minus accuracy is above or below 0. Where they read the
    probability of one label,

    - "too high" or "too low" if the interval of the mean residual, prediction minus outcome, is
      above or below 0;
    - "over-confident" or "under-confident" if both slopes of the outcomes, on predictions and of
      log odds on log odds, have intervals below or above 1, and the interval of mean confidence
      minus accuracy is not on the other side of 0; without a slope of log odds it must be on the
      same side.

    It must be at least half of the error: the root mean square of what a shift changes (for
    confidences as well), or of a stretch after it, against the root mean square of the error in as
    many cells as the cube root of the number of rows, or its lower bound in the cells of the fine
    test. Shift and stretch are those of probabilities or of log odds, whichever is more. Of answers
    the gap must be half of the average error of the worst label, too, if the test of all classes
    rejects. In all other cases a model is "miscalibrated", and the sentence says what is clear.

    Since two directions are looked at, each interval has 1 - `confidence_level` halved. If there
    are both, that one is named which takes more off the log loss: a shift of all log odds, or a
    stretch after it. (Rows whose log odds are infinite are left out; where that leaves no
    likelihood, it is the Brier score, and shift and stretch of probabilities.)

    **Average error.** SmoothECE [1]_ without chance, on the scale of probabilities whatever `scale`
    is, :math:`d = \sqrt{(T^2 - T_0^2)_+}` with T the value and :math:`T_0` its mean over labels
    that are drawn from the predictions, because independent errors add up in squares; or the size
    of the mean residual, if that is larger. Its upper bound U solves

    .. math:: U = d + z \sqrt{\frac{1}{n} \bigl(\overline{v (1 - v)} + U\bigr)}

    with the normal quantile z of `confidence_level`: d varies by no more than a mean of outcomes,
    and an error of U adds U to their variance at most. With weights 1/n is the sum of the squares
    of their shares. It is an approximation. For predictions of 0 and 1 that all come true it is
    :math:`z^2 / n`, about three in n.

    SmoothECE smooths over a width that is its own value, and errors of opposite sign at nearer
    predictions cancel. Therefore U is at least

    - where all cells of the fine test are single values, the bound of these;
    - if the model is rejected, the bound of the larger cells; if the fine test rejects it, of
      single values and of larger cells of the others;
    - that of the class with the largest SmoothECE or mean residual.

    The bound of cells is the upper bound of the root mean square of the error, or, if that is
    smaller, the bound above with the mean size of the cells' residuals for d: both are above the
    mean size of the error.

    **At least.** L is 0 if the model is not rejected. Else one half of the rows chooses a sign for
    each of the larger cells (or values), that of the sum of its residuals there; or signs of pairs
    of cells, pairs of pairs and so on, at the resolution at which the sizes of these sums exceed
    most what chance gives to them. The mean of sign times residual over the other half estimates
    something that is no larger than the mean of :math:`|P(y \mid v) - v|`, without the bias of a
    maximum. With C the mean over both directions and five random halvings,

    .. math:: L = C - m, \qquad m^2 = z^2 \Bigl(1 + \frac{2}{\pi}\Bigr)
              \Bigl(\hat\sigma^2 + \frac{m}{n}\Bigr),

    with the standard error :math:`\hat\sigma` of a mean over all rows: halves that choose for each
    other vary together, with a correlation of 2/π at most. L is at least as far from 0 as the
    intervals of the mean residual and of mean confidence minus accuracy, which are no larger than
    the mean size of the error either. With more than two classes it is the larger of two such
    bounds, each at half the level: of the answer and, if the test of all classes rejects, of the
    worst label, at a level that is divided by the number of labels. If L is above d, the average
    error is C, or mean confidence minus accuracy.

    The sentence says what the average error is, and on which scale errors may cancel. With
    residuals r, :math:`s = \sum w^2 r^2 / W` and :math:`D = W - \sum w^2 / W` of a cell the mean
    square is :math:`(\sum R^2 / W - \sum s) / \sum D`, without bias; its bounds come from the
    non-central chi-squared law with :math:`(\sum s)^2 / \sum s^2` degrees of freedom.

    **Several labels** share the level: p-values, but those of single tests, are multiplied by the
    number of labels, and bounds and intervals have the level that this leaves to each (Bonferroni).
    That holds however the labels of a row depend on each other.

    **Several models** are compared by :func:`~skcal.inference.compare_calibration`: the report
    names pairs whose adjusted p-values are at most 1 - `confidence_level`. The errors of its table,
    and their differences, are SmoothECE without chance on the scale of probabilities.

    **Intervals** of measures are those of :func:`~skcal.inference.confidence_interval`, which hold
    near calibration and far from it.

    **Direction.** Intervals of gaps and of the slope are normal approximations, that of the slope
    of log odds is that of :func:`~skcal.inference.cox_recalibration`; it needs predictions between
    0 and 1.

    **Where.** Regions are intervals I of predictions with a score of

    .. math:: \frac{|\sum_{i \in I} w_i (y_i - v_i)|}{\sqrt{V_I}} - \sqrt{2 \log(e V / V_I)},
        \qquad V_I = \max\Bigl(\sum_{i \in I} w_i^2 v_i (1 - v_i),
        \sum_{i \in I} w_i^2 (y_i - v_i)^2\Bigr),

    V for all rows, above the quantile of the largest score of `n_resamples` samples with labels
    that are drawn from the predictions: a multiscale statistic [2]_, which looks at intervals of
    all lengths, of about 128 cells of equal widths and of equal numbers of rows. The best
    intervals that do not overlap are shown, neighbours of the same sign as one. With
    `confidence_level` none of them is an interval of calibrated rows, whatever other rows do.
    Nothing is smoothed or assumed to increase. Regions are shown if a test of what measures read
    rejects.

    **Diagram.** Where such a test rejects, the band has `confidence_level` at each prediction by
    itself, and shows the error. Elsewhere, if rows are independent and count alike, it is that of
    :func:`~skcal.inference.isotonic_band`, which holds the whole curve if that increases: of the
    narrower one some points would leave the diagonal by chance.

    **Scores and recalibration.** :class:`~skcal.recalibration.AutoRecalibration` is fitted on four
    fifths of the rows, five times, and applied to the other fifth; of 50,000 rows and more on each
    half. What it takes off a score is miscalibration, what is left is refinement, see
    :func:`~skcal.refinement.refinement_decomposition`: nothing of it is biased upwards. The
    interval of the gain is the normal one of paired differences. Two labels need two rows each.
    The log loss is that of scikit-learn, where a probability counts as 2.2e-16 at least (in
    float32 1.2e-7): a label that comes true with probability 0 costs 36.

    **Base rate.** Probabilities are informative if the true labels get more of them than after a
    random permutation of the labels. The mean and the variance over all permutations are exact;
    the p-value approximates their distribution by a normal one.

    **Clusters.** Tests, intervals and audits are those of clusters, see :ref:`clusters`. The fine
    test, that of cells and regions change the signs of the residuals of whole clusters, as
    :func:`~skcal.inference.calibration_test` does; where that does not hold, these tests choose
    single rows and there are no regions. In s, D and the degrees of freedom of the mean square,
    sums over the rows of a cluster in a cell stand for rows. 1/n in U has the design effect of the
    mean residual as a factor, 1 at least. Intervals of gaps, slopes, scores and gains come from how
    sums vary between clusters (jackknife, Student's quantiles), folds keep clusters together, and
    what chance alone gives to a measure is its mean over signs. The sentence says so where tests of
    independent rows would have said the opposite.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`
    .. [2] L. Dümbgen, V. G. Spokoiny (2001). Multiscale testing of qualitative hypotheses. Annals
       of Statistics 29. :doi:`10.1214/aos/996986504`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.report import calibration_report
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(2000)
    >>> y_true = (rng.random(2000) < 0.3 + 0.4 * y_proba).astype(int)
    >>> report = calibration_report(y_true, y_proba, random_state=0)
    >>> report.verdict
    'over-confident'
    >>> report.models[None].recalibration.gain.low > 0
    True
    """
    computed = compute_report(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        groups=groups,
        features=features,
        clusters=clusters,
        reduction=reduction,
        scale=scale,
        confidence_level=confidence_level,
        tolerance=tolerance,
        clinical=clinical,
        n_resamples=n_resamples,
        n_jobs=n_jobs,
        progress=progress,
        random_state=random_state,
    )
    return CalibrationReport(*computed)
