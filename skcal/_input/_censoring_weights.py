"""Weights that know that they depend on outcomes."""

import numpy as np

_WAY_OUT = (
    "sample_weight must not depend on the outcomes if a test draws these from the predictions, or "
    "takes their variance from the predictions, as this one does; weights of at_horizon do. "
    "survival_calibration tests risks up to a horizon without weights, and pseudo_values gives "
    "targets that all functions of predicted means take, such as mean_calibration_test."
)


class CensoringWeights(np.ndarray):
    """Array of weights that were estimated from censored times; parts and multiples stay so."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar or array.ndim == 0:
            return array[()]
        # What is no weight, such as a mask, is an array as any other.
        return np.asarray(array) if array.dtype == bool else super().__array_wrap__(array, context)

    def __repr__(self):
        return repr(np.asarray(self))


def refuse_censoring_weights(sample_weight):
    """Raise a ValueError for weights of `at_horizon`, unless all that count are equal."""
    if isinstance(sample_weight, CensoringWeights):
        weights = np.asarray(sample_weight)[np.asarray(sample_weight) > 0]
        if (weights != weights[:1]).any():
            raise ValueError(_WAY_OUT)
