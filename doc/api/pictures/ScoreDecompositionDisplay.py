import numpy as np
from scipy.special import expit

from skcal.diagrams import ScoreDecompositionDisplay

rng = np.random.default_rng(0)
log_odds, noise = rng.normal(0, 1.5, size=(2, 2000))
y_true = rng.random(2000) < expit(log_odds)
models = {
    "calibrated": expit(log_odds),
    "over-confident": expit(2.5 * log_odds),
    "vague": expit((log_odds + noise) / 2),
    "too high": expit(log_odds + 1),
}
ScoreDecompositionDisplay.from_predictions(y_true, models)
