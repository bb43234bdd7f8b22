import numpy as np

from skcal.diagrams import RegressionMurphyDisplay

rng = np.random.default_rng(0)
rate = rng.gamma(4, 0.5, size=2000)
claims = rng.poisson(rate)
models = {"calibrated": rate, "too flat": 1 + rate / 2}
RegressionMurphyDisplay.from_predictions(claims, models)
