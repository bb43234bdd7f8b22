import numpy as np

from skcal.diagrams import SurvivalReliabilityDisplay

rng = np.random.default_rng(0)
rate = rng.uniform(0.05, 0.5, size=1000)
time, end = rng.exponential(1 / rate) ** 0.7, rng.exponential(5, size=1000)
event, seen, times = time <= end, np.minimum(time, end), [1, 2, 4]
risk = 1 - np.exp(-rate[:, None] * times)
SurvivalReliabilityDisplay.from_predictions(event, seen, risk, times=times)
