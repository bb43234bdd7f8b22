"""Fitted recalibrators and recalibrated classifiers as graphs of ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import score_rows
from skcal._input._validation import check_integer, check_number
from skcal._numerics.recalibration._scores import SMALLEST_SHARE
from skcal.export._formulas import recalibrate, restore_layout
from skcal.export._graph import Graph, log, maximum, softmax
from skcal.recalibration import BaseRecalibrator, CrossFitProba, RecalibratedClassifierCV

if TYPE_CHECKING:
    from onnx import ModelProto

# Before, the axes of sums and maxima were written in another way.
_OLDEST_OPSET = 18
# Version of the operators of trees and the like that all converters know.
_TREES_OPSET = 3
# What casts X to float32 in scikit-learn: there float64 falls on the other side of a threshold.
_SINGLE = (
    BaseDecisionTree,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
# The same scores by other code differ by less than these shares, sums of some hundred terms too.
_SINGLE_ROUNDING, _DOUBLE_ROUNDING = 2.0**-20, 2.0**-30
_EXPLAIN_SINGLE = " Its scores have single precision; a larger atol takes what comes of it."


def to_onnx(
    model: Any, X: Any, *, target_opset: int = _OLDEST_OPSET, atol: float = 1e-6
) -> ModelProto:
    """Convert a fitted recalibrator or recalibrated classifier to an ONNX model.

    Parameters
    ----------
    model : classifier
        A fitted recalibrator of class scores, `RecalibratedClassifierCV`, or a pipeline that ends
        in one of them, such as one with `CrossFitProba`; or a search among them.
    X : array-like or DataFrame of shape (n_samples, n_columns)
        Rows as `model` reads them, on which the graph is checked: some hundred that are like those
        of later use. Inputs of the graph get their types.
    target_opset : int, default=18
        Version of the operators, at least 18.
    atol : float, default=1e-6
        How far probabilities of the graph may be from those of `model`. Infinity takes whatever
        comes.

    Returns
    -------
    onnx.ModelProto
        The graph. Its outputs are "label" of shape (n_samples,) and "probabilities" of shape
        (n_samples, n_classes). Its input is "X" of shape (n_samples, n_columns); where a
        DataFrame goes to a `ColumnTransformer`, or has columns that are no numbers, there is an
        input of shape (n_samples, 1) for each column, with its name.

    Raises
    ------
    ImportError
        If skl2onnx or onnxruntime is not installed.
    ValueError
        If a part of `model` cannot be written, or if the graph disagrees with `model`.

    See Also
    --------
    skcal.recalibration.BaseRecalibrator.to_dict : A recalibrator as plain JSON.

    Notes
    -----
    The formulas of recalibrators are written in double precision: on their own they agree with
    Python to 1e-10, most to 1e-14. `RandomizedSmoothing`, which draws random numbers, and
    recalibrators of other packages are refused. All other steps, classifiers above all, come from
    skl2onnx, each by itself, and run after X is cast to float64, or to float32 where this is what
    scikit-learn does (trees), or where skl2onnx knows nothing else. Each step must agree with
    Python within `atol`, absolute, or relative for values above 1. Probabilities are float32 where
    X is, and else float64.

    Trees in ONNX add up in single precision, and so do scikit-learn's classifiers of float32 X.
    Where such scores meet a steep map, as isotonic regression of many rows may be, their rounding
    grows beyond 1e-6, and a larger `atol` is needed. At the edges of `HistogramBinning`,
    `ScalingBinning` and `VennAbers` it does no harm: a score within a millionth of an edge, in
    double precision a billionth, counts as on it.

    A graph checks nothing. Where `predict_proba` refuses rows, such as those that do not sum to
    1 or hold NaN, its output is meaningless.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.export import to_onnx
    >>> from skcal.recalibration import RecalibratedClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    >>> graph = to_onnx(model, X)
    >>> label, proba = InferenceSession(graph.SerializeToString()).run(None, {"X": X})
    >>> bool(abs(proba - model.predict_proba(X)).max() < 1e-6)
    True
    """
    try:
        import onnxruntime  # noqa: F401
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "to_onnx needs skl2onnx and onnxruntime: pip install skl2onnx onnxruntime"
        ) from error
    check_integer("target_opset", target_opset, _OLDEST_OPSET)
    check_number("atol", atol, 0, allow_infinity=True)
    check_is_fitted(model)
    name, steps = type(model).__name__, _unroll(model)
    if not isinstance(steps[-1], BaseRecalibrator | RecalibratedClassifierCV):
        raise ValueError(
            "model must be a recalibrator of class scores, RecalibratedClassifierCV or a pipeline "
            f"that ends in one; got {name} with {type(steps[-1]).__name__} at its end. Export "
            "other classifiers by skl2onnx, or save the model by skops or joblib."
        )
    if issparse(X):
        raise ValueError("X must be dense, a few rows are enough; got a sparse matrix.")
    expected = model.predict_proba(X)
    writer = _Writer(X, target_opset, atol, is_table=_reads_table(steps, X))
    graph = writer.graph.finish(writer.find_probabilities(steps), steps[-1].classes_, name)
    _, found = _run(graph, writer.columns)
    if problem := _compare(found, expected, atol):
        hint = _EXPLAIN_SINGLE if writer.graph.rounding == _SINGLE_ROUNDING else ""
        raise ValueError(f"The graph of {name} {problem}{hint}")
    return graph


def _unroll(model):
    """The fitted steps of a model, one after the other, without those that change no new rows."""
    if isinstance(model, Pipeline):
        return [
            part
            for _, step in model.steps
            # Samplers of imbalanced-learn act in `fit` alone.
            if step not in (None, "passthrough") and not hasattr(step, "fit_resample")
            for part in _unroll(step)
        ]
    if isinstance(model, FrozenEstimator):
        return _unroll(model.estimator)
    return _unroll(model.best_estimator_) if hasattr(model, "best_estimator_") else [model]


def _reads_table(steps, X):
    """Whether a graph needs an input for each column of X; otherwise there is one for all."""
    first = steps[0]
    if not isinstance(X, pd.DataFrame) or isinstance(first, BaseRecalibrator):
        return False
    if isinstance(first, RecalibratedClassifierCV):
        return _reads_table(_unroll(first.calibrated_classifiers_[0].estimator), X)
    if isinstance(first, CrossFitProba):
        return _reads_table(_unroll(first.estimator_), X)
    return isinstance(first, ColumnTransformer) or any(
        dtype.kind not in "biuf" for dtype in X.dtypes
    )


class _Writer:
    """Writes steps into one graph; those of other packages by skl2onnx.

    `X` has rows of the input, and if `is_table` each column is an input of its own. Each step of
    the graph may be `atol` away from that of scikit-learn.
    """

    def __init__(self, X, target_opset, atol, *, is_table):
        self.columns = columns = _list_columns(X if is_table else _as_array(X))
        dtypes = {column.dtype for column in columns.values()}
        is_single = np.dtype(np.float32) in dtypes and np.dtype(np.float64) not in dtypes
        self.graph = Graph(np.dtype(np.float32 if is_single else np.float64), target_opset)
        self._inputs = {
            name: self.graph.declare(name, column.dtype, column.shape[1])
            for name, column in columns.items()
        }
        self._X, self._target_opset, self._atol = X, target_opset, atol
        self._is_table, self._written = is_table, {}

    def find_probabilities(self, steps):
        """Probabilities by steps that end in a recalibrator or a recalibrated classifier."""
        *before, last = steps
        if not isinstance(last, RecalibratedClassifierCV):
            return recalibrate(last, self._find_columns(before))
        parts = []
        for pair in last.calibrated_classifiers_:
            own = [*before, *_unroll(pair.estimator)]
            columns = self._find_scores(own, last.response_method_, last.classes_)
            *first, final = _unroll(pair.recalibrator)
            for one in first:
                columns = restore_layout(one, recalibrate(one, columns))
            parts.append(recalibrate(final, columns))
        parts = [_spread(part, final.classes_, last.classes_) for part in parts]
        return parts[0] if len(parts) == 1 else _average(parts, last.average_)

    def _find_columns(self, steps):
        """What a recalibrator reads that stands after some steps."""
        if not steps:
            return self._inputs["X"]
        *before, last = steps
        if isinstance(last, BaseRecalibrator):
            self._expect_rounding(_DOUBLE_ROUNDING)
            return restore_layout(last, recalibrate(last, self._find_columns(before)))
        if isinstance(last, CrossFitProba):
            own = [*before, *_unroll(last.estimator_)]
            return self._find_scores(own, last.method, last.classes_)
        raise ValueError(
            "The step before a recalibrator must be CrossFitProba or another recalibrator; got "
            f"{type(last).__name__}, which skcal cannot export."
        )

    def _find_scores(self, steps, method, classes):
        """Class scores of a classifier after other steps, one column for each of the classes."""
        *before, classifier = steps
        if isinstance(classifier, BaseRecalibrator | RecalibratedClassifierCV):
            return _spread(self.find_probabilities(steps), classifier.classes_, classes)
        inputs, X = self._transform(before)
        expected = score_rows(classifier, X, method)
        scores = self._write(classifier, inputs, X, expected, method)
        is_one = expected.shape[1] < len(classifier.classes_)
        return scores if is_one else _spread(scores, classifier.classes_, classes)

    def _transform(self, steps):
        """What comes out of some steps: inputs of the next one by name, and its rows."""
        if not steps:
            return self._inputs, self._X
        *before, step = steps
        inputs, X = self._transform(before)
        answer = step.transform(X)
        return {"X": self._write(step, inputs, X, _as_array(answer))}, answer

    def _write(self, step, inputs, X, expected, method="transform"):
        """What a step of another package answers, written by skl2onnx."""
        key = (id(step), method, *(one.name for one in inputs.values()))
        if key in self._written:  # one frozen classifier is in all pairs, one scaler before them
            return self._written[key]
        X = X if inputs is self._inputs and self._is_table else _as_array(X)
        dtypes = [np.float32, np.float64] if isinstance(step, _SINGLE) else [np.float64, np.float32]
        for given in (_set_floats(X, dtypes[0]), _set_floats(X, dtypes[1]), X):
            try:
                part = self._convert(step, given, method)
                (found,) = _run(part, _list_columns(given))
                found = found.reshape(len(expected), -1)
                columns = np.arange(found.shape[1])[-expected.shape[1] :]  # of (-s, s) the last
                problem = _compare(found[:, columns], expected, self._atol)
            except Exception as error:  # skl2onnx and onnxruntime raise many kinds
                problem = f"failed: {next(iter(str(error).splitlines()), error):.200}"
            if not problem:
                break
        else:
            hint = _EXPLAIN_SINGLE if expected.dtype == np.float32 else ""
            raise ValueError(f"The graph of {type(step).__name__} by skl2onnx {problem}{hint}")
        is_single = np.float32 in (found.dtype, expected.dtype)
        self._expect_rounding(_SINGLE_ROUNDING if is_single else _DOUBLE_ROUNDING)
        self._written[key] = answer = self.graph.include(part, inputs).take(columns)
        return answer

    def _expect_rounding(self, rounding):
        self.graph.rounding = max(self.graph.rounding, rounding)

    def _convert(self, step, X, method):
        """A graph of a step, whose only output is the answer of the method."""
        import skl2onnx
        from onnx import ValueInfoProto

        options = {"raw_scores": True} if method == "decision_function" else {}
        part = skl2onnx.to_onnx(
            step,
            X[:1],
            options={id(step): options},
            target_opset={"": self._target_opset, "ai.onnx.ml": _TREES_OPSET},
        )
        name = part.graph.output[-1].name
        for node in list(part.graph.node):
            if node.op_type == "ZipMap":  # makes dicts of scores
                name = node.input[0]
                part.graph.node.remove(node)
        del part.graph.output[:]
        part.graph.output.append(ValueInfoProto(name=name))
        return part


def _average(parts, average):
    """Probabilities of several members averaged; see `FoldAverage`."""
    weight = 1 / len(parts)
    mean = weight * sum(parts[1:], parts[0])
    if average.share == 1:
        return mean
    logs = [weight * average.slope * log(maximum(part, SMALLEST_SHARE * mean)) for part in parts]
    stretched = softmax(sum(logs[1:], logs[0]) + average.intercepts)
    if average.share == 0:
        return stretched
    return average.share * mean + (1 - average.share) * stretched


def _spread(scores, labels, classes):
    """Columns of some labels in those of all classes, 0 for what is missed."""
    if np.array_equal(labels, classes):
        return scores
    return scores.cast(np.float64) @ (labels[:, None] == classes).astype(np.float64)


def _set_floats(X, dtype):
    """The same rows with numbers, in a table those with decimals, of another type."""
    if isinstance(X, np.ndarray):
        return X.astype(dtype) if X.dtype.kind in "biuf" else X
    return X.astype({name: dtype for name in X if X[name].dtype.kind == "f"})


def _as_array(X):
    X = X.toarray() if issparse(X) else np.asarray(X)
    return X if X.ndim > 1 else X[:, None]


def _list_columns(X):
    """Inputs of a graph by name."""
    if isinstance(X, pd.DataFrame):
        return {str(name): X[[name]].to_numpy() for name in X}
    return {"X": X}


def _run(graph, columns):
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.log_severity_level = 4  # what fails is told by an error
    session = InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, columns)


def _compare(found, expected, atol):
    """What is wrong with answers of a graph, or an empty text."""
    if expected.dtype.kind not in "biuf":
        return "" if (found == expected).all() else "differs from Python."
    errors = (np.abs(found - expected) / np.maximum(np.abs(expected), 1.0)).max(axis=1)
    if (errors <= atol).all():  # never of NaN
        return ""
    row = int(np.argmax(~(errors <= atol) * errors))
    return f"is {errors.max():.3g} away from Python in row {row} of X, beyond atol={atol:g}."
