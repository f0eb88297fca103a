"""Integrate the annotators out at a place: values of the unknowns and of the spreads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.models.general.annotators import RELIABILITY, Integration, Known, Pairs, Point
from aggcal.models.general.compiled_sums import Prior, sums_of
from aggcal.models.general.sums import Layout, Sums

_NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class Place:
    """Where the annotators are integrated out, in terms that need no rows."""

    unknowns: FloatArray
    covariance: FloatArray
    """Of the unknowns that gaps are made of: a matrix, or its diagonal."""
    cap: float
    """Largest sd of a row's gap that is averaged over."""
    sds: FloatArray
    """Of the annotators' parameters."""
    tilt: float
    """What holds the unit (see `aggregation.general.problem`)."""
    log_shares: tuple[float, float]
    """Logarithms of the shares of those who answer as asked, and the other way round."""
    grades: FloatArray
    known_means: Mapping[str, float]
    """Prior means of the annotators' parameters that are not among the unknowns."""
    hopeless: BoolArray | None
    close: float
    roughly: bool = False
    """See `Integration.roughly`."""


def prior_means(layout: Layout, shares: FloatArray, place: Place) -> FloatArray:
    """Return the prior means of the annotators' parameters, annotators by parameters."""
    means = np.zeros((len(shares), len(layout.names)))
    for k, name in enumerate(layout.names):
        if name == RELIABILITY:
            means[:, k] = 1.0 + place.sds[k] ** 2 * place.tilt * shares
        elif name in layout.means:
            means[:, k] = place.unknowns[layout.at_means + layout.means.index(name)]
        else:
            means[:, k] = place.known_means.get(name, 0.0)
    return means


def toward_unit(known: Known, shares: FloatArray) -> FloatArray:
    """Return w_u p_k (ρ_k − ρ̄), annotators by nodes."""
    return np.asarray(shares[:, None] * known.weights * known.off(known.strengths))


@singledispatch
def integrate(
    integration: Integration, layout: Layout, shares: FloatArray, place: Place
) -> tuple[Sums, FloatArray]:
    """Integrate at a place; return the sums over the rows, and the annotators' prior means.

    Parameters
    ----------
    integration, layout
        The annotators, and the rows that they answered.
    shares
        w_u: the share of all judgments that each annotator gave.
    place
        Where.
    """
    x, design = place.unknowns, layout.design
    means = prior_means(layout, shares, place)
    integration.roughly = place.roughly
    scores, variances = x[: design.size], place.covariance
    pairs = None
    if design.paired and variances.ndim == 1 and integration.takes_pairs(place.grades):
        pairs = Pairs(design.columns, scores, variances, place.cap)
    known = integration.evaluate(
        Point(
            design.gaps(scores) if pairs is None else _NONE,
            design.row_sds(variances, place.cap) if pairs is None else _NONE,
            means,
            place.sds,
            place.log_shares,
            layout.axis_gaps(x),
            layout.readiness(x),
            place.grades,
            place.hopeless,
            place.close,
            pairs,
        )
    )
    prior = Prior(place.sds, means)
    return sums_of(layout, integration, known, prior, toward_unit(known, shares)), means
