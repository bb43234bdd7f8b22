"""Batches of rows that come one after another: what summaries and monitors read alike."""
