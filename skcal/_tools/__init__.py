"""What knows nothing of calibration: arrays, jobs, progress, warnings, words, types."""
