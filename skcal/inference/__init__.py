"""Is a calibration error more than chance: tests, intervals and bands."""

from skcal._input._groups import Groups, make_groups
from skcal.inference._actual_expected import actual_expected_ratio
from skcal.inference._calibration import calibration_test, calibration_test_from_summary
from skcal.inference._calibration_belt import (
    CalibrationBelt,
    calibration_belt,
    calibration_belt_test,
)
from skcal.inference._certified_record import CertifiedThreshold
from skcal.inference._certified_threshold import certified_threshold
from skcal.inference._choose_rows import RowsToLabel, choose_rows_to_label
from skcal.inference._choose_update import UpdateChoice, choose_update
from skcal.inference._compare import compare_summaries
from skcal.inference._compare_models import CalibrationComparison, compare_calibration
from skcal.inference._concentration import concentration_test
from skcal.inference._confidence_interval import (
    confidence_interval,
    confidence_interval_from_summary,
)
from skcal.inference._consistency_band import ConsistencyBand, consistency_band
from skcal.inference._cox import CoxRecalibration, cox_recalibration
from skcal.inference._cumulative import cumulative_calibration_test
from skcal.inference._feature_audit import audit_features
from skcal.inference._feature_record import FeatureAudit
from skcal.inference._feature_rule import FeatureRule
from skcal.inference._grades import GradeAudit, audit_grades
from skcal.inference._group_audit import audit_groups, audit_groups_from_summary
from skcal.inference._group_record import GroupAudit
from skcal.inference._hosmer_lemeshow import hosmer_lemeshow_test
from skcal.inference._interval_result import Interval
from skcal.inference._isotonic_band import IsotonicBand, isotonic_band
from skcal.inference._kernel_tests import (
    kernel_mean_embedding_test,
    squared_kernel_calibration_test,
)
from skcal.inference._mean_audit import audit_mean_groups
from skcal.inference._mean_calibration import mean_calibration_test
from skcal.inference._mean_feature_audit import audit_mean_features
from skcal.inference._mean_recalibration import MeanRecalibration, mean_recalibration
from skcal.inference._multinomial_recalibration import (
    MultinomialRecalibration,
    multinomial_recalibration,
)
from skcal.inference._net_benefit import NetBenefitDifference, net_benefit_difference
from skcal.inference._observed_expected import observed_expected_ratio
from skcal.inference._pool_estimates import PooledEstimate, pool_estimates
from skcal.inference._pool_imputations import pool_imputations
from skcal.inference._pooled_validation import PooledValidation, pooled_validation
from skcal.inference._prediction_powered_calibration import (
    PredictionPoweredCalibration,
    prediction_powered_calibration,
)
from skcal.inference._prediction_powered_targets import prediction_powered_targets
from skcal.inference._required_labels import RequiredLabels, required_labels
from skcal.inference._required_samples import (
    RequiredSamples,
    required_samples,
    required_samples_for_width,
)
from skcal.inference._spiegelhalter import spiegelhalter_test
from skcal.inference._t_cal import t_cal_test
from skcal.inference._test_result import TestResult

__all__ = [
    "CalibrationBelt",
    "CalibrationComparison",
    "CertifiedThreshold",
    "ConsistencyBand",
    "CoxRecalibration",
    "FeatureAudit",
    "FeatureRule",
    "GradeAudit",
    "GroupAudit",
    "Groups",
    "Interval",
    "IsotonicBand",
    "MeanRecalibration",
    "MultinomialRecalibration",
    "NetBenefitDifference",
    "PooledEstimate",
    "PooledValidation",
    "PredictionPoweredCalibration",
    "RequiredLabels",
    "RequiredSamples",
    "RowsToLabel",
    "TestResult",
    "UpdateChoice",
    "actual_expected_ratio",
    "audit_features",
    "audit_grades",
    "audit_groups",
    "audit_groups_from_summary",
    "audit_mean_features",
    "audit_mean_groups",
    "calibration_belt",
    "calibration_belt_test",
    "calibration_test",
    "calibration_test_from_summary",
    "certified_threshold",
    "choose_rows_to_label",
    "choose_update",
    "compare_calibration",
    "compare_summaries",
    "concentration_test",
    "confidence_interval",
    "confidence_interval_from_summary",
    "consistency_band",
    "cox_recalibration",
    "cumulative_calibration_test",
    "hosmer_lemeshow_test",
    "isotonic_band",
    "kernel_mean_embedding_test",
    "make_groups",
    "mean_calibration_test",
    "mean_recalibration",
    "multinomial_recalibration",
    "net_benefit_difference",
    "observed_expected_ratio",
    "pool_estimates",
    "pool_imputations",
    "pooled_validation",
    "prediction_powered_calibration",
    "prediction_powered_targets",
    "required_labels",
    "required_samples",
    "required_samples_for_width",
    "spiegelhalter_test",
    "squared_kernel_calibration_test",
    "t_cal_test",
]
