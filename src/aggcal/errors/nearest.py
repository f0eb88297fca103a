"""The known names that are nearest to one that somebody misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_ALIKE = 0.6
"""Share of two names that must agree: less would offer names that nobody meant."""
_MOST, _COMPARED = 3, 5_000
"""Names that are offered where several are equally near; names that are compared at most, since
each takes some microseconds."""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names nearest to a name, in their order; none where none is near.

    Capitals, spaces, hyphens and underscores do not count.

    Examples
    --------
    >>> nearest("sugest", ["suggest", "simulate"]), nearest("hra-x", ["hra-g", "btl", "hra-n"])
    (['suggest'], ['hra-g', 'hra-n'])
    >>> nearest("x", ["suggest", "simulate"])
    []
    """
    from difflib import SequenceMatcher  # which hardly any command needs

    wanted = _plain(name)
    if not wanted:
        return []
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    alike: dict[str, float] = {}
    for each in islice(known, _COMPARED):
        matcher.set_seq1(_plain(each))
        alike[each] = matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
    best = max(alike.values(), default=0.0)
    return [each for each in alike if alike[each] == best >= _ALIKE][:_MOST]


def _plain(name: str) -> str:
    return name.casefold().translate(_PARTING)


_PARTING = str.maketrans("", "", " -_")
