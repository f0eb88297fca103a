"""Which terms of the general model are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from aggcal.data.control import Control
from aggcal.errors import OptionError, check_choice
from aggcal.registry import BRIDGES, CONTEXT_USES, SWITCHES, TIES
from aggcal.registry.literals import Bridge, ContextUse, Switch, Ties


@dataclass(frozen=True)
class Terms:
    """What a judgment depends on beside the two items and the annotator's reliability.

    Parameters
    ----------
    ties
        ``davidson``: a readiness to call a tie for each annotator; ``rao-kupper``: a threshold for
        each instead; ``halves``: a tie counts as half a win for each side. ``auto``: Davidson's
        wherever there are ties. Strengths ("much better") count with Davidson's only.
    position
        A common and a personal preference for the left side. ``auto``: where the sides are known
        and the data are more probable with it.
    context
        What an item does in one context (a prompt, a session, a screen), where the judgments have
        contexts. ``fit``: as effects in the fit; ``errors``: only in the standard errors;
        ``auto``: in the fit if pairs of item and context repeat.
    categories
        Whether items have a score in each category, where the judgments have categories.
    control
        What is to be held equal, such as the length of an answer: a `Control`.
    bridge
        Whether disagreement is looked for. ``axis`` (or True): one axis along which annotators
        differ; ``camps``: two or three camps, each with scores of its own, where those predict
        held-out annotators better than one order and than an axis do; ``auto``: camps if that is
        so, else the axis.
    criteria_weights
        Where the judgments have several criteria: the weight of each, such as
        ``{"content": 2, "style": 1}``. Scores are then the weighted mean of an item's scores by
        criterion; without weights, they are what the criteria have in common.

    Examples
    --------
    >>> Terms(ties="halves", position="off").ties
    'halves'
    """

    ties: Ties = "auto"
    position: Switch = "auto"
    context: ContextUse = "auto"
    categories: bool = True
    control: Control | None = None
    bridge: Bridge | bool = "off"
    criteria_weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.criteria_weights is not None:
            _check_weights(self.criteria_weights)
        if isinstance(self.bridge, bool):
            object.__setattr__(self, "bridge", "axis" if self.bridge else "off")
        known = (
            ("ties", TIES),
            ("position", SWITCHES),
            ("context", CONTEXT_USES),
            ("bridge", BRIDGES),
        )
        for name, choices in known:
            check_choice(name, getattr(self, name), choices)

    @property
    def plain(self) -> bool:
        """Whether nothing but items and reliabilities is asked for."""
        return self == PLAIN


def _check_weights(weights: Mapping[str, float]) -> None:
    for name, weight in weights.items():
        if not 0.0 <= weight < inf:
            raise OptionError(
                f"--criteria-weights: the weight {weight:g} of '{name}' is not a number of at "
                "least 0; correct it."
            )
    if not sum(weights.values()) > 0.0:
        raise OptionError("--criteria-weights: no criterion has a weight above 0; give one.")


DEFAULT = Terms()
"""Everything is decided by the data."""
PLAIN = Terms(ties="halves", position="off", context="off", categories=False)
"""Items and reliabilities only."""
