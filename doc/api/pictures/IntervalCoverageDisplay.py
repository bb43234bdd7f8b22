import numpy as np

from skcal.diagrams import IntervalCoverageDisplay

rng = np.random.default_rng(0)
mean, noise = rng.normal(size=2000), rng.uniform(0.5, 1.5, size=2000)
y_true = mean + noise * rng.normal(size=2000)
width = 1.64 * (0.5 + 0.5 * noise)  # too narrow where there is much noise
intervals = np.column_stack([mean - width, mean + width])
IntervalCoverageDisplay.from_predictions(y_true, intervals, random_state=0)
