import numpy as np

from skcal.diagrams import MeanReliabilityDisplay

rng = np.random.default_rng(0)
predicted = rng.gamma(2, 2, size=2000)
claims = rng.poisson(0.5 * predicted + 1)  # large means are too large
MeanReliabilityDisplay.from_predictions(claims, predicted, name="claims")
