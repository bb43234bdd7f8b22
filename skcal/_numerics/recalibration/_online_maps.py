"""Maps of class scores that learn from each row: a slope of the logits, and intercepts.

The logits of a map are (1 + c) t + b, with t the logarithms of probabilities below the largest of
the row, cut at -700. A map minimises the log loss of new rows plus a square that stands for the
rows before, which count less and less, and for a prior that c and b are 0, which counts as much as
ever.
"""

import numpy as np

# Logits lie no further below the largest of their row than this: beyond, powers underflow.
DEPTH = 700.0
# Curvature of the prior, of the slope and of the log odds of two classes: as much as 4 rows with
# probabilities of 1/2 say of the log odds, or 200 of which one is an event.
PRIOR = 1.0
# Newton steps end where the next one promises to gain less than this.
_SMALLEST_GAIN = 1e-20
# Steps that promise less than this need no look at the loss.
_SAFE_GAIN = 1e-6
_MOST_STEPS = 50


def find_basis(n_classes):
    """How intercepts count in each class, (n_classes, n_intercepts); two classes have one."""
    return np.eye(n_classes)[:, 1:] if n_classes == 2 else np.eye(n_classes)


def list_prior(n_classes):
    """Curvature of the prior of the slope and of the intercepts, two of which make log odds."""
    n_intercepts = find_basis(n_classes).shape[1]
    return np.append(PRIOR, np.full(n_intercepts, PRIOR if n_classes == 2 else 2 * PRIOR))


def make_maps(n_maps, n_classes):
    """Coefficients (n_maps, 1 + n_intercepts) and curvatures of maps that change nothing."""
    prior = list_prior(n_classes)
    return np.zeros((n_maps, len(prior))), np.tile(np.diag(prior), (n_maps, 1, 1))


def cut_logits(logs):
    """Logits that maps read, by logarithms of probabilities; 0 is the largest of a row."""
    return np.maximum(logs - logs.max(axis=-1, keepdims=True), -DEPTH)


def find_discounts(memories, n):
    """What is left of the weight of earlier rows after n more, by map."""
    return np.exp([0.0 if rows is None else -n / rows for rows in memories])


def apply_maps(coefficients, logs):
    """Logarithms of probabilities under each map, (n_maps, n, n_classes), by those of scores."""
    intercepts = coefficients[:, 1:] @ find_basis(logs.shape[1]).T
    logits = (1 + coefficients[:, :1, None]) * cut_logits(logs) + intercepts[:, None]
    logits = np.where(logs == -np.inf, -np.inf, logits)
    logits -= logits.max(axis=2, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))


def learn_batch(coefficients, curvatures, logs, codes, weights, memories):
    """Coefficients and curvatures after rows whose order does not matter, by damped Newton steps.

    A map minimises their log loss plus the square that stands for earlier rows and the prior.
    """
    left = find_discounts(memories, weights.sum())[:, None, None]
    known = left * curvatures
    past = known + (1 - left) * np.diag(list_prior(logs.shape[1]))
    start = maps = np.linalg.solve(past, known @ coefficients[:, :, None])[:, :, 0]
    find_likelihood, find_slope = _describe_batch(logs, codes, weights)

    def find_loss(maps):
        gap, (loss, logits) = maps - start, find_likelihood(maps)
        return loss + np.einsum("mi,mij,mj->m", gap, past, gap) / 2, logits

    loss, logits = find_loss(maps)
    for _ in range(_MOST_STEPS):
        gradient, curvature = find_slope(logits)
        gradient += (past @ (maps - start)[:, :, None])[:, :, 0]
        curvature += past
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        gain = (gradient * step).sum(axis=1) / 2
        if (gain <= _SMALLEST_GAIN).all():
            return maps - step, curvature
        size = np.ones(len(maps))
        while True:
            new = maps - size[:, None] * step
            new_loss, new_logits = find_loss(new)
            # The losses of neighbours are the same up to rounding.
            is_bad = (gain > _SAFE_GAIN) & (new_loss > loss - size * gain / 2)
            if not is_bad.any():
                break
            size[is_bad] /= 2
        maps, loss, logits = new, new_loss, new_logits
    return maps, curvature


def _describe_batch(logs, codes, weights):
    """Functions that find the log loss of maps, and its gradient and curvature.

    Logits have the shape (n_maps, n_classes, n): sums over few classes take a fraction of the time.
    """
    rows, n_classes = np.arange(len(codes)), logs.shape[1]
    tilt, is_zero = np.ascontiguousarray(cut_logits(logs).T), np.isneginf(logs).T
    basis, has_zeros = find_basis(n_classes), is_zero.any()
    outcomes = np.zeros(tilt.shape)
    outcomes[codes, rows] = weights

    def find_loss(maps):
        logits = (1 + maps[:, :1, None]) * tilt + (maps[:, 1:] @ basis.T)[:, :, None]
        if has_zeros:
            logits[:, is_zero] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -logits[:, codes, rows] @ weights, logits

    def find_slope(logits):
        proba = np.exp(logits)
        weighted = proba * weights
        residuals = weighted - outcomes
        gradient = np.empty((len(proba), 1 + basis.shape[1]))
        gradient[:, 0] = (residuals * tilt).sum(axis=(1, 2))
        gradient[:, 1:] = residuals.sum(axis=2) @ basis
        gap = tilt - (proba * tilt).sum(axis=1, keepdims=True)
        between = np.eye(n_classes) * weighted.sum(axis=2)[:, :, None]
        between -= weighted @ proba.swapaxes(1, 2)
        curvature = np.empty((*gradient.shape, gradient.shape[1]))
        curvature[:, 1:, 1:] = basis.T @ between @ basis
        weighted *= gap
        curvature[:, 0, 1:] = curvature[:, 1:, 0] = weighted.sum(axis=2) @ basis
        curvature[:, 0, 0] = (weighted * gap).sum(axis=(1, 2))
        return gradient, curvature

    return find_loss, find_slope
