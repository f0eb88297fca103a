"""The scales that consensus scores can be told in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScaleInfo:
    """A scale of the consensus."""

    name: str
    column: str
    """Its column in ``items.csv``."""
    title: str
    """Its heading in the report."""
    means: str
    """What its numbers mean, in a line of the report."""
    linked: bool = True
    """Whether it needs to know how often an item wins."""


ELO = ScaleInfo(
    "elo",
    "elo",
    "Elo",
    "Elo ratings: an item 400 points ahead of another wins against it ten times as often as it "
    "loses",
)
HUNDRED = ScaleInfo(
    "0-100",
    "score_0_100",
    "0–100",
    "consensus scores, stretched so that the lowest item has 0 and the highest 100",
    linked=False,
)
WIN = ScaleInfo(
    "win",
    "win_probability",
    "Wins",
    "probability that a typical annotator prefers the item to one of average score",
)
SCALES = {scale.name: scale for scale in (ELO, HUNDRED, WIN)}
"""The scales by name."""
