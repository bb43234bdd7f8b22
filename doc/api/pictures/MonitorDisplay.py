import numpy as np

from skcal.diagrams import MonitorDisplay
from skcal.monitoring import CalibrationMonitor

rng = np.random.default_rng(0)
y_proba = rng.random(4000)
truth = np.where(np.arange(4000) < 2000, y_proba, y_proba**1.5)  # changes half-way
monitor = CalibrationMonitor().update(rng.random(4000) < truth, y_proba)
MonitorDisplay.from_monitor(monitor)
