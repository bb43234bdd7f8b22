"""200 resamples of smECE and of its curve, against relplot's diagram with 200 resamples.

relplot draws nothing here: only the computations behind its `rel_diagram` are timed.
"""

import numpy as np
from timing import make_predictions, median_times

from skcal._numerics._resampling import bootstrap_diagram, find_percentile_band
from skcal._sample import Sample
from skcal.metrics import smooth_ece_curve

try:
    from relplot.diagrams import prepare_rel_diagram
except ImportError:
    prepare_rel_diagram = None

N_RESAMPLES = 200


def resample_both(y, proba, weights=None):
    """All that a diagram needs: curve, smECE, their resamples and the band."""
    curve = smooth_ece_curve(y, proba, sample_weight=weights)
    resampler = Sample(proba, y, weights).resampler(curve.bandwidth)
    values, curves = bootstrap_diagram(
        resampler, curve.bandwidth, 201, N_RESAMPLES, np.random.default_rng(0)
    )
    return values, find_percentile_band(curves, 0.95)


def make_calibrated(n):
    rng = np.random.default_rng(1)
    proba = rng.beta(1.2, 2.0, n)
    return (rng.random(n) < proba).astype(int), proba


print("     n | miscalibrated  calibrated    weighted | relplot: miscalibrated, calibrated")
for n in (10**3, 10**4, 10**5, 10**6):
    y, proba = make_predictions(n)
    weights = np.random.default_rng(2).exponential(size=n)
    calibrated = make_calibrated(n)
    functions = [
        lambda y=y, p=proba: resample_both(y, p),
        lambda data=calibrated: resample_both(*data),
        lambda y=y, p=proba, w=weights: resample_both(y, p, w),
    ]
    if prepare_rel_diagram is not None and n <= 10**5:
        for labels, scores in ((y, proba), calibrated):
            functions.append(
                lambda y=labels, p=scores: prepare_rel_diagram(p, y, num_bootstrap=N_RESAMPLES)
            )
    seconds = median_times(functions, repeats=3 if n < 10**6 else 1)
    line = f"{n:6.0e} | {seconds[0]:11.2f} s {seconds[1]:9.2f} s {seconds[2]:9.2f} s |"
    for peer, ours in zip(seconds[3:], seconds, strict=False):
        line += f" {peer:7.1f} s {peer / ours:4.0f}x"
    print(line, flush=True)
if prepare_rel_diagram is None:
    print("relplot is absent: pip install relplot==1.0.3")
