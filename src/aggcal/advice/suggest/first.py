"""What to ask before anybody has judged: the first design of a study, dealt out to who is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal._core.arrays import IntArray, TextArray
from aggcal._core.tables import as_text
from aggcal.advice.suggest.design import first_pairs
from aggcal.advice.suggest.suggestions import Suggestions
from aggcal.errors import DisconnectedWarning, OptionError, TooLittleDataError, count, option, some

AT_LEAST = 20  # pairs where no number is given: more save a round of asking


def first_suggestions(
    item_ids: TextArray,
    annotators: Sequence[str] = (),
    *,
    n: int | None = None,
    per_annotator: int | None = None,
    per_item: int | None = None,
    repeat: bool = False,
    seed: int = 0,
) -> Suggestions:
    """Suggest the first pairs of a study; see `aggcal.suggest_pairs`.

    Examples
    --------
    >>> found = first_suggestions(as_text("abcd"), ["ann", "bob"], n=4)
    >>> found.reason.tolist()
    ['connects components', 'connects components', 'connects components', 'few judgments']
    >>> sorted(found.annotator)
    ['ann', 'ann', 'bob', 'bob']
    """
    n_items = len(item_ids)
    if not n_items:
        raise OptionError(
            "there are neither judgments nor items; give judgments, or the items to compare with "
            "--items."
        )
    if len(set(annotators)) < len(annotators):
        raise OptionError("there are duplicate annotators; name each once.")
    if n_items < 2:  # noqa: PLR2004  # a pair
        raise TooLittleDataError(
            f"{count(n_items, 'item')} to compare; give at least two, with {option('items')}."
        )
    most = n_items * (n_items - 1) // 2
    if n is None:
        n = max(AT_LEAST, n_items)
        n = per_annotator * max(1, len(annotators)) if per_annotator else min(n, most)
    _check_number(n, n_items, len(annotators), per_annotator, per_item, repeat=repeat)
    random = np.random.default_rng(seed)
    one, other = first_pairs(n_items, n, random)
    who = _dealt(one, other, annotators, n_items)
    return Suggestions(
        item_ids[one],
        item_ids[other],
        np.full(n, np.nan),
        np.full(n, np.nan),
        _reasons(one, other, n_items),
        who,
        "order",
        None,
        notices=_warnings(n, n_items),
    )


def _check_number(
    n: int,
    n_items: int,
    n_annotators: int,
    per_annotator: int | None,
    per_item: int | None,
    *,
    repeat: bool,
) -> None:
    most = n_items * (n_items - 1) // 2
    if repeat and n_annotators:
        most *= n_annotators
    if n > most and not (repeat and not n_annotators):
        raise OptionError(
            f"{n:,} pairs were asked for, but {count(n_items, 'item')} allow only {most:,}; ask "
            f"for fewer, or allow {option('repeat')}."
        )
    if per_item is not None and 2 * n > n_items * per_item:
        raise OptionError(
            f"{n:,} pairs use each of {count(n_items, 'item')} {-(-2 * n // n_items)} times; "
            f"ask for fewer, or raise {option('per-item')}."
        )
    if per_annotator is not None and n > per_annotator * max(1, n_annotators):
        raise OptionError(
            f"{n:,} pairs are more than {count(max(1, n_annotators), 'annotator')} with "
            f"{per_annotator:,} each can judge; ask for fewer, or name more with "
            f"{option('new-annotator')}."
        )


def _dealt(
    one: IntArray, other: IntArray, annotators: Sequence[str], n_items: int
) -> TextArray | None:
    """Give each pair to who has fewest of those who do not have it yet."""
    if not annotators:
        return None
    keys = (np.minimum(one, other) * n_items + np.maximum(one, other)).tolist()
    hands: list[dict[int, int]] = [{} for _ in annotators]
    for row, key in enumerate(keys):
        free = [hand for hand in hands if key not in hand]
        min(free, key=len)[key] = row
    # At the end some may have more than others, who had the pairs that were left already.
    while len(most := max(hands, key=len)) > len(least := min(hands, key=len)) + 1:
        key = next(key for key in most if key not in least)
        least[key] = most.pop(key)
    who = {row: annotators[k] for k, hand in enumerate(hands) for row in hand.values()}
    return as_text(who[row] for row in range(len(keys)))


def _reasons(one: IntArray, other: IntArray, n_items: int) -> TextArray:
    """Tell which pairs join items that nothing related, and which come on top."""
    home = list(range(n_items))

    def piece(item: int) -> int:
        while home[item] != item:
            home[item] = home[home[item]]
            item = home[item]
        return item

    found = []
    for i, j in zip(one.tolist(), other.tolist(), strict=True):
        a, b = piece(i), piece(j)
        home[a] = b
        found.append("few judgments" if a == b else "connects components")
    return as_text(found)


def _warnings(n: int, n_items: int) -> tuple[DisconnectedWarning, ...]:
    if n >= n_items - 1:
        return ()
    what = f"{count(n, 'pair')} cannot connect {count(n_items, 'item')}."
    remedy = (
        f"Ask for at least {n_items - 1:,} pairs, and {2 * n_items:,} or more for a first order."
    )
    return (DisconnectedWarning(what, remedy),)


def check_first(annotators: Sequence[str], explore: float) -> None:
    """Refuse what can only be chosen where somebody has judged."""
    if annotators:
        raise OptionError(
            f"nobody has judged yet ({some(annotators)}); name who can be asked with "
            "--new-annotator."
        )
    if explore:
        raise OptionError(
            f"nobody has judged yet, so every pair is exploration; leave {option('explore')} out."
        )
