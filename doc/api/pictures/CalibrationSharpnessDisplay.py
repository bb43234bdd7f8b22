import numpy as np

from skcal.diagrams import CalibrationSharpnessDisplay

rng = np.random.default_rng(0)
y_proba = rng.beta(0.7, 0.7, size=2000)  # over-confident
y_true = rng.random(2000) < 0.2 + 0.6 * y_proba
CalibrationSharpnessDisplay.from_predictions(y_true, y_proba, name="model")
