"""Plain data, for JSON, read with errors that tell what is wrong."""

from contextlib import contextmanager

import numpy as np


@contextmanager
def errors_named(name):
    """Turn errors of what is read into a ValueError that tells the format."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"data is not a complete {name}: it lacks {error}.") from None
    except (TypeError, IndexError, ValueError) as error:
        raise ValueError(f"data is not a complete {name}: {error}") from None


def check_format(data, name, latest):
    """Raise a ValueError unless `data` has this format in a version that is known."""
    if not isinstance(data, dict) or data.get("format") != name:
        raise ValueError(f"data must be the output of to_dict, with format {name!r}.")
    version = data.get("version")
    if type(version) is not int or not 1 <= version <= latest:
        raise ValueError(
            f"data has version {version!r} of the format; this skcal reads versions up to "
            f"{latest}. Update skcal."
        )


def read_plain_numbers(name, values, shape, kinds):
    """Numbers of these kinds in an array of this shape, or a ValueError."""
    array = np.asarray(values)
    if array.size == 0 and 0 in shape:
        return np.zeros(shape)
    is_right = array.dtype.kind in kinds and array.shape == shape
    require(is_right, f"{name} must be {'whole ' * (kinds == 'iu')}numbers of shape {shape}")
    return array


def require(is_right, rule):
    """Raise a ValueError that tells the rule that data breaks, unless it is right."""
    if not is_right:
        raise ValueError(f"{rule}.")
