import numpy as np
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import StabilityDisplay
from skcal.model_selection import internal_validation

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 10))
y = rng.random(200) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))
model = LogisticRegression()
found = internal_validation(model, X, y, stability=True, n_resamples=50, random_state=0)
StabilityDisplay.from_internal_validation(found)
