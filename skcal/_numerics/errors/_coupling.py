"""The linear program behind the lower distance from calibration, by an interior point method.

Mass lies on knots u_0 = 0 < ... < u_last = 1 in two layers, outcome 0 and outcome 1. The cheapest
way to carry it, each layer for itself, to where the layers have the proportions 1 - u : u,

    min sum_j h_j (|f0_j| + |f1_j|)   over   mass_y = p_y t + outflow of f_y,  t >= 0

with gaps h, flows f_y, a target t, p_0 = 1 - u and p_1 = u, is dual to the search for potentials,

    max sum_j mass0_j a_j + mass1_j b_j   over   |a_{j+1} - a_j| <= h_j, |b_{j+1} - b_j| <= h_j,
                                                 (1 - u_j) a_j + u_j b_j <= 0.

Feasible potentials satisfy a <= u and b <= 1 - u, because a_0 <= 0 and b_last <= 0; therefore they
stay feasible, and get no worse, when they are raised to -u and u - 1 where they are lower. The
method solves the program with these floors: the potentials are bounded then, and it converges
alike whether a class is frequent, rare or absent.
"""

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.optimize import linprog
from scipy.sparse import diags, hstack, vstack

# The interior point method goes on to this gap where rounding lets it, and gives up after so
# many steps; ten to thirty are usual.
_GAP = 1e-12
_STEPS = 150
# How far below their floor potentials may go, in mean gaps: room for an interior to start from.
_ROOM = 4.0
_HIGHS_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def bound_coupling_cost(mass, knots, slack):
    """Certified lower and upper bound of the optimum, at most `slack` apart.

    The lower bound is the value of feasible potentials, the upper one the cost of a feasible way to
    carry the mass; the lower one is the more accurate. Mass is that of outcomes 0 and 1,
    (2, n_knots), on knots that increase from 0 to 1. Raises RuntimeError if neither the interior
    point method nor HiGHS comes within the slack.
    """
    lower, upper, _ = solve_coupling(mass, knots, slack)
    return lower, upper


def solve_coupling(mass, knots, slack):
    """These bounds, and potentials near the best ones, (2, n_knots).

    The potentials are the derivatives of the optimum by the masses.
    """
    lower, upper = 0.0, np.inf
    for solve in (solve_interior_point, solve_highs):
        potentials, target = solve(mass, knots)
        lower = np.fmax(lower, evaluate_potentials(mass, knots, potentials))
        upper = np.fmin(upper, evaluate_target(mass, knots, target))
        if upper - lower <= slack:
            return float(lower), float(max(lower, upper)), potentials
    raise RuntimeError(
        f"The linear program of the lower distance was not solved to {slack:.1e}; "
        f"the optimum lies between {lower} and {upper}."
    )


def evaluate_potentials(mass, knots, potentials):
    """Value of potentials, lowered where they are infeasible by rounding."""
    # The largest function below that climbs and falls with slope 1 at most.
    potentials = np.minimum.accumulate(potentials - knots, axis=1) + knots
    potentials = np.minimum.accumulate((potentials + knots)[:, ::-1], axis=1)[:, ::-1] - knots
    excess = ((1 - knots) * potentials[0] + knots * potentials[1]).max()
    return (mass * potentials).sum() - max(0.0, excess) * mass.sum()


def evaluate_target(mass, knots, target):
    """Cost of carrying the mass to a target whose totals are set right at the ends."""
    proportions = np.stack([1 - knots, knots])
    target = np.maximum(target, 0.0)
    totals, wanted = mass.sum(axis=1), (proportions * target).sum(axis=1)
    target *= min(1.0, *np.divide(totals, wanted, where=wanted > 0, out=np.ones(2)))
    target[[0, -1]] += np.maximum(totals - (proportions * target).sum(axis=1), 0.0)
    flows = np.cumsum(mass - proportions * target, axis=1)[:, :-1]
    return (np.abs(flows) * np.diff(knots)).sum()


def solve_interior_point(mass, knots):
    """Solve by Mehrotra's predictor-corrector method from a feasible start.

    Returns potentials, (2, n_knots), and a target near the optimum; how near is for the caller to
    evaluate.
    """
    program = _Program(mass, knots)
    primal, potentials, slacks = program.start()
    with np.errstate(all="ignore"):  # what rounding does to the last steps is evaluated anyway
        for _ in range(_STEPS):
            gap = (primal * slacks).sum()
            if not gap * program.unit > _GAP:
                break
            solve = program.factorise(primal, slacks)
            if solve is None:
                break
            predicted = solve(-primal)
            reached = _move(primal, predicted[0]) * _move(slacks, predicted[2])
            center = (reached.sum() / gap) ** 3 * gap / len(primal)
            corrected = solve((center - predicted[0] * predicted[2]) / slacks - primal)
            # Not quite to the boundary, but nearer to it as the end comes.
            share = min(max(0.9, 1 - np.sqrt(gap / len(primal))), 0.9995)
            primal = _move(primal, corrected[0], share)
            step = share * _find_longest_step(slacks, corrected[2])
            potentials = potentials + step * corrected[1]
            slacks = slacks + step * corrected[2]
    return potentials * program.unit, program.split(primal)[1]


def solve_highs(mass, knots):
    """Solve by HiGHS, independently and more slowly; see `solve_interior_point`."""
    n_knots = len(knots)
    gaps = np.diff(knots)
    climb = diags([-1.0, 1.0], [0, 1], shape=(n_knots - 1, n_knots))
    none = climb * 0.0
    constraints = vstack(
        [
            hstack([climb, none]),
            hstack([-climb, none]),
            hstack([none, climb]),
            hstack([none, -climb]),
            hstack([diags(1 - knots), diags(knots)]),
        ],
        format="csr",
    )
    result = linprog(
        -mass.ravel(),
        A_ub=constraints,
        b_ub=np.concatenate([gaps, gaps, gaps, gaps, np.zeros(n_knots)]),
        bounds=(-2.0, None),  # below the floors, which must not bind
        method="highs",
        options=_HIGHS_OPTIONS,
    )
    if result.x is None:
        return np.full((2, n_knots), np.nan), np.full(n_knots, np.nan)
    return result.x.reshape(2, n_knots), -result.ineqlin.marginals[-n_knots:]


class _Program:
    """The program in standard form: the cheapest x >= 0 with take(x) = mass.

    x holds the flows to the right and to the left in both layers, the target, and what is left
    over, at the price of the floor. Costs and potentials are in units of the mean gap.
    """

    def __init__(self, mass, knots):
        n_knots = len(knots)
        self.mass = mass
        self.unit = 1 / (n_knots - 1)
        self.proportions = np.stack([1 - knots, knots])
        self.gaps = np.diff(knots) / self.unit
        self.n_flows = 4 * (n_knots - 1)
        self.n_variables = self.n_flows + 3 * n_knots
        self.band = np.zeros((3, 2 * n_knots), order="F")

    def split(self, vector):
        """Views of the flows (direction, layer, gap), the target and the rest (layer, knot)."""
        start, end = self.n_flows, self.n_flows + self.mass.shape[1]
        flows, target, rest = vector[:start], vector[start:end], vector[end:]
        return flows.reshape(2, 2, -1), target, rest.reshape(2, -1)

    def take(self, vector):
        """What leaves every knot in both layers: A x."""
        (right, left), target, rest = self.split(vector)
        taken = self.proportions * target - rest
        net = right - left
        taken[:, :-1] += net
        taken[:, 1:] -= net
        return taken

    def pay(self, potentials):
        """What the potentials pay for a unit of everything in x: A' y."""
        paid = np.empty(self.n_variables)
        (right, left), target, rest = self.split(paid)
        np.subtract(potentials[:, :-1], potentials[:, 1:], out=right)
        np.negative(right, out=left)
        np.sum(self.proportions * potentials, axis=0, out=target)
        np.negative(potentials, out=rest)
        return paid

    def start(self):
        """Positive x with take(x) = mass, potentials, and their positive slacks."""
        mass, proportions = self.mass, self.proportions
        primal = np.empty(self.n_variables)
        flows, target, rest = self.split(primal)
        totals = mass.sum(axis=1)
        target[:] = (mass.sum(axis=0) + self.unit) / 2
        target[[0, -1]] += totals
        surplus = (proportions * target).sum(axis=1) - totals
        rest[:] = surplus[:, np.newaxis] / len(target)
        net = np.cumsum(mass - proportions * target + rest, axis=1)[:, :-1]
        margin = 2 * np.abs(net).mean() + self.unit
        flows[0] = np.maximum(net, 0.0) + margin
        flows[1] = np.maximum(-net, 0.0) + margin

        potentials = np.full(mass.shape, -_ROOM / 2)
        slacks = -self.pay(potentials)
        flow_slacks, _, rest_slacks = self.split(slacks)
        flow_slacks += self.gaps
        rest_slacks += proportions[::-1] / self.unit + _ROOM
        return primal, potentials, slacks

    def factorise(self, primal, slacks):
        """Prepare Newton steps: a function of the aim that gives dx, dy and dz with

        A dx = mass - A x,  dx + (x / z) dz = aim,  A' dy + dz = 0,

        or None where rounding lets there be none.
        """
        scale = primal / slacks
        factor, info = dpbtrf(self._fill_band(scale), lower=True)
        if info:  # by rounding
            return None
        missing = self.mass - self.take(primal)

        def solve(aim):
            right = missing - self.take(aim)  # the layers are interleaved in the band
            solution, _ = dpbtrs(factor, right.T.ravel(), lower=True, overwrite_b=True)
            potentials = np.ascontiguousarray(solution.reshape(-1, 2).T)
            slacks = -self.pay(potentials)
            return aim - scale * slacks, potentials, slacks

        return solve

    def _fill_band(self, scale):
        """Lower band of A diag(scale) A'."""
        flows, target, rest = self.split(scale)
        both = flows.sum(axis=0)
        diagonal = target * self.proportions**2 + rest
        diagonal[:, :-1] += both
        diagonal[:, 1:] += both
        band = self.band
        band[0, 0::2], band[0, 1::2] = diagonal
        band[1, 0::2] = target * self.proportions[0] * self.proportions[1]
        band[2, 0:-2:2], band[2, 1:-2:2] = -both
        return band


def _find_longest_step(vector, direction):
    """The longest step up to 1 that keeps a positive vector from turning negative."""
    worst = (direction / vector).min()
    return 1.0 if worst >= -1 else -1 / worst


def _move(vector, direction, share=1.0):
    return vector + share * _find_longest_step(vector, direction) * direction
