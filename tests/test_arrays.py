"""Tensors and other arrays without dispatch: what is read of them, and what is refused."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from skcal._tools._arrays import find_distinct
from skcal.metrics import smooth_ece
from skcal.recalibration import (
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.regression import expected_normalized_calibration_error
from skcal.streaming import CalibrationSummary, summarize_batches

P = np.tile([0.25, 0.5, 0.875, 0.375], 10)
X = np.column_stack([1 - P, P])
Y = np.tile([0, 1, 1, 0], 10)


class Tensor:
    """What of a PyTorch tensor matters here: what NumPy cannot read raises as it does there."""

    def __init__(self, values, dtype="torch.float32", requires_grad=False):
        self.values, self.dtype, self.requires_grad = np.asarray(values), dtype, requires_grad
        self.shape = self.values.shape

    def detach(self):
        return Tensor(self.values, self.dtype)

    def float(self):
        return Tensor(self.values.astype(np.float32), requires_grad=self.requires_grad)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.array(self.values, dtype)


def make_tensor(array, **options):
    torch = pytest.importorskip("torch")
    return torch.tensor(array).to(getattr(torch, options["dtype"])).requires_grad_()


@pytest.mark.parametrize(
    "put",
    [
        partial(Tensor, requires_grad=True),
        partial(Tensor, dtype="torch.bfloat16"),
        partial(Tensor, dtype="torch.bfloat16", requires_grad=True),
        partial(make_tensor, dtype="float32"),
        partial(make_tensor, dtype="bfloat16"),
    ],
)
def test_tensors_with_gradients_and_of_bfloat16(put):
    y, p, rows = (array.astype(np.float32) for array in (Y, P, X))
    tensors = [put(array) for array in (y, p, rows)]
    for use in (
        lambda y, p, X: smooth_ece(y, X, sample_weight=p),
        lambda y, p, X: TemperatureScaling().fit(X, y, p).predict_proba(X).tolist(),
        lambda y, p, X: CalibrationSummary().update(y, p, sample_weight=p).measure("smooth_ece"),
        lambda y, p, X: expected_normalized_calibration_error(y, p, y_std=p, n_bins=2),
    ):
        assert use(*tensors) == use(y, p, rows)
    if hasattr(tensors[0], "grad"):
        assert all(tensor.requires_grad for tensor in tensors)


def test_bfloat16_of_ml_dtypes():
    """In which JAX hands its arrays to NumPy."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert smooth_ece(Y, P.astype(bfloat16)) == smooth_ece(Y, P.astype(np.float32))


def test_classifier_that_predicts_tensors():
    class Network(LogisticRegression):
        def predict_proba(self, X):
            return Tensor(super().predict_proba(X).astype(np.float32), requires_grad=True)

    fitted = [
        RecalibratedClassifierCV(classifier, IsotonicRecalibration()).fit(X, Y).predict_proba(X)
        for classifier in (Network(), LogisticRegression())
    ]
    np.testing.assert_array_equal(*fitted)


def test_rows_that_rounding_takes_off_1():
    rows = np.tile([0.333984375, 0.333984375, 0.3359375], (40, 1))  # thirds in 8 bits
    y = np.tile([0, 1, 2, 0], 10)
    with pytest.raises(ValueError, match=r"got a sum of 1\.0039.*bfloat16.*divide the rows"):
        smooth_ece(y, rows)
    whole = rows / rows.sum(axis=1, keepdims=True)
    assert smooth_ece(y, whole) > 0
    with pytest.raises(ValueError, match=r"got a sum of 0\.5 at row 0\. "):
        smooth_ece(y, whole / 2)
    with pytest.raises(ValueError, match=r"rows in \[0, 1\] that sum to 1.*divide the rows"):
        TemperatureScaling().fit(rows, y)
    TemperatureScaling().fit(whole, y)


def test_distribution_of_classes():
    """What `pred_dist` of a classifier of NGBoost returns."""

    class Categorical:
        def class_probs(self):
            return X

        def __array__(self, dtype=None, copy=None):
            raise ValueError("not enough values to unpack")

    with pytest.raises(ValueError, match=r"real numbers.*Use y_proba\.class_probs\(\)"):
        smooth_ece(Y, Categorical())
    assert smooth_ece(Y, Categorical().class_probs()) == smooth_ece(Y, X)


def test_batches_of_lazy_frames_are_to_be_collected():
    lazy = pl.DataFrame({"y": Y, "p": P}).lazy()
    with pytest.raises(TypeError, match=r"batch must hold rows.*Use batch\.collect\(\)"):
        summarize_batches([lazy], y_true="y", y_proba="p")


@pytest.mark.parametrize(
    "values",
    [
        np.arange(-128, 128).astype(np.int8),
        np.resize([3, -70_000, 3, 5], 70_000),
        np.array([0, 1 << 62]),
        np.array([1, 0], dtype=np.uint64) + np.uint64((1 << 64) - 2),
        np.array([], dtype=np.int64),
        np.resize([2.5, np.nan, -1.0], 70_000),
        np.resize(["b", "a"], 70_000),
        np.array([True, False, True]),
    ],
)
def test_distinct_values_are_those_of_numpy(values):
    found = find_distinct(values)
    np.testing.assert_array_equal(found, np.unique(values), strict=True)
