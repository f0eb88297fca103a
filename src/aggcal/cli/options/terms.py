"""What a judgment may depend on beside items and reliabilities: ties, sides, contexts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.console import Console
from aggcal.registry import BRIDGES, CONTEXT_USES, SWITCHES, TIES

if TYPE_CHECKING:
    from aggcal.data.control import Control
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
        "--control",
        metavar="FILE",
        help="table of what to hold equal, such as length or style: item, numeric columns of any "
        "name, and the column of --context if an item's values depend on it; scores are then those "
        "of items that do not differ in it",
    )
    group.add_argument(
        "--criteria-weights",
        type=_weights,
        metavar="NAME=WEIGHT[,...]",
        help="with --criteria all: order the items by the weighted mean of their scores by "
        "criterion, such as content=2,style=1; without it, by what the criteria have in common",
    )
    group.add_argument(
        "--bridge",
        nargs="?",
        choices=BRIDGES,
        const=BRIDGES[0],
        default="off",
        help="also find how annotators disagree, and the common ground: along one axis (axis, also "
        "without a word after it), in camps, or whichever predicts others better (auto)",
    )


def _weights(text: str) -> dict[str, float]:
    """Read the weight of each criterion.

    Examples
    --------
    >>> _weights("content=2,style=0.5")
    {'content': 2.0, 'style': 0.5}
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, weight = part.rpartition("=")
        try:
            number = float(weight)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise argparse.ArgumentTypeError(
                f"'{part}' is not a criterion and its weight; write, for example, "
                "content=2,style=1."
            )
        if name.strip() in found:
            raise argparse.ArgumentTypeError(f"'{name.strip()}' has two weights; give one.")
        found[name.strip()] = number
    return found


def control_files(options: argparse.Namespace) -> list[str]:
    """Return the file of what is held equal, if there is one.

    Examples
    --------
    >>> control_files(argparse.Namespace(control="length.csv"))
    ['length.csv']
    """
    return [] if options.control is None else [options.control]


def control_from(options: argparse.Namespace, console: Console) -> Control | None:
    """Read what is held equal, if anything is."""
    from aggcal.io import read_control

    if options.control is None:
        return None
    control = read_control(options.control, context=options.context)
    console.say_notes(options.control, control.notes)
    return control


def terms_from(options: argparse.Namespace, control: Control | None = None) -> Terms | None:
    """Return the terms, None where all are left to aggcal.

    Parameters
    ----------
    options
        As they were typed.
    control
        What is held equal, once it was read.

    Examples
    --------
    >>> typed = {"position": "off", "context_effects": "auto", "bridge": "off"}
    >>> terms_from(argparse.Namespace(ties="halves", criteria_weights=None, **typed)).position
    'off'
    """
    from aggcal.models.general.terms import DEFAULT, Terms

    found = Terms(
        ties=options.ties,
        position=options.position,
        context=options.context_effects,
        bridge=options.bridge,
        control=control,
        criteria_weights=options.criteria_weights,
    )
    return None if found == DEFAULT else found
