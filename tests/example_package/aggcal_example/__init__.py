"""A package of somebody else's: a method and a format, registered by entry points."""

from __future__ import annotations

from aggcal.registry import MethodInfo

METHOD = MethodInfo(
    "win-share",
    "aggcal_example.win_share:WinShare",
    "the share of its judgments that an item won",
    "an item is as good as the share of its judgments that it won",
)
