"""User input of a report: one model or several, checked and encoded."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._independent_rows import reduce_to_labelled_sample
from skcal._input._reduction import check_class_vectors, check_predictions
from skcal._input._validation import advise_single_label
from skcal._numerics.inference._cluster_signs import find_design_effect

_NO_OUTCOMES = (
    "y_true must hold labels; a report needs outcomes, and soft labels have none. Draw labels from "
    "them, or measure with skcal.metrics, which takes soft labels."
)


def list_models(y_proba):
    """Names and probabilities of the models; the name of a single one is None."""
    if not isinstance(y_proba, Mapping):
        return {None: y_proba}
    if not y_proba:
        raise ValueError("y_proba must hold at least one model; it is an empty dictionary.")
    for name in y_proba:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"y_proba must name its models by strings; got the name {name!r}.")
    return dict(y_proba)


class Clustering(NamedTuple):
    """What clusters make of rows."""

    n_rows: int
    n_clusters: int
    design_effect: float  # variance of the mean residual over that of independent rows
    effective_sample_size: float  # independent rows of equal weight that tell as much of it


class Problem:
    """Checked rows of one model, without those of weight zero.

    `proba` is float64; of two classes the last is the positive one. `codes` has the number of the
    column that came true, `names` the label of every column, and `resolution` is that of the floats
    that were given, the smallest step at 1. `member` has the number of the cluster
    of each row, None where rows are independent; a row may stand for its cluster. Of clusters,
    `clustering` and `plain` are a `Clustering` and the rows as if they were independent.
    """

    def __init__(
        self,
        proba,
        codes,
        weights,
        names,
        reduction,
        resolution,
        member=None,
        clustering=None,
        plain=None,
    ):
        self.proba, self.codes, self.weights = proba, codes, weights
        self.names, self.reduction, self.resolution = names, reduction, resolution
        self.member, self.clustering, self.plain = member, clustering, plain

    def cluster(self, member):
        """The same with clusters of these numbers, and rows that stand for their copies."""
        predictions, outcomes = self.read_rows()
        alone = float(1 / np.sum(self.shares**2))
        effect = find_design_effect(self.shares * (predictions - outcomes), member)
        own, rows, weights = unite_copies(member, self.proba, self.codes, self.weights)
        n_clusters, n_effective = int(member.max()) + 1, alone / max(effect, 1.0)
        return Problem(
            self.proba[rows],
            self.codes[rows],
            weights,
            self.names,
            self.reduction,
            self.resolution,
            own,
            Clustering(len(member), n_clusters, effect, n_effective),
            self if n_clusters < len(member) else None,
        )

    @property
    def is_binary(self):
        """Whether there are two classes."""
        return len(self.names) == 2

    @property
    def uses_confidence(self):
        """Whether measures read the largest probability."""
        return self.reduction == "confidence" or not self.is_binary

    @property
    def pos_label(self):
        """Label whose probability measures read, None where they read the confidence."""
        return None if self.uses_confidence else self.names[1]

    @property
    def has_other_classes(self):
        """Whether probabilities of other classes than the most probable one are to be judged."""
        return self.reduction == "auto" and not self.is_binary

    @property
    def data(self):
        """Labels and probabilities, as measures take them."""
        return self.codes, self.proba[:, 1] if self.is_binary else self.proba

    @property
    def keywords(self):
        """Keyword arguments that belong to the rows."""
        return {"sample_weight": self.weights, "labels": np.arange(len(self.names))}

    @property
    def clustered_keywords(self):
        """The same for what is inferred from the rows."""
        return self.keywords | {"clusters": self.member}

    @cached_property
    def sample(self):
        """The binary problem that measures read, as a Sample."""
        return reduce_to_labelled_sample(*self.data, **self.keywords, reduction=self.reduction)

    @cached_property
    def confidences(self):
        """Confidence in the predicted label and whether it came true, as a Sample."""
        return reduce_to_labelled_sample(*self.data, **self.keywords, reduction="confidence")

    @cached_property
    def shares(self):
        """Weights of the rows that sum to 1."""
        if self.weights is None:
            return np.full(len(self.codes), 1 / len(self.codes))
        return self.weights / self.weights.sum()

    def read_rows(self):
        """Predictions and outcomes of `sample`."""
        return next(self.sample.chunks(size=len(self.codes)))[:2]

    def read_confidences(self):
        """The same of `confidences`."""
        return next(self.confidences.chunks(size=len(self.codes)))[:2]

    def describe_accuracy(self):
        """How often the predicted label comes true, and the share of the most usual one."""
        _, successes = self.read_confidences()
        answers = np.bincount(self.proba.argmax(axis=1), self.shares)
        return {"accuracy": float(self.shares @ successes), "usual": float(answers.max())}

    @property
    def has_equal_weights(self):
        """Whether all rows count alike."""
        return self.weights is None or bool((self.weights == self.weights[0]).all())


def read_problems(y_true, y_proba, *, reduction, **data):
    """A `Problem` for each model, or for each label of an indicator, by name."""
    if reduction == "multilabel":
        return _read_labels(y_true, y_proba, **data)
    return {
        name: read_problem(y_true, proba, name, reduction=reduction, **data)
        for name, proba in list_models(y_proba).items()
    }


def read_problem(
    y_true, y_proba, name, *, sample_weight, pos_label, labels, reduction, clusters=None
):
    """Check the input of one model, whose name goes into the messages."""
    refuse_censoring_weights(sample_weight)
    names = ("y_true", "y_proba" if name is None else f"y_proba[{name!r}]")
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    vectors = check_class_vectors(y_true, y_proba, **data, names=names)
    vectors.refuse_one_hot()
    if vectors.target.ndim == 2:
        raise ValueError(_NO_OUTCOMES)
    kept = vectors.drop_absent()
    weights = None if kept.weights is None else kept.weights.astype(np.float64)
    proba = kept.proba.astype(np.float64, copy=False)
    names = _name_columns(vectors)
    problem = Problem(proba, kept.target, weights, names, reduction, vectors.resolution)
    if clusters is None:
        return problem
    present = np.ones(vectors.n_rows, dtype=bool)
    if vectors.weights is not None:
        present = vectors.weights > 0
    return problem.cluster(read_clusters(clusters, present))


def _read_labels(y_true, y_proba, *, sample_weight, pos_label, labels, clusters=None):
    """A `Problem` for each label of an indicator, by name, of the rows in which it is known."""
    refuse_censoring_weights(sample_weight)
    if isinstance(y_proba, Mapping):
        raise ValueError(
            "y_proba must be that of one model for reduction='multilabel'; got a dictionary. Make "
            "a report of each model."
        )
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    rows = check_predictions(
        y_true, y_proba, **data, reduction="multilabel", for_reduction=True
    ).to_numpy()
    names = range(rows.target.shape[1]) if rows.labels is None else rows.labels
    problems = {}
    for k, label in enumerate(names):
        name = label if isinstance(label, str) else f"label {label}"
        problems[name] = _read_label(rows, k, name, clusters)
    return problems


def _read_label(rows, k, name, clusters):
    """The `Problem` of one column of an indicator."""
    weights, target = rows.weights, rows.target[:, k]
    if weights is not None and weights.ndim == 2:
        weights = weights[:, k]
    present = ~np.isnan(target) if target.dtype.kind == "f" else np.ones(len(target), dtype=bool)
    if weights is not None:
        present &= weights > 0
        weights = weights[present].astype(np.float64)
    codes, positive = target[present], rows.proba[present, k].astype(np.float64)
    if not ((codes == 0) | (codes == 1)).all():
        raise ValueError(_NO_OUTCOMES)
    proba = np.column_stack([1.0 - positive, positive])
    names = ["other", name]
    problem = Problem(proba, codes.astype(np.intp), weights, names, "auto", rows.resolution)
    if clusters is None:
        return problem
    return problem.cluster(read_clusters(clusters, present))


def _name_columns(vectors):
    """Labels in the order of the columns."""
    if vectors.labels is not None:
        return vectors.labels.tolist()
    if vectors.positive_label is None:
        return [0, 1]
    return ["other", np.asarray(vectors.positive_label).item()]


def check_labels_alone(**options):
    """Refuse what a report on several labels does not take."""
    for name, value in options.items():
        if value is not None:
            none = False if value is True else None
            raise ValueError(
                f"{name} must be {none} for reduction='multilabel'.{advise_single_label()}"
            )


def check_clinical(problems):
    """Refuse a clinical section on confidences."""
    if any(problem.uses_confidence for problem in problems.values()):
        raise ValueError(
            "clinical must be False where measures read the confidence; name the label whose "
            "probability is meant with pos_label."
        )
