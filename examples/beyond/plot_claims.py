"""
Are predicted claims right, and for whom?
=========================================

A tariff predicts how many claims a policy makes in a year. It was fitted two years ago: since then
claims have become 15 % more frequent, and young drivers always were worse than it knows. Targets
are claims per year, and weights the years that a policy was in force.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skcal.diagrams import (
    ConcentrationDisplay,
    GroupAuditDisplay,
    MeanReliabilityDisplay,
    RegressionMurphyDisplay,
)
from skcal.inference import (
    actual_expected_ratio,
    audit_mean_groups,
    mean_calibration_test,
    mean_recalibration,
)
from skcal.regression import AutoMeans


def draw_policies(rng, n_policies, trend=1.0):
    """Policies, their claims per year, and the years that they were in force."""
    policies = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_policies),
            "power": rng.gamma(8, 10, n_policies),
            "town": rng.random(n_policies) < 0.4,
        }
    )
    rate = 0.15 * np.exp(0.4 * policies["town"] + 0.004 * (policies["power"] - 80))
    rate *= trend * np.where(policies["age"] < 26, 2.5, 1.0)
    years = rng.uniform(0.1, 1, n_policies)
    return policies, rng.poisson(rate * years) / years, years


# %%
# The tariff has no bend at 26, only a slope in age:

rng = np.random.default_rng(0)
policies, claims, years = draw_policies(rng, 40_000)
tariff = make_pipeline(StandardScaler(), PolynomialFeatures(1), PoissonRegressor(alpha=1e-6))
tariff.fit(policies, claims, poissonregressor__sample_weight=years)

policies, claims, years = draw_policies(rng, 40_000, trend=1.15)
rate = tariff.predict(policies)

# %%
# **As a whole** it predicts too few claims, which actual over expected (A/E) tells with an
# interval. A test that looks at all predictions agrees:

print("A/E:", actual_expected_ratio(claims, rate, sample_weight=years))
print(mean_recalibration(claims, rate, power=1, sample_weight=years))
test = mean_calibration_test(claims, rate, sample_weight=years, random_state=0)
print(f"p-value: {test.pvalue:.3f}")

# %%
# **For whom?** Groups of policies are audited all at once, without a model of claims:

table = policies.assign(age=pd.cut(policies["age"], [0, 25, 40, 60, 80]).astype(str))[
    ["age", "town"]
]
audit = audit_mean_groups(claims, rate, table, sample_weight=years, max_depth=1, random_state=0)
display = GroupAuditDisplay.from_audit(audit)

# %%
# **A repair** of the prediction alone corrects what depends on it: the level, and a slope. It is
# fitted on half of the policies, and seen on the others. ``AutoMeans`` reads exposures as numbers
# of rows: let them be about 1 on average (years, not days).

past, new = slice(0, 20_000), slice(20_000, None)
repair = AutoMeans(power=1).fit(rate[past, None], claims[past], sample_weight=years[past])
models = {"tariff": rate[new], "repaired": repair.transform(rate[new, None])[:, 0]}
display = MeanReliabilityDisplay.from_predictions(claims[new], models, sample_weight=years[new])

# %%
# Premiums of good and bad risks differ about as much as their claims: the area between the
# concentration and the Lorenz curve (ABC) is small, before the repair and after it.

display = ConcentrationDisplay.from_predictions(claims[new], models, sample_weight=years[new])

# %%
# The level is right now, in towns and in the country. The young are still too cheap, and those
# between 25 and 60 pay for them: a map of the prediction does not know who they are. That needs a
# feature in the tariff.

audit = audit_mean_groups(
    claims[new],
    models["repaired"],
    table.iloc[new],
    sample_weight=years[new],
    max_depth=1,
    random_state=0,
)
display = GroupAuditDisplay.from_audit(audit)

# %%
# **With that feature** the tariff loses less, whichever score of means one takes: the old one lies
# above the band of the difference from .13 to .56, where nearly all rates are, and hardly differs
# elsewhere.

is_young = policies["age"] < 26
better = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-6))
better.fit(
    policies[past].assign(young=is_young),
    claims[past],
    poissonregressor__sample_weight=years[past],
)
models["with age"] = better.predict(policies[new].assign(young=is_young))
display = RegressionMurphyDisplay.from_predictions(claims[new], models, sample_weight=years[new])
plt.show()
