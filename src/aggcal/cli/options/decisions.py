"""What to decide from the scores, and the scale to tell them in."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.registry import SCALES
from aggcal.registry.limits import VERDICT_ERROR

if TYPE_CHECKING:
    from aggcal.assessment import Assessment
    from aggcal.assessment.wishes import Wishes
    from aggcal.data.base import AnyJudgments


def add_decisions(command: Parser, *, fitted: bool = True) -> None:
    """Add the options; those of the consensus only where one is fitted."""
    group = command.add_argument_group("decisions")
    if fitted:
        group.add_argument(
            "--top",
            type=int,
            metavar="K",
            help="which items are surely among the first K, and how probably each is",
        )
    group.add_argument(
        "--cut",
        type=float,
        metavar="X",
        help="probability of a score above X: of the calibrated score"
        + ("; without one, of the consensus (on the --scale)" if fitted else ""),
    )
    group.add_argument(
        "--grades",
        type=_grades,
        metavar="X,Y,...",
        help="boundaries of grades, such as 40,50,60,70: gives grades, and which are uncertain",
    )
    group.add_argument(
        "--error",
        type=float,
        default=VERDICT_ERROR,
        metavar="P",
        help="how often a verdict, in or out, may be wrong",
    )
    if fitted:
        _add_scales(group)


def _add_scales(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--scale",
        choices=tuple(SCALES),
        help="also give the consensus as Elo ratings (elo), from 0 to 100 (0-100), or as the "
        "probability to beat an average item (win); adds the rank bounds that arenas print",
    )
    group.add_argument(
        "--elo-anchor",
        type=_anchor,
        metavar="ITEM=RATING",
        help="with --scale elo: an item with a given rating (default: the average item has 1000)",
    )


class _Typed(tuple[float, ...]):
    """Numbers that are written again as they were typed."""

    __slots__ = ()

    def __str__(self) -> str:
        return ",".join(f"{each:g}" for each in self)


class _Anchor(tuple[str, float]):
    """An item and its rating, written again as they were typed."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self[0]}={self[1]:g}"


def _grades(text: str) -> tuple[float, ...]:
    """Read the boundaries of grades.

    Examples
    --------
    >>> _grades("40,50")
    (40.0, 50.0)
    >>> str(_grades("40, 50"))
    '40,50'
    """
    try:
        return _Typed(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' are not numbers; write, for example, 40,50,60,70."
        ) from None


def _anchor(text: str) -> tuple[str, float]:
    """Read an item and its rating.

    Examples
    --------
    >>> _anchor("gpt=4=1000")
    ('gpt=4', 1000.0)
    """
    item, _, rating = text.rpartition("=")
    try:
        number = float(rating)
    except ValueError:
        item = ""
    if not item:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not an item and its rating; write, for example, ITEM=1000."
        )
    return _Anchor((item, number))


def wishes_from(options: argparse.Namespace) -> Wishes:
    """Return what is to be decided, or refuse it before anything is read."""
    from aggcal.aggregation.scales import check_scale, check_values
    from aggcal.assessment.wishes import Wishes
    from aggcal.errors import OptionError

    fitted = "top" in options
    if fitted:
        check_scale(options.scale, options.elo_anchor, options.method)
    found = Wishes.of(
        options.top if fitted else None,
        options.cut,
        options.grades,
        options.error,
    )
    if fitted and "scores" not in options and options.anchors is None:
        # Without a model or anchors it is the consensus that is cut and graded.
        cuts = () if found.cut is None else (found.cut,)
        check_values(options.scale, (*cuts, *found.grades))
    if options.error != VERDICT_ERROR and found.top is found.cut is None:
        raise OptionError("--error is for the verdicts of --top and --cut; give one of them.")
    return found


def check_decisions(options: argparse.Namespace, judgments: AnyJudgments) -> None:
    """Refuse what cannot be decided of these judgments, before they are fitted."""
    from aggcal.aggregation.scales import check_anchor
    from aggcal.assessment.wishes import check_top

    check_top(options.top, judgments.n_items)
    check_anchor(options.elo_anchor, judgments.item_ids)


def with_decisions(result: Assessment, options: argparse.Namespace, wishes: Wishes) -> Assessment:
    """Return a result with the decisions and on the scale that were asked for."""
    from dataclasses import replace

    if getattr(options, "scale", None) is not None:
        result = result.with_scale(options.scale, anchor=options.elo_anchor)
    return replace(result, wishes=wishes)
