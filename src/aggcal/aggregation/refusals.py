"""Refuse what judgments do not determine."""

from __future__ import annotations

from typing import NoReturn

from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError


def refuse_apart(judgments: Judgments, item: int) -> NoReturn:
    """Refuse to place an item that nothing relates to the others."""
    raise TooLittleDataError(
        f"{judgments.source}: item '{judgments.item_ids[item]}' was compared with no item of the "
        "consensus; add such a judgment or leave it out."
    )


def refuse_pieces(judgments: AnyJudgments) -> None:
    """Refuse errors that would be endless: without a prior nothing relates separate pieces."""
    pieces = len(judgments.graph.component_sizes)
    if pieces > 1:
        raise OptionError(
            f"the comparisons form {pieces:,} connected components and there is no prior, so "
            "scores of different components have no common scale; use a prior (the default)."
        )
