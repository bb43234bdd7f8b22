import numpy as np

from skcal.diagrams import PredictionPoweredReliabilityDisplay

rng = np.random.default_rng(0)
proba = rng.beta(5, 1.5, size=5000)
y = rng.random(5000) < proba**1.5
verdict = np.where(rng.random(5000) < 0.9, y, ~y)
label = np.where(rng.random(5000) < 0.04, y, np.nan)
PredictionPoweredReliabilityDisplay.from_predictions(label, proba, verdict)
