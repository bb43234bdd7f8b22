"""Types of skcal in saved models, from all rooms whose objects hold what was fitted."""

from skcal import inference, model_selection, recalibration, regression, shift, survival


def list_trusted_types() -> list[str]:
    """List those of all rooms."""
    rooms = (inference, model_selection, shift, survival)
    others = [name for room in rooms for name in _name_classes(room)]
    return [*recalibration.TRUSTED_TYPES, *regression.TRUSTED_TYPES, *others]


def _name_classes(room):
    """Full names of the public classes of a room."""
    found = (getattr(room, name) for name in room.__all__)
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in found if isinstance(kind, type)]
