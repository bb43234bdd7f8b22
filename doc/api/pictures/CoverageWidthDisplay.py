import numpy as np

from skcal.diagrams import CoverageWidthDisplay

rng = np.random.default_rng(0)
mean = rng.normal(size=1000)
y_true = rng.normal(mean)
models = {
    "right": np.add.outer(mean, [-1.64, 1.64]),
    "over-confident": np.add.outer(mean, [-1.2, 1.2]),
    "without features": np.tile([-2.33, 2.33], (1000, 1)),
}
CoverageWidthDisplay.from_predictions(y_true, models)
