"""How sure one can be: tails of sums of unequal coins, and many tests at once."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from aggcal._core.arrays import BoolArray, FloatArray

_EXACT = 2000
"""Coins up to which the distribution of their sum is worked out in full."""


def benjamini_hochberg(p_values: FloatArray, rate: float) -> BoolArray:
    """Choose among many tests those that stand out, wrong ones being at most a share of them.

    The rule of Benjamini and Hochberg: where nothing is to be found, anything at all is chosen
    with at most the chance ``rate``.

    Parameters
    ----------
    chances
        One p-value per test.
    rate
        Expected share of wrong ones among the chosen.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.001, 0.2, 0.011, 0.9]), 0.05).tolist()
    [True, False, True, False]
    """
    number = len(p_values)
    order = np.argsort(p_values, kind="stable")
    passed = np.flatnonzero(p_values[order] <= rate * np.arange(1, number + 1) / max(number, 1))
    chosen = np.zeros(number, dtype=bool)
    if len(passed):
        chosen[order[: passed[-1] + 1]] = True
    return chosen


def holm(p_values: FloatArray, rate: float) -> BoolArray:
    """Choose among many tests those that stand out; any wrong one has at most the chance ``rate``.

    Holm's step-down rule. It controls the chance of a single false accusation, also where there
    are true ones beside it, which the rule of Benjamini and Hochberg does not.

    Parameters
    ----------
    chances
        One p-value per test.
    rate
        Chance that anything at all is chosen wrongly.

    Examples
    --------
    >>> holm(np.array([0.001, 0.2, 0.016, 0.9]), 0.05).tolist()
    [True, False, True, False]
    """
    number = len(p_values)
    order = np.argsort(p_values, kind="stable")
    failed = np.flatnonzero(p_values[order] > rate / np.arange(number, 0, -1))
    chosen = np.zeros(number, dtype=bool)
    chosen[order[: failed[0] if len(failed) else number]] = True
    return chosen


def probability_of_at_least(successes: int, p_values: FloatArray) -> float:
    """Return the chance that independent events of these chances happen at least so often.

    Examples
    --------
    Four fair coins show at least three heads in 5 of 16 cases:

    >>> probability_of_at_least(3, np.full(4, 0.5))
    0.3125
    """
    if successes <= 0:
        return 1.0
    if successes > len(p_values):
        return 0.0
    if len(p_values) > _EXACT:
        sd = float(np.sqrt(np.sum(p_values * (1.0 - p_values))))
        return float(ndtr((float(p_values.sum()) - successes + 0.5) / max(sd, 1e-12)))
    number = np.zeros(len(p_values) + 1)
    number[0] = 1.0
    for k, p_value in enumerate(p_values.tolist(), 1):
        number[1 : k + 1] += p_value * (number[:k] - number[1 : k + 1])
        number[0] *= 1.0 - p_value
    return float(min(1.0, max(0.0, number[successes:].sum())))


def odds_against(p_value: float) -> str:
    """Say in words how small a probability is.

    Examples
    --------
    >>> odds_against(0.00123), odds_against(1e-12)
    ('with probability 1 in 810', 'with probability below one in a million')
    """
    if p_value < 1e-6:  # noqa: PLR2004  # beyond that the model is what one doubts
        return "with probability below one in a million"
    times = 1.0 / p_value
    digits = -int(np.floor(np.log10(times))) + 1
    return f"with probability 1 in {int(round(times, digits)):,}"
