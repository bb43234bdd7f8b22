"""Types of skcal in saved models, from all rooms whose objects hold what was fitted."""

from skcal import inference, model_selection, recalibration, regression, shift, survival


def _name_classes(room):
    """Full names of the public classes of a room."""
    found = (getattr(room, name) for name in room.__all__)
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in found if isinstance(kind, type)]


#: Full names of all types of skcal that a saved model may hold, for the argument ``trusted`` of
#: ``skops.io.load`` and for ``skops_trusted_types`` of MLflow: those of
#: `skcal.recalibration.TRUSTED_TYPES` and `skcal.regression.TRUSTED_TYPES`, and of
#: `skcal.model_selection`, `skcal.shift`, `skcal.survival` and the results of `skcal.inference`.
TRUSTED_TYPES = [
    *recalibration.TRUSTED_TYPES,
    *regression.TRUSTED_TYPES,
    *(
        name
        for room in (inference, model_selection, shift, survival)
        for name in _name_classes(room)
    ),
]
