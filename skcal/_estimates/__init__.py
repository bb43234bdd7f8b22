"""What is computed of checked samples, for all rooms above: curves, bands, bins, kernels."""
