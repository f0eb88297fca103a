"""What may be asked of suggestions, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal._core.machine import check_seed
from aggcal.advice.suggest.annotators import refuse_people
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.suggestions import UNITS
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import OptionError, count
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE

EXPLORE = 0.0
"""Share of the pairs for what is known least: more learn about new items and annotators sooner,
and put fewer items into the right order meanwhile."""


def check_suggestion(
    *,
    n: int | None = None,
    about: str = "order",
    scored: bool = False,
    per_annotator: int | None = None,
    per_item: int | None = None,
    explore: float = EXPLORE,
    method: str = DEFAULT_METHOD,
    seed: int = 0,
) -> None:
    """Refuse options of `suggest_pairs` that are none, before anything is read or fitted.

    Examples
    --------
    >>> check_suggestion(n=0)
    Traceback (most recent call last):
    aggcal.errors.OptionError: the number of pairs is 0; give at least 1.
    """
    for name, number in (
        ("pairs", n),
        ("pairs per annotator", per_annotator),
        ("pairs per item", per_item),
    ):
        if number is not None and number < 1:
            raise OptionError(f"the number of {name} is {number}; give at least 1.")
    if not 0.0 <= explore <= 1.0:
        raise OptionError(f"the share to explore is {explore}; give a number from 0 to 1.")
    check_seed(seed)
    if about not in UNITS:
        raise OptionError(f"about '{about}' is unknown; choose {' or '.join(UNITS)}.")
    if about == "scores" and not scored:
        raise OptionError("suggestions about scores need the model's scores; give them too.")
    if method not in PREDICTABLE:
        raise OptionError(
            f"the method '{method}' cannot suggest pairs: it cannot predict what a judgment adds; "
            f"choose {', '.join(PREDICTABLE)}."
        )


def check_tables(
    judgments: AnyJudgments,
    scores: Scores | None,
    annotators: Sequence[str],
    new_annotators: Sequence[str],
) -> None:
    """Refuse scores of other items, and annotators who are not known or not new."""
    if scores is not None and not set(scores.item_ids) & set(judgments.item_ids):
        raise OptionError("no item is in both tables; use the same ids in judgments and scores.")
    refuse_people(judgments, annotators, new_annotators)


def check_scored(beliefs: Beliefs) -> None:
    """Refuse suggestions about scores where no two items have one."""
    if np.isfinite(beliefs.model).sum() < 2:  # noqa: PLR2004  # a pair
        raise OptionError(
            "fewer than two items have a score; use the same ids in both tables, or --about order."
        )


def check_number(n: int, most: float, n_items: int) -> None:
    """Refuse more pairs than there are."""
    if n > most:
        raise OptionError(
            f"{n:,} pairs were asked for, but {count(n_items, 'item')} allow only {most:,} within "
            "these limits; ask for fewer, raise --per-item, or allow --repeat."
        )
