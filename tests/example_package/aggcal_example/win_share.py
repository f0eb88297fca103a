"""The share of its judgments that an item won."""

from __future__ import annotations

from aggcal import Consensus, Judgments


class WinShare:
    """The simplest aggregator there is."""

    def fit(self, judgments: Judgments) -> Consensus:
        """Count."""
        won, lost = judgments.wins_and_losses
        return Consensus.of(judgments, won / (won + lost), method="win-share")
