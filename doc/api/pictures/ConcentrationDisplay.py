import numpy as np

from skcal.diagrams import ConcentrationDisplay

rng = np.random.default_rng(0)
rate, years = rng.gamma(2, 0.1, size=5000), rng.uniform(0.1, 1, size=5000)
claims = rng.poisson(rate * years)
models = {"pure premiums": rate, "too steep": rate**2}
ConcentrationDisplay.from_predictions(claims / years, models, sample_weight=years)
