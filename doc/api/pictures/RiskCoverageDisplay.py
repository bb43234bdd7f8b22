import numpy as np

from skcal.diagrams import RiskCoverageDisplay

rng = np.random.default_rng(0)
confidence = rng.uniform(0.5, 1, size=2000)
is_right = rng.random(2000) < confidence
RiskCoverageDisplay.from_predictions(is_right, confidence, at_most=0.1, name="model")
