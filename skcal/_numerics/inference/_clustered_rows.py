"""Rows of a logistic model that depend on others of their cluster."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skcal._numerics.inference._cluster_signs import sum_clusters
from skcal._numerics.inference._effective_rows import count_clusters, divide_squares


class ClusteredRows(NamedTuple):
    """Numbers of the places of the rows, their outcomes, shares that sum to 1, and clusters."""

    place: np.ndarray
    outcomes: np.ndarray
    shares: np.ndarray
    member: np.ndarray

    @property
    def masses(self):
        """Sums of the shares of clusters."""
        return np.bincount(self.member, self.shares)

    def take(self, is_kept):
        """The rows of some places, which are numbered anew."""
        number = np.cumsum(is_kept) - 1
        kept = is_kept[self.place]
        place, *others = (values[kept] for values in self)
        return ClusteredRows(number[place], *others)

    def sum_scores(self, columns, scores):
        """Scores of clusters along the columns, and the information that each has of these.

        `scores` are the log odds of the places. Arrays have the shapes (n_columns, n_clusters) and
        (n_columns, n_columns, n_clusters).
        """
        chance, columns = expit(scores)[self.place], columns[:, self.place]
        pulls = self.shares * (self.outcomes - chance)
        curvature = self.shares * chance * (1 - chance)
        sums = np.array([sum_clusters(pulls * one, self.member) for one in columns])
        information = [
            [np.bincount(self.member, curvature * one * other) for other in columns]
            for one in columns
        ]
        return sums, np.array(information)

    def tell(self, columns, scores, directions, mean_squares):
        """A `Telling` of each of several directions along the columns."""
        sums, information = self.sum_scores(columns, scores)
        return [
            count_clusters(square, one @ sums, one @ (one @ information), self.masses)
            for square, one in zip(mean_squares, directions, strict=True)
        ]

    def count(self):
        """Rows of equal weight that tell as much where nothing moves: one for each cluster."""
        return divide_squares(0.0, 0.0, 1.0, self.masses**2)
