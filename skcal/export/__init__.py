"""Models outside of this process: graphs of ONNX, and the types that saved ones hold."""

from skcal.export._onnx import to_onnx
from skcal.export._trusted_types import TRUSTED_TYPES

__all__ = ["TRUSTED_TYPES", "to_onnx"]
