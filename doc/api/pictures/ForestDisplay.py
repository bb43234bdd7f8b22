import numpy as np
from scipy.special import expit

from skcal.diagrams import ForestDisplay
from skcal.inference import pooled_validation

rng = np.random.default_rng(0)
site = np.repeat(["north", "south", "east", "west", "centre"], [900, 500, 700, 400, 1500])
log_odds = rng.normal(-2, 1, 4000)
shift = np.repeat([0.5, -0.3, 0.2, 0.1, -0.2], [900, 500, 700, 400, 1500])
y_true = (rng.random(4000) < expit(log_odds + shift)).astype(int)
ForestDisplay.from_validation(pooled_validation(y_true, expit(log_odds), site))
