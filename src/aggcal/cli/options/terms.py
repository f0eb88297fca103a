"""What a judgment may depend on beside items and reliabilities: ties, sides, contexts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.registry import CONTEXT_USES, SWITCHES, TIES

if TYPE_CHECKING:
    from aggcal.models.general.terms import Terms


def add_terms(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    group.add_argument(
        "--ties",
        choices=TIES,
        default=TIES[0],
        help="davidson: each annotator has a readiness to call a tie; rao-kupper: a threshold "
        "instead; halves: a tie counts as half a win for each side; auto: davidson where there "
        "are ties (hra-g), else halves",
    )
    group.add_argument(
        "--position",
        choices=SWITCHES,
        default=SWITCHES[0],
        help="estimate each annotator's preference for the left item and take it out of the "
        "scores; auto: where the sides are known and the data show a preference",
    )
    group.add_argument(
        "--context-effects",
        choices=CONTEXT_USES,
        default=CONTEXT_USES[0],
        help="with --context: fit how each item does in each context (fit), only allow for it in "
        "the standard errors (errors), or ignore it (off); auto: fit if items were judged "
        "repeatedly in a context",
    )
    group.add_argument(
        "--bridge",
        action="store_true",
        help="also find the axis along which annotators disagree most, and the common ground",
    )


def terms_from(options: argparse.Namespace) -> Terms | None:
    """Return the terms, None where all are left to aggcal.

    Examples
    --------
    >>> typed = {"position": "off", "context_effects": "auto", "bridge": False}
    >>> terms_from(argparse.Namespace(ties="halves", **typed)).position
    'off'
    """
    from aggcal.models.general.terms import DEFAULT, Terms

    found = Terms(
        ties=options.ties,
        position=options.position,
        context=options.context_effects,
        bridge=options.bridge,
    )
    return None if found == DEFAULT else found
