"""What may be asked of suggestions, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal.advice.suggest.annotators import refuse_people
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.suggestions import UNITS
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import OptionError, check_choice, count, option
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE, limits

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
    aggcal.errors.OptionError: n is 0; give a whole number, 1 or more.
    """
    limits.check(pairs=n, per_annotator=per_annotator, per_item=per_item)
    limits.check(explore=explore, seed=seed)
    check_choice("about", about, UNITS)
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
            "fewer than two items have a score; use the same ids in both tables, or "
            f"{option('about', 'order')}."
        )


def check_number(n: int, most: float, n_items: int) -> None:
    """Refuse more pairs than there are."""
    if n > most:
        raise OptionError(
            f"{n:,} pairs were asked for, but {count(n_items, 'item')} allow only {most:,} within "
            f"these limits; ask for fewer, raise {option('per-item')}, or allow {option('repeat')}."
        )
