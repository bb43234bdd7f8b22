"""Every calibration measure as a scorer for scikit-learn's ``scoring=``.

A scorer of `sklearn.metrics.make_scorer` hands a binary measure one column of probabilities and
no labels, so that string labels and folds that miss a class go wrong. The scorers of this module
hand over the whole `predict_proba` matrix and the label of every column.
"""

import copy
from collections.abc import Mapping
from difflib import get_close_matches

import sklearn
from sklearn.metrics import check_scoring, make_scorer
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.metrics import get_scorer_names as get_sklearn_scorer_names
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from skcal._scoring import (
    add_labels,
    apply_measure,
    check_measure_options,
    find_measure,
    find_unseen_labels,
    name_measure,
    predict_labelled,
    takes_weights,
    warn_of_unseen_labels,
)
from skcal._validation import check_option
from skcal.metrics import MEASURES

__all__ = ["calibration_scorers", "get_scorer", "get_scorer_names", "make_calibration_scorer"]


def make_calibration_scorer(measure, *, greater_is_better=False, **options):
    """Make a scorer from a calibration measure.

    The scorer is called as ``scorer(estimator, X, y, sample_weight=None)``, and goes wherever
    scikit-learn takes ``scoring=``. It may be pickled, copied, and given metadata requests with
    ``set_score_request``.

    Parameters
    ----------
    measure : callable or str
        A measure of :mod:`skcal.metrics` or its name, or any function
        ``f(y_true, y_proba, *, labels=None, sample_weight=None, ...)`` that returns a float;
        `y_proba` has one column for each of `labels`.
    greater_is_better : bool, default=False
        Whether a larger value is better; where it is not, the score is minus the value.
    **options : dict
        Keyword arguments for `measure`, such as ``n_bins=20``, ``reduction="classwise"`` or
        ``pos_label="yes"``. Their names are checked at once.

    Returns
    -------
    callable
        The scorer; a larger score is better.

    Raises
    ------
    ValueError
        If `measure` is an unknown name.
    TypeError
        If `measure` has no argument `labels`, or none of the name of an option.

    See Also
    --------
    get_scorer : The same by name.
    calibration_scorers : Several scores from one call of ``predict_proba``.

    Notes
    -----
    `labels` are the ``classes_`` of the estimator. Where `y` holds a label that the estimator
    was not fitted on (a fold without one of the classes), the estimator gave that label
    probability 0: the scorer adds a column of zeros for it and warns. Such a row always counts
    as wrong in a measure of confidence. With ``reduction="auto"`` a fold counts as binary if
    its model and its test rows know two labels only; name the reduction to rule that out.

    Calibration errors are biased upwards in small folds. Alone they also prefer models that say
    nothing, since a constant base rate is calibrated: combine them with a proper score, see
    :func:`skcal.model_selection.calibrated_within_one_se`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.scorers import make_calibration_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorer = make_calibration_scorer("expected_calibration_error", n_bins=10)
    >>> scorer
    make_calibration_scorer(expected_calibration_error, n_bins=10)
    >>> cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=3).round(2)
    array([-0.08, -0.05, -0.05])
    """
    measure = find_measure(measure)
    _check_options(measure, options)
    return _CalibrationScorer(measure, bool(greater_is_better), options)


def get_scorer(name, **options):
    """Get a new scorer of a calibration measure by its name.

    Parameters
    ----------
    name : str
        ``"neg_"`` and the name of a measure, see :func:`get_scorer_names`.
    **options : dict
        Keyword arguments for the measure, such as ``n_bins=20`` or ``reduction="classwise"``.

    Returns
    -------
    callable
        A new scorer at every call; its score is minus the measure, so that larger is better.

    Raises
    ------
    ValueError
        If `name` is unknown.
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    make_calibration_scorer : What the scorer does, and scorers of other measures.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from skcal.scorers import get_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = get_scorer("neg_smooth_ece", reduction="confidence")
    >>> round(scorer(DummyClassifier().fit(X, y), X, y), 6) == 0
    True
    """
    if isinstance(name, str) and name in get_sklearn_scorer_names():
        raise ValueError(
            f"name must be one of skcal.scorers.get_scorer_names(); {name!r} is a scorer of "
            "scikit-learn. Get it with sklearn.metrics.get_scorer."
        )
    check_option("name", name, tuple(get_scorer_names()))
    return make_calibration_scorer(name.removeprefix("neg_"), **options)


def get_scorer_names():
    """Get the names of all calibration scorers.

    Returns
    -------
    list of str
        Sorted names for :func:`get_scorer` and :func:`calibration_scorers`.

    Examples
    --------
    >>> from skcal.scorers import get_scorer_names
    >>> "neg_smooth_ece" in get_scorer_names()
    True
    """
    return sorted(f"neg_{name}" for name in MEASURES)


def calibration_scorers(names):
    """Combine scorers into one that returns a dict of scores, for ``scoring=``.

    All calibration measures share one call of ``predict_proba``; the scorers of scikit-learn
    share their predictions among themselves.

    Parameters
    ----------
    names : list of str or mapping of str to scorers
        Names of :func:`get_scorer_names` and of `sklearn.metrics.get_scorer_names`, which
        become the names of the scores. A mapping gives the scores names of its own: its values
        are such names, or scorers with options from :func:`get_scorer`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``, which returns a dict of a float for
        each name. Its ``set_score_request`` sets the request of every member.

    Raises
    ------
    ValueError
        If a name is unknown or comes twice, or if there is none.

    See Also
    --------
    get_scorer : One scorer.
    skcal.model_selection.calibrated_within_one_se : Choose by two of the scores.

    Notes
    -----
    Where a fit fails, every score is the ``error_score`` of the search. Where a score fails,
    such as that of a candidate without ``predict_proba``, scikit-learn cannot do this for a
    scorer of several scores, and stops with a TypeError of its own: pass
    ``error_score="raise"`` to see the cause.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.scorers import calibration_scorers
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scoring = calibration_scorers(["neg_smooth_ece", "neg_log_loss"])
    >>> results = cross_validate(GaussianNB(), X, y, scoring=scoring, cv=3)
    >>> results["test_neg_smooth_ece"].round(2)
    array([-0.08, -0.05, -0.05])
    """
    if isinstance(names, Mapping):
        spec, scorers = dict(names), names
    else:
        if isinstance(names, str):
            raise ValueError(f"names must be a list of names; got the string {names!r}.")
        spec = list(names)
        for name in spec:
            if not isinstance(name, str):
                raise ValueError(
                    f"names must be a list of names, or a mapping; got {name!r} in it."
                )
        scorers = {name: name for name in spec}
        if len(scorers) < len(spec):
            raise ValueError(f"names must be distinct; got {spec}.")
    if not scorers:
        raise ValueError("names must hold at least one name; it is empty.")
    return _JointScorer(spec, {name: _find_scorer(scorer) for name, scorer in scorers.items()})


def _find_scorer(scorer):
    """New scorer of a name of skcal or scikit-learn, or a copy of the given one."""
    if callable(scorer):
        return copy.deepcopy(scorer)
    own, foreign = get_scorer_names(), get_sklearn_scorer_names()
    if scorer in own:
        return get_scorer(scorer)
    if scorer in foreign:
        return get_sklearn_scorer(scorer)
    near = get_close_matches(str(scorer), own + foreign, n=1, cutoff=0.5)
    raise ValueError(
        "names must come from skcal.scorers.get_scorer_names() or "
        f"sklearn.metrics.get_scorer_names(); got {scorer!r}."
        + (f" Did you mean {near[0]!r}?" if near else "")
    )


def _check_options(measure, options):
    """Raise a TypeError for options that `measure` cannot take."""
    for name, source in (("labels", "estimator.classes_"), ("sample_weight", "the call")):
        if name in options:
            raise TypeError(f"{name} cannot be an option of a scorer: it comes from {source}.")
    check_measure_options(measure, options)


class _CalibrationScorer:
    """Scorer of one measure: hands it the `predict_proba` matrix and the label of each column.

    The metadata request is kept by an inner scorer of scikit-learn, which is never called.
    """

    def __init__(self, measure, greater_is_better, options):
        self.measure = measure
        self.greater_is_better = greater_is_better
        self.options = dict(options)
        # scikit-learn's displays name their axis after the scorer.
        self.__name__ = ("" if greater_is_better else "neg_") + name_measure(measure)
        self._requests = make_scorer(
            measure,
            greater_is_better=greater_is_better,
            response_method="predict_proba",
            **options,
        )

    def __call__(self, estimator, X, y_true, *, sample_weight=None, **metadata):
        if sample_weight is not None:
            metadata["sample_weight"] = sample_weight
        proba, labels = _predict_proba(estimator, X, y_true)
        return self.score_predictions(y_true, proba, labels, metadata)

    def score_predictions(self, y_true, proba, labels, metadata):
        """Score of predictions that were made and matched with labels before."""
        value = apply_measure(self.measure, y_true, proba, labels, {**self.options, **metadata})
        return value if self.greater_is_better else -value

    def set_score_request(self, **requests):
        """Say which metadata the scorer takes, as for any scorer of scikit-learn."""
        self._requests.set_score_request(**requests)
        return self

    def get_metadata_routing(self):
        """Get the metadata request, as of any scorer of scikit-learn."""
        return self._requests.get_metadata_routing()

    def _accept_sample_weight(self):
        # scikit-learn asks every scorer when weights are passed and metadata routing is off.
        return takes_weights(self.measure)

    def __eq__(self, other):
        if not isinstance(other, _CalibrationScorer):
            return NotImplemented
        return (
            self.measure == other.measure
            and self.greater_is_better == other.greater_is_better
            and self.options == other.options
            and str(self.get_metadata_routing()) == str(other.get_metadata_routing())
        )

    def __hash__(self):
        return hash((self.measure, self.greater_is_better))

    def __repr__(self):
        sign = ", greater_is_better=True" if self.greater_is_better else ""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_calibration_scorer({name_measure(self.measure)}{sign}{options})"


class _JointScorer:
    """Scorer that returns a dict; all calibration scorers share one call of `predict_proba`."""

    def __init__(self, spec, scorers):
        self.scorers = scorers
        self.__name__ = "calibration_scorers"
        self._spec = spec
        self._own = {k: v for k, v in scorers.items() if isinstance(v, _CalibrationScorer)}
        others = {k: v for k, v in scorers.items() if k not in self._own}
        self._others = check_scoring(scoring=others) if others else None

    def __call__(self, estimator, X, y_true, **metadata):
        own, others = self._route(metadata)
        scores = {}
        if self._own:
            proba, labels = _predict_proba(estimator, X, y_true)
            for name, scorer in self._own.items():
                scores[name] = scorer.score_predictions(y_true, proba, labels, own[name])
        if self._others is not None:
            scores |= self._others(estimator, X, y_true, **others)
        return {name: scores[name] for name in self.scorers}

    def _route(self, metadata):
        """Metadata for every calibration scorer, and for all others together."""
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "score", **metadata)
            own = {name: routed[f"own {name}"]["score"] for name in self._own}
            return own, routed["others"]["score"] if self._others is not None else {}
        unweighted = {k: v for k, v in metadata.items() if k != "sample_weight"}
        own = {
            name: metadata if scorer._accept_sample_weight() else unweighted
            for name, scorer in self._own.items()
        }
        return own, metadata

    def set_score_request(self, **requests):
        """Set the request of every scorer that takes requests."""
        for scorer in self.scorers.values():
            if hasattr(scorer, "set_score_request"):
                scorer.set_score_request(**requests)
        return self

    def get_metadata_routing(self):
        """Get the router over the requests of all scorers."""
        mapping = MethodMapping().add(caller="score", callee="score")
        members = {f"own {name}": scorer for name, scorer in self._own.items()}
        if self._others is not None:
            members["others"] = self._others
        return MetadataRouter(owner=self).add(**members, method_mapping=mapping)

    def _accept_sample_weight(self):
        # Weights are handed on to the scorers that take them.
        return True

    def __repr__(self):
        return f"calibration_scorers({self._spec!r})"


def _predict_proba(estimator, X, y_true):
    """Probabilities of shape (n, K) and the K labels of their columns.

    Labels of `y_true` that the estimator does not know get columns of zeros.
    """
    proba, labels = predict_labelled(estimator, X)
    unseen = find_unseen_labels(y_true, labels)
    if unseen:
        warn_of_unseen_labels(estimator, unseen, stacklevel=3)
        proba, labels = add_labels(proba, labels, unseen)
    return proba, labels
