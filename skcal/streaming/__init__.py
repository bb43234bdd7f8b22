"""Streams and files larger than memory: small summaries of predictions that can be merged."""

from skcal.streaming._batches import summarize_batches
from skcal.streaming._dask import summarize_dask
from skcal.streaming._grouped_summary import GroupedSummary
from skcal.streaming._summary import CalibrationSummary

__all__ = ["CalibrationSummary", "GroupedSummary", "summarize_batches", "summarize_dask"]
