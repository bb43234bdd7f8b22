import numpy as np

from skcal.diagrams import QuantileReliabilityDisplay

rng = np.random.default_rng(0)
median = rng.uniform(0, 10, size=1000)
y_true = median + rng.normal(size=1000)
predicted = np.column_stack([median - 1.28, 1.1 * median, median + 0.5])  # the first is right
QuantileReliabilityDisplay.from_predictions(y_true, predicted, quantiles=[0.1, 0.5, 0.9])
