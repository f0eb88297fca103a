r"""Where the scale of the consensus lies, when it is shared between scores and reliabilities.

The likelihood does not change along (c·s, γ/c); the priors alone fix c. The optimum is the joint
mode, and along that direction the mode is not the middle: there is far more room at larger c when
there are more items than annotators, and at smaller c when there are fewer. Marginally,

    p(c) ∝ c^(n' − m') exp(−c² Σs²/(2 score_sd²) − Σ(γ/c − 1)²/(2 reliability_sd²)) / c,

with n' and m' the numbers of scores and reliabilities that the data, not the priors, determine.
With 30 annotators, 100 items and 200 judgments each the scores at the optimum are 20% too small.
The optimum is what is reported; intervals are about c̄·s, and standard errors count the difference.
"""

from __future__ import annotations

import numpy as np

from aggcal.arrays import FloatArray
from aggcal.models.information import Information
from aggcal.models.priors import Prior

_FURTHEST = 1.5
_STEPS = 2001


def posterior_scale(
    scores: FloatArray, reliabilities: FloatArray, information: Information, prior: Prior
) -> float:
    """Return c̄, the posterior mean of the scale relative to the optimum's.

    Parameters
    ----------
    scores, reliabilities
        At the optimum.
    information
        There.
    prior
        Of both.
    """
    tight, firm = prior.score_precision, prior.reliability_precision
    free = len(scores) - tight * float(np.sum(1.0 / information.diagonal()))
    known = len(reliabilities) - firm * float(np.sum(1.0 / information.inner))
    log_scale = np.linspace(-_FURTHEST, _FURTHEST, _STEPS)
    scale = np.exp(log_scale)
    size = float(scores @ scores)
    first, second = float(reliabilities.sum()), float(reliabilities @ reliabilities)
    apart = second / scale**2 - 2.0 * first / scale + len(reliabilities)
    log_density = (free - known) * log_scale - 0.5 * tight * size * scale**2 - 0.5 * firm * apart
    density = np.exp(log_density - log_density.max())
    return float(density @ scale / density.sum())
