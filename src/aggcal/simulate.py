"""Judgments and scores whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from aggcal.arrays import CodeArray, FloatArray, TextArray
from aggcal.errors import OptionError
from aggcal.tables import Columns, as_text


@dataclass(frozen=True, eq=False)
class Simulation:
    """A study with its truth.

    ``latent`` is the score on the link's scale that generated the judgments (mean 0, sd 1);
    ``truth`` the same in the model's units; ``reliability`` each annotator's true γ.
    """

    item_ids: TextArray
    latent: FloatArray
    truth: FloatArray
    model: FloatArray
    annotator_ids: TextArray
    reliability: FloatArray
    annotator: CodeArray
    winner: CodeArray
    loser: CodeArray

    @property
    def judgments(self) -> Columns:
        """The judgments table, short form."""
        return {
            "annotator": self.annotator_ids[self.annotator],
            "winner": self.item_ids[self.winner],
            "loser": self.item_ids[self.loser],
        }

    @property
    def scores(self) -> Columns:
        """The model's scores."""
        return {"item": self.item_ids, "score": self.model}

    @property
    def truths(self) -> Columns:
        """The truth, in the model's units and on the link's scale."""
        return {"item": self.item_ids, "truth": self.truth, "latent": self.latent}

    @property
    def annotators(self) -> Columns:
        """The true reliabilities."""
        return {"annotator": self.annotator_ids, "reliability": self.reliability}


def simulate(
    *,
    items: int = 100,
    annotators: int = 30,
    judgments: int = 3000,
    link: str = "logistic",
    reliability_sd: float = 0.5,
    reversed_share: float = 0.0,
    location: float = 50.0,
    scale: float = 10.0,
    model_sd: float = 10.0,
    model_bias: float = 0.0,
    model_slope: float = 1.0,
    seed: int = 0,
) -> Simulation:
    """Simulate a study: random pairs, log-normal reliabilities, a noisy model.

    Parameters
    ----------
    items, annotators, judgments
        How many of each.
    link
        The link that turns γ_u (s_i − s_j) into a chance: ``logistic``, ``normal``, ``laplace``.
    reliability_sd
        Standard deviation of log γ; the mean reliability (of its size) is 1.
    reversed_share
        Share of annotators who answer the other way round (γ < 0).
    location, scale
        truth = location + scale · latent.
    model_sd, model_bias, model_slope
        model = location + bias + slope · (truth − location) + noise of this sd.
    seed
        Of everything random.

    Examples
    --------
    >>> study = simulate(items=20, annotators=5, judgments=100, seed=1)
    >>> len(study.winner), round(float(study.latent.std()), 6), len(study.reliability)
    (100, 1.0, 5)
    """
    from aggcal.models.links import link as link_of  # waits for SciPy

    for name, number, least in (
        ("items", items, 2),
        ("annotators", annotators, 1),
        ("judgments", judgments, 1),
        ("model_sd", model_sd, 0),
        ("reliability_sd", reliability_sd, 0),
    ):
        if not least <= number < inf:
            raise OptionError(f"{name} is {number}; give at least {least}.")
    for name, number in (
        ("location", location),
        ("scale", scale),
        ("model_bias", model_bias),
        ("model_slope", model_slope),
    ):
        if not isfinite(number):
            raise OptionError(f"{name} is {number}; give a finite number.")
    if seed < 0:
        raise OptionError(f"the seed is {seed}; give a whole number from 0 on.")
    if not 0.0 <= reversed_share <= 1.0:
        raise OptionError(f"the reversed share is {reversed_share}; give a number from 0 to 1.")
    chance = link_of(link).probability
    random = np.random.default_rng(seed)
    latent = random.standard_normal(items)
    latent = (latent - latent.mean()) / latent.std()
    reliability = np.exp(reliability_sd * random.standard_normal(annotators))
    reliability /= reliability.mean()
    turned = random.permutation(annotators)[: round(reversed_share * annotators)]
    reliability[turned] *= -1.0

    annotator = random.integers(annotators, size=judgments, dtype=np.int32)
    first = random.integers(items, size=judgments, dtype=np.int32)
    second = random.integers(items - 1, size=judgments, dtype=np.int32)
    second += second >= first
    ahead = chance(reliability[annotator] * (latent[first] - latent[second]))
    wins = random.random(judgments) < ahead
    truth = location + scale * latent
    noise = model_sd * random.standard_normal(items)
    return Simulation(
        _numbered("item", items),
        latent,
        truth,
        location + model_bias + model_slope * (truth - location) + noise,
        _numbered("annotator", annotators),
        reliability,
        annotator,
        np.where(wins, first, second),
        np.where(wins, second, first),
    )


def _numbered(noun: str, number: int) -> TextArray:
    digits = len(str(number))
    return as_text(f"{noun}-{k:0{digits}d}" for k in range(1, number + 1))
