"""Fixtures of the tests of formulas."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(17)


@pytest.fixture
def record(monkeypatch):
    """`record(owner, name)` lists arguments and result of every call of a function from then on."""

    def replace(owner, name):
        calls, function = [], getattr(owner, name)

        def call(*args):
            calls.append((args, function(*args)))
            return calls[-1][1]

        monkeypatch.setattr(owner, name, call)
        return calls

    return replace
