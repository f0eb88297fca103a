"""A package of somebody else's: a method and a format, registered by entry points."""

from __future__ import annotations

from aggcal.registry import FormatInfo, MethodInfo

METHOD = MethodInfo(
    "win-share",
    "aggcal_example.win_share:WinShare",
    "the share of its judgments that an item won",
    "an item is as good as the share of its judgments that it won",
)
FORMAT = FormatInfo(
    "sentences",
    "aggcal_example.sentences:FORMAT",
    "votes as sentences: 'ann prefers a to b' below a line '#votes'",
)
