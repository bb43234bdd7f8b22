"""Tests of calibration: is the error of a model more than chance."""

from skcal.inference._kernel_tests import kernel_calibration_test, mean_embedding_test
from skcal.inference._test_result import TestResult

__all__ = ["TestResult", "kernel_calibration_test", "mean_embedding_test"]
