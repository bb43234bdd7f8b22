import numpy as np

from skcal.diagrams import MurphyDisplay

rng = np.random.default_rng(0)
y_proba = rng.beta(1, 3, size=2000)
y_true = rng.random(2000) < y_proba
models = {"calibrated": y_proba, "over-confident": y_proba**2}
MurphyDisplay.from_predictions(y_true, models)
