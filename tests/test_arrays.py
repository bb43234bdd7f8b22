"""Arrays that NumPy cannot read by itself, and what is no array of probabilities."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from skcal.metrics import (
    expected_normalized_calibration_error,
    smooth_ece,
)
from skcal.recalibration import (
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.streaming import CalibrationSummary, summarize_batches

P = np.tile(np.array([0.25, 0.5, 0.875, 0.375]), 10)
X = np.column_stack([1 - P, P])
Y = np.tile([0, 1, 1, 0], 10)

USES = {
    "measure": lambda y, p, X, w: smooth_ece(y, X, sample_weight=w),
    "recalibrator": lambda y, p, X, w: TemperatureScaling().fit(X, y, w).predict_proba(X).tolist(),
    "summary": lambda y, p, X, w: (
        CalibrationSummary().update(y, p, sample_weight=w).measure("smooth_ece")
    ),
    "targets": lambda y, p, X, w: expected_normalized_calibration_error(y, p, y_std=p, n_bins=2),
}
every_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


# --------------------------------------------------------------------------- tensors


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


def with_gradients(array):
    return Tensor(array.astype(np.float32), requires_grad=True)


def in_bfloat16(array):
    return Tensor(array, "torch.bfloat16")


def in_both(array):
    return Tensor(array, "torch.bfloat16", requires_grad=True)


@every_use
@pytest.mark.parametrize("put", [with_gradients, in_bfloat16, in_both])
def test_tensors_with_gradients_and_of_bfloat16(use, put):
    as_float32 = [array.astype(np.float32) for array in (Y, P, X, P)]
    assert use(*map(put, (Y, P, X, P))) == use(*as_float32)


@every_use
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_tensors_of_pytorch(use, dtype):
    torch = pytest.importorskip("torch")
    as_float32 = [array.astype(np.float32) for array in (Y, P, X, P)]
    tensors = [torch.tensor(array).to(getattr(torch, dtype)) for array in as_float32]
    for tensor in tensors:
        tensor.requires_grad_()
    assert use(*tensors) == use(*as_float32)
    assert all(tensor.requires_grad for tensor in tensors)


def test_bfloat16_of_ml_dtypes():
    """In which JAX hands its arrays to NumPy."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert smooth_ece(Y, P.astype(bfloat16)) == smooth_ece(Y, P.astype(np.float32))


def test_classifier_that_predicts_tensors():
    class Network(LogisticRegression):
        def predict_proba(self, X):
            return with_gradients(super().predict_proba(X))

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
    with pytest.raises(ValueError, match=r"got a sum of 0\.5 at row 0\.$"):
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

    found = Categorical()
    with pytest.raises(ValueError, match=r"real numbers.*Use y_proba\.class_probs\(\)"):
        smooth_ece(Y, found)
    assert smooth_ece(Y, found.class_probs()) == smooth_ece(Y, X)


def test_batches_of_lazy_frames_are_to_be_collected():
    lazy = pl.DataFrame({"y": Y, "p": P}).lazy()
    with pytest.raises(TypeError, match=r"batch must hold rows.*Use batch\.collect\(\)"):
        summarize_batches([lazy], y_true="y", y_proba="p")
