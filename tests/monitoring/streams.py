"""Streams of rows for tests of monitors."""

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm


def draw_rows(rng, n, *, shift=0.0, slope=1.0, start=0):
    """Labels and predictions, whose log odds are wrong from a row on."""
    v = expit(rng.normal(-1, 1.2, n))
    wrong = expit(slope * logit(v) + shift)
    return (rng.random(n) < np.where(np.arange(n) < start, v, wrong)).astype(int), v


def feed(monitor, y, v, cuts=(), time=None):
    """A monitor that has got rows in parts; its time is that of all or one for each."""
    for part in np.split(np.arange(len(y)), list(cuts)):
        one = time[part] if isinstance(time, np.ndarray) else time
        monitor.update(y[part], v[part], time=one)
    return monitor


def play(choose, shift=0.0):
    """Many streams side by side, of which predictions may depend on all earlier rows.

    `choose(u, sums, last)` gives the next predictions from uniform numbers, sums of earlier
    residuals, and the last five labels; the truth has other log odds by `shift`, on the side of
    the sum if it is a pair.
    """

    def draw(rng, n_streams, n_rows):
        y, v = np.zeros((2, n_rows, n_streams))
        sums, last = np.zeros(n_streams), np.zeros((5, n_streams))
        for t in range(n_rows):
            v[t] = choose(rng.random(n_streams), sums, last)
            wrong = expit(logit(v[t]) + np.where(sums < 0, *np.broadcast_to(shift, 2)))
            y[t] = rng.random(n_streams) < wrong
            sums, last = sums + y[t] - v[t], np.concatenate([y[None, t], last[:-1]])
        return y.T, v.T

    return draw


def draw_weeks(rng, n_streams, n_rows):
    """Forecasts of the sum of the next seven days' shocks, made every day."""
    shocks = rng.normal(size=(n_streams, n_rows + 6))
    sums = np.lib.stride_tricks.sliding_window_view(shocks, 7, axis=1).sum(axis=-1)
    v = rng.beta(1, 2, (n_streams, n_rows))
    return sums / np.sqrt(7) > norm.isf(v), v


def draw_classes(rng, n_streams, n_rows):
    proba = rng.dirichlet([0.5, 1, 2], (n_streams, n_rows))
    edges = proba.cumsum(axis=-1)[..., :2]
    return (rng.random((n_streams, n_rows, 1)) > edges).sum(axis=-1), proba


# How calibrated streams are drawn, and settings of their monitors.
CALIBRATED = {
    "independent": (play(lambda u, sums, last: u), {}),
    "follows labels": (play(lambda u, sums, last: 0.1 + 0.8 * last.mean(axis=0)), {}),
    "adversary": (play(lambda u, sums, last: np.where(sums > 0, 0.02, 0.6) + 0.3 * last[0]), {}),
    "hard": (play(lambda u, sums, last: np.clip(np.round(1.6 * u - 0.3, 1), 0, 1)), {}),
    "rare": (play(lambda u, sums, last: 1e-3 * u / (1 - u + 1e-3)), {}),
    "edges": (play(lambda u, sums, last: u, shift=(-0.3, 0.3)), {"tolerance": 0.3}),
    "too low": (play(lambda u, sums, last: u, shift=0.3), {"tolerance": 0.3}),
    "weeks": (draw_weeks, {"lag": 7}),
    "classwise": (draw_classes, {"labels": [0, 1, 2], "reduction": "classwise"}),
    "confidence": (draw_classes, {"labels": [0, 1, 2]}),
}
