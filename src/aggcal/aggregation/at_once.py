"""The base of what quantifies a fit whose posterior is already known."""

from __future__ import annotations

from dataclasses import dataclass

from aggcal.aggregation.estimate import Quantify


@dataclass(frozen=True, eq=False)
class QuantifyAtOnce(Quantify):
    """Knows the posterior of its fit already."""

    @property
    def quick(self) -> bool:
        """It takes no refits."""
        return True
