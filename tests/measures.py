"""What tests know of the measures beyond the table of the package."""

# Documented distance of the value from its definition; 1e-12 for all others.
ACCURACY = {
    "smooth_ece": 1e-6,
    "smooth_calibration_error": 1e-5,
    "lower_calibration_distance": 1e-3,
}
# The largest value that the measure can take; 1 for all others.
MAXIMUM = {"squared_kernel_calibration_error": 2.0}
# Read weights as counts, so that not only their ratios matter.
READ_COUNTS = (
    "adaptive_calibration_error",
    "squared_calibration_error",
    "squared_kernel_calibration_error",
)
# Compute on arrays of other libraries, where they are, under `array_api_dispatch`.
ON_DEVICE = (
    "expected_calibration_error",
    "maximum_calibration_error",
    "adaptive_calibration_error",
    "squared_calibration_error",
    "smooth_ece",
)
