"""Rows in order, on grids and in cells of [0, 1], which rows can be added to forever."""
