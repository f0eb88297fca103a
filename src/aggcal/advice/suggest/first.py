"""What to ask before anybody has judged: the first design of a study, dealt out to who is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal._core.arrays import IntArray, TextArray
from aggcal._core.tables import as_text
from aggcal.advice.suggest.beliefs import keys_of
from aggcal.advice.suggest.greedy import Pairs
from aggcal.advice.suggest.people import check_possible, possible, refuse_duplicates
from aggcal.advice.suggest.suggestions import Suggestions
from aggcal.errors import DisconnectedWarning, OptionError, TooLittleDataError, count, option, some

AT_LEAST = 20  # pairs where no number is given: more save a round of asking


def first_suggestions(
    item_ids: TextArray,
    annotators: Sequence[str] = (),
    new_annotators: Sequence[str] = (),
    *,
    n: int | None = None,
    per_annotator: int | None = None,
    per_item: int | None = None,
    repeat: bool = False,
    explore: float = 0.0,
    seed: int = 0,
) -> Suggestions:
    """Suggest the first pairs of a study; see `aggcal.suggest_pairs`.

    Examples
    --------
    >>> found = first_suggestions(as_text("abcd"), (), ["ann", "bob"], n=4)
    >>> found.reason.tolist()
    ['connects components', 'connects components', 'connects components', 'few judgments']
    >>> sorted(found.annotator)
    ['ann', 'ann', 'bob', 'bob']
    """
    n_items, who = len(item_ids), max(1, len(new_annotators))
    if annotators:
        raise OptionError(
            f"nobody has judged yet ({some(annotators)}); name who can be asked with "
            f"{option('new-annotator')}."
        )
    if explore:
        raise OptionError(
            f"nobody has judged yet, so every pair is exploration; leave {option('explore')} out."
        )
    if not n_items:
        raise OptionError(
            "there are neither judgments nor items; give judgments, or the items to compare with "
            f"{option('items')}."
        )
    refuse_duplicates(new_annotators)
    if n_items < 2:  # noqa: PLR2004  # a pair
        raise TooLittleDataError(
            f"{count(n_items, 'item')} to compare; give at least two, with {option('items')}."
        )
    if n is None:
        most = n_items * (n_items - 1) // 2
        n = per_annotator * who if per_annotator else min(max(AT_LEAST, n_items), most)
    check_possible(n, possible(n_items, len(new_annotators), per_item, repeat=repeat), n_items)
    if per_annotator is not None and n > per_annotator * who:
        raise OptionError(
            f"{n:,} pairs are more than {count(who, 'annotator')} with {per_annotator:,} each can "
            f"judge; ask for fewer, or name more with {option('new-annotator')}."
        )
    left, right = first_pairs(n_items, n, np.random.default_rng(seed))
    joins = min(n, n_items - 1)
    what = f"{count(n, 'pair')} cannot connect {count(n_items, 'item')}."
    remedy = (
        f"Ask for at least {n_items - 1:,} pairs, and {2 * n_items:,} or more for a first order."
    )
    return Suggestions(
        item_ids[left],
        item_ids[right],
        np.full(n, np.nan),
        np.full(n, np.nan),
        as_text(["connects components"] * joins + ["few judgments"] * (n - joins)),
        _dealt(keys_of(left, right, n_items), new_annotators),
        "order",
        None,
        notices=() if n >= n_items - 1 else (DisconnectedWarning(what, "", remedy),),
    )


def first_pairs(n_items: int, n: int, random: np.random.Generator) -> Pairs:
    """Choose pairs of items of which nothing is known, in the order in which to ask them.

    Walecki's zigzags 0, 1, −1, 2, −2, ... around a circle of an odd number of items, each turned
    by one, contain every pair once; where the number is even, one item closes each of them to a
    cycle. A zigzag is asked in two rounds, every other pair first. So in whatever part of the list
    is asked from the top, every item is in about as many pairs as any other (they differ by two at
    most), on the left as on the right; no pair comes twice before all came once, and the first
    ``n_items - 1`` pairs connect all items. With zigzags in random order, standard errors of gaps
    are at most 0.5% larger than in designs drawn for a small diameter.

    Examples
    --------
    >>> left, right = first_pairs(4, 6, np.random.default_rng(0))
    >>> sorted((min(p), max(p)) for p in zip(left.tolist(), right.tolist()))
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    circle = n_items - 1 + n_items % 2
    steps = (np.arange(circle) + 1) // 2
    zigzag = np.where(np.arange(circle) % 2, steps, -steps)
    needed = -(-n // (n_items - 1))
    rounds: list[IntArray] = []
    for turn in [*random.permutation(circle // 2)[:needed].tolist(), circle // 2]:
        walk = np.concatenate([[circle], (zigzag + turn) % circle])
        pairs = np.stack([walk, np.roll(walk, -1)])[:: random.choice([-1, 1])]
        # Of an odd number of items the last of the circle is nobody; who meets them has a rest.
        within = [pairs[:, k::2][:, (pairs[:, k::2] < n_items).all(axis=0)] for k in (0, 1)]
        rounds += [random.permutation(each, axis=1) for each in within]
    rounds.pop()  # the pairs of the last half turn are those of the first
    once = random.permutation(n_items)[np.concatenate(rounds, axis=1)]
    both = np.concatenate([once, once[::-1]], axis=1)
    left, right = np.tile(both, -(-n // both.shape[1]))[:, :n]
    return left, right


def _dealt(keys: IntArray, annotators: Sequence[str]) -> TextArray | None:
    """Give each pair to who has fewest of those who do not have it yet."""
    if not annotators:
        return None
    hands: list[dict[int, int]] = [{} for _ in annotators]
    for row, key in enumerate(keys.tolist()):
        free = [hand for hand in hands if key not in hand]
        min(free, key=len)[key] = row
    # At the end some may have more than others, who had the pairs that were left already.
    while len(most := max(hands, key=len)) > len(least := min(hands, key=len)) + 1:
        key = next(key for key in most if key not in least)
        least[key] = most.pop(key)
    who = {row: annotators[k] for k, hand in enumerate(hands) for row in hand.values()}
    return as_text(who[row] for row in range(len(keys)))
