"""Recalibrated classifiers outside of Python: graphs of ONNX."""

from skcal.export._onnx import to_onnx

__all__ = ["to_onnx"]
