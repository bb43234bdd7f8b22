"""Is a calibration error more than chance: tests, intervals and bands."""

from skcal._groups import Groups, make_groups
from skcal.inference._calibration import calibration_test, calibration_test_from_summary
from skcal.inference._compare import compare_summaries
from skcal.inference._confidence_interval import (
    confidence_interval,
    confidence_interval_from_summary,
)
from skcal.inference._consistency_band import ConsistencyBand, consistency_band
from skcal.inference._cox import CoxRecalibration, cox_recalibration
from skcal.inference._cumulative import cumulative_calibration_test
from skcal.inference._group_audit import GroupAudit, audit_groups
from skcal.inference._hosmer_lemeshow import hosmer_lemeshow_test
from skcal.inference._interval import Interval
from skcal.inference._isotonic_band import IsotonicBand, isotonic_band
from skcal.inference._kernel_tests import kernel_calibration_test, mean_embedding_test
from skcal.inference._recalibration_gain import RecalibrationGain, recalibration_gain
from skcal.inference._spiegelhalter import spiegelhalter_test
from skcal.inference._t_cal import t_cal_test
from skcal.inference._test_result import TestResult

__all__ = [
    "ConsistencyBand",
    "CoxRecalibration",
    "GroupAudit",
    "Groups",
    "Interval",
    "IsotonicBand",
    "RecalibrationGain",
    "TestResult",
    "audit_groups",
    "calibration_test",
    "calibration_test_from_summary",
    "compare_summaries",
    "confidence_interval",
    "confidence_interval_from_summary",
    "consistency_band",
    "cox_recalibration",
    "cumulative_calibration_test",
    "hosmer_lemeshow_test",
    "isotonic_band",
    "kernel_calibration_test",
    "make_groups",
    "mean_embedding_test",
    "recalibration_gain",
    "spiegelhalter_test",
    "t_cal_test",
]
