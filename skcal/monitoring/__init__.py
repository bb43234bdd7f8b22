"""Monitors of calibration: alarms that are valid however often one looks."""

from skcal.monitoring._batches import monitor_batches
from skcal.monitoring._grouped_monitor import GroupedMonitor
from skcal.monitoring._monitor import CalibrationMonitor

__all__ = ["CalibrationMonitor", "GroupedMonitor", "monitor_batches"]
