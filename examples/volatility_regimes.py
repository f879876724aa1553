"""Regimes of volatility: how many, how risky, how long, and where the market is now, with credible intervals.

The returns are made by a formula: three regimes (calm, nervous, crisis) that last 80, 40 and 15 days on average.
"""

import numpy as np

import tunbridge as tb


def made_returns(n_days=1500, seed=7):
    """Return daily returns in per cent, and the regime of each day."""
    rng = np.random.default_rng(seed)
    transitions = np.array([[0.9875, 0.01125, 0.00125], [0.0175, 0.975, 0.0075], [0.0, 1 / 15, 14 / 15]])
    means, deviations = np.array([0.07, 0.0, -0.3]), np.array([0.6, 1.4, 3.5])
    regime = np.zeros(n_days, int)
    for day in range(1, n_days):
        regime[day] = rng.choice(3, p=transitions[regime[day - 1]])
    return means[regime] + deviations[regime] * rng.standard_normal(n_days), regime


def deviations(hmm):
    """Return the standard deviation of each state."""
    return np.sqrt(hmm.emissions_.covariances[:, 0])


returns, regime = made_returns()

# Six states at most: how many do the returns need?
hmm = tb.HiddenMarkovModel(
    6, tb.emissions.Gaussian("diagonal"), bayesian="gibbs", weak_limit=1.0, sticky=10.0, random_state=0
).fit(returns)
print(hmm.posterior_.n_used)

# Three regimes: their risk, how long they last, and where the market is now
hmm = tb.HiddenMarkovModel(3, tb.emissions.Gaussian("diagonal"), bayesian="gibbs", sticky=10.0, random_state=0).fit(
    returns
)
order = np.argsort(deviations(hmm))
risk = hmm.posterior_.interval(deviations, 0.9)
days = hmm.posterior_.interval(lambda m: 1.0 / (1.0 - np.diagonal(m.transitions_)), 0.9)
now = hmm.predict_proba(returns, interval=0.9)
for name, k in zip(("calm", "nervous", "crisis"), order, strict=True):
    print(
        f"{name:8} deviation {risk[k, 0]:.2f} to {risk[k, 1]:.2f} %, lasts {days[k, 0]:.0f} to {days[k, 1]:.0f} days, "
        f"P(now) = {now.mean[-1, k]:.3f} ({now.low[-1, k]:.3f} to {now.high[-1, k]:.3f})"
    )
print("days in the true regime:", np.mean(np.argsort(order)[hmm.predict(returns)] == regime).round(3))
print(hmm.forecast(returns, steps=5))
