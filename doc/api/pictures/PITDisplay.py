import numpy as np

from skcal.diagrams import PITDisplay

rng = np.random.default_rng(0)
mean = rng.normal(size=1000)
y_true = mean + rng.normal(size=1000)
PITDisplay.from_predictions(y_true, (mean, np.full(1000, 0.7)), random_state=0)  # too narrow
