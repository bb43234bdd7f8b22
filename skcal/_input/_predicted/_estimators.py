"""What regressors predict beside a mean."""

from collections.abc import Mapping


def predict_response(estimator, X, response, params):
    """What a method of a regressor returns; "std" stands for ``predict(X, return_std=True)``."""
    method = "predict" if response == "std" else response
    params = {"return_std": True, **(params or {})} if response == "std" else params or {}
    if not callable(getattr(estimator, method, None)):
        raise TypeError(f"{type(estimator).__name__} has no method {method}, see `response`.")
    try:
        return getattr(estimator, method)(X, **params)
    except TypeError as error:
        raise TypeError(
            f"{type(estimator).__name__}.{method} must take X and {list(params)}; "
            f"it raised: {error}"
        ) from error


def check_response(response, params):
    """Raise a ValueError unless `response` is a name and `params` a dictionary or None."""
    if not isinstance(response, str):
        raise ValueError(f'response must be "std" or the name of a method; got {response!r}.')
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(f"response_params must be None or a dictionary; got {params!r}.")
