"""Laws of statistics, draws, intervals and tests."""
