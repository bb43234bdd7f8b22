"""Models outside of this process: graphs of ONNX, and the types that saved ones hold."""

from skcal.export import _trusted_types
from skcal.export._onnx import to_onnx

__all__ = ["TRUSTED_TYPES", "to_onnx"]

#: Full names of all types of skcal that a saved model may hold, for the argument ``trusted`` of
#: ``skops.io.load`` and for ``skops_trusted_types`` of MLflow: those of
#: `skcal.recalibration.TRUSTED_TYPES` and `skcal.regression.TRUSTED_TYPES`, and of
#: `skcal.model_selection`, `skcal.shift`, `skcal.survival` and the results of `skcal.inference`.
TRUSTED_TYPES = _trusted_types.list_trusted_types()
