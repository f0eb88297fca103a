"""What ratings mean: numbers, which may have words after them, or labels in a stated order."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

from aggcal.errors import OptionError, TableError, option
from aggcal.io.formats.base import Notes, number_of
from aggcal.io.words import MARKS, RANKS

_LABELLED = re.compile(
    r"\s*([+-]?\d+(?:\.\d+)?)(?:\s*(?::(?!\d)|\()|\s+[\u2013\u2014-]\s|\.\s+[^\W\d])"
)
"""A rating with its meaning after it: '6: marginally above', '5 (accept)', '4. Accept'."""
_ORDINAL = re.compile(
    r"\s*(\d+)(?:st|nd|rd|th|\.)?(?: (?:choice|place|preference|rank))?\s*", re.IGNORECASE
)
_OF = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(?:/|out of|von|sur|de)\s*(\d+)\s*", re.IGNORECASE)
"""A rating with the most that there is after it: '4/5', '8 out of 10'."""
_STARS = re.compile(r"\s*(\u2605+)\u2606*\s*|\s*(\d+(?:\.\d+)?) stars?\s*", re.IGNORECASE)
LOWEST, HIGHEST = "lowest", "highest"
"""Which number is the best, instead of an order of labels."""
_BEST, _WORST = 3, -3
# fmt: off
_WORTH = tuple((re.compile(rf"\b(?:{words})\b", re.IGNORECASE), worth) for worth, words in (
    (_BEST, "best|highest|beste[rs]?"), (_WORST, "worst|lowest|schlechteste[rs]?"),
    (2, "strong(?:ly)? (?:accept|agree)"), (-2, "strong(?:ly)? (?:reject|disagree)"),
    (-1, "reject|disagree|not|below|insufficient"), (1, "accept|agree|above"),
    (2, "very good|sehr gut|très bien|excellent|outstanding|exceptional|superb|perfect"),
    (-2, "very (?:poor|bad|weak)|sehr schlecht|terrible|awful|unacceptable|ungenügend|fail(?:ed)?"),
    (1, "good|gut|strong"), (-1, "poor|bad|weak|schlecht|mangelhaft"),
))
# fmt: on
"""What words say of a rating; the first that is found counts."""
_IN_A_HEADER = re.compile(
    r"(?P<n>\d+(?:\.\d+)?)\W{0,3}(?:(?:is|means|ist)\s+)?(?:(?:the|very|sehr|strong\w*)\s+)?"
    r"(?=(?P<says>[^\W\d][^,;/()\d]*))"
    r"|(?P<first>best|worst)\s*\(?(?:=|:|is|)\s*(?P<of>\d+)",
    re.IGNORECASE,
)
"""What the name of a column says of a number: 'rating (1 = best)', 'score (1 poor, 5 good)'."""
_LOWER = re.compile(r"\b(?:lower|smaller|less) (?:is|=) (?:the )?(?:better|best)\b", re.IGNORECASE)
_RANK = re.compile(r"\b(?:rank|rang|platz)|\bplace\b")
_OUT_OF = re.compile(r"(?:/|\b(?:sur|von|out of|max\.?|de)) ?\d+\b")
"""How the name of a column says how many points there are: the more of them the better."""
_MARKS = frozenset(map(float, range(1, 7)))
_THIRDS = frozenset(round(k + step, 9) for k in range(1, 7) for step in (0.0, 0.3, 0.7))
_CODES = frozenset((-1.0, -9.0, -99.0, 77.0, 88.0, 97.0, 98.0, 99.0, 999.0))
"""Numbers that stand for no answer where a scale does not reach them; so may 0 on 1 to 5."""
_FAR = 3.0
"""How many times beyond the rest of a scale such a number is."""
_COUNTED = re.compile(
    r"error|penalt|sever|fault|mistake|stroke|\btime|distance|loss|cost|price|fehler|erreur|defect"
    r"|complaint|latency|risk|seconds|duration|\blaps?\b"
)
"""What columns are called of which less may be better."""


def labelled() -> str:
    """Say what to do about ratings that are not numbers."""
    order = option("order", "LABEL,LABEL,...")
    return f"if ratings are labels, name all of them, the best first, with {order}"


def _say() -> str:
    return f"say which is the best with {option('order', LOWEST)} or {option('order', HIGHEST)}"


def rating_of(value: Any) -> float | None:
    """Return a rating as a number, which may be followed by what it means.

    Examples
    --------
    >>> rating_of("6: marginally above"), rating_of("2nd choice"), rating_of(3.5), rating_of("good")
    (6.0, 2.0, 3.5, None)
    >>> rating_of("4/5"), rating_of("\u2605\u2605\u2606"), rating_of("1 star")
    (4.0, 2.0, 1.0)
    >>> rating_of("3-4"), rating_of("6:30"), rating_of("2024-01-05")
    (None, None, None)
    """
    if isinstance(value, str):
        if (stars := _STARS.fullmatch(value)) is not None:
            return float(len(stars[1]) if stars[1] else stars[2])
        labelled = _LABELLED.match(value) or _ORDINAL.fullmatch(value) or _OF.fullmatch(value)
        value = value if labelled is None else labelled[1].replace(",", ".")
    return number_of(value)


class Scale:
    """What the ratings of a file mean, and which end of them is the best.

    Examples
    --------
    >>> scale = Scale(("A", "B", "C"))
    >>> scale.height("b", "row 1") > scale.height("C", "row 2")
    True
    """

    def __init__(self, order: tuple[str, ...]) -> None:
        self.order = order
        stated = () if order in ((LOWEST,), (HIGHEST,)) else order
        self._heights = {_label(one): -float(k) for k, one in enumerate(stated)}
        self._seen: Counter[float] = Counter()
        self._said: dict[float, tuple[int, str]] = {}
        self._headers: set[str] = set()
        self._most: dict[str, str] = {}

    def knows(self, value: Any) -> bool:
        """Whether a cell is a rating."""
        return _label(value) in self._heights if self._heights else rating_of(value) is not None

    def height(self, value: Any, location: str) -> float:
        """Return how high a rating is on its scale, or refuse it."""
        found = self._heights.get(_label(value)) if self._heights else rating_of(value)
        if found is None and self._heights:
            raise TableError(
                f"{location}: the rating '{value}' is not in the order that was given; add it "
                f"to {option('order')}."
            )
        if found is None:
            raise TableError(
                f"{location}: the rating '{value}' is not a finite number; correct the row, leave "
                f"it blank if there was none, or {labelled()}."
            )
        if found not in self._seen and isinstance(value, str):
            self._learn(found, value)
        if not self._heights:
            self._learn_most(str(value), location)
        self._seen[found] += 1
        return found

    def learn(self, header: str) -> None:
        """Take note of what the name of a column says of its numbers."""
        if header in self._headers:
            return
        self._headers.add(header)
        for found in _IN_A_HEADER.finditer(header):
            self._learn(float(found["n"] or found["of"]), found[0] + (found["says"] or ""))

    def _learn_most(self, value: str, location: str) -> None:
        """Take note of the most that there is; refuse ratings on two scales."""
        of = _OF.fullmatch(value)
        most = "\u2605" if _STARS.fullmatch(value) else "" if of is None else of[2]
        self._most.setdefault(most, value)
        if len(self._most) > 1:
            one, two = self._most.values()
            raise TableError(
                f"{location}: the ratings '{one}' and '{two}' may be on two scales; write all of "
                "them on one."
            )

    def _learn(self, number: float, words: str) -> None:
        worth = next((worth for pattern, worth in _WORTH if pattern.search(words)), None)
        if worth is not None:
            self._said[number] = worth, words.strip()

    def sign(self, notes: Notes, *, named: bool, doubtful: str | None = None) -> float:
        """Return -1 if the lowest number is the best, else 1, and say so; refuse what is unclear.

        ``named`` tells whether the column is called as ratings are, of which the highest is best;
        ``doubtful`` is what it is called where that says nothing.
        """
        if self._heights or not self._seen:
            return 1.0
        best = self.order[0] if self.order else self._best(named, doubtful)
        notes.append(f"the {best} rating is taken for the best")
        return -1.0 if best == LOWEST else 1.0

    def _best(self, named: bool, doubtful: str | None) -> str:  # noqa: FBT001
        self._refuse_codes()
        rising, falling = self._evidence()
        names = {header.strip().lower() for header in self._headers}
        ranks = [name for name in sorted(names) if name in RANKS or _RANK.search(name)]
        if ranks and min(self._seen) <= 0.0:
            raise OptionError(
                f"the rank {min(self._seen):g} may be the best or stand for none; {_say()}."
            )
        falling += ranks or [name for name in sorted(names) if _LOWER.search(name)]
        rising += [name for name in sorted(names) if _OUT_OF.search(name)]
        rising += [value for most, value in self._most.items() if most]
        if falling and not rising:
            return LOWEST
        if falling and len(falling) >= len(rising):
            raise OptionError(
                f"'{falling[0]}' calls the lowest rating the best and '{rising[0]}' the highest; "
                f"{_say()}."
            )
        if rising:
            return HIGHEST
        seen = {round(one, 9) for one in self._seen}
        thirds = len({round(10.0 * one) % 10 for one in seen} & {3, 7}) == 2  # noqa: PLR2004
        marks = seen <= _MARKS and not (named and not names & {*MARKS})
        counted = next(filter(_COUNTED.search, sorted(names)), None)
        doubtful = counted if doubtful is None else doubtful
        if doubtful is not None and not marks:
            raise OptionError(f"nothing says which end of {doubtful!r} is the best; {_say()}.")
        if (thirds and seen <= _THIRDS) or marks or names & {"note", "schulnote", "zensur"}:
            shown = ", ".join(f"{one:g}" for one in sorted(seen)[:4])
            raise OptionError(
                f"the ratings look like marks ({shown}), whose best is the lowest number in some "
                f"countries and the highest in others; {_say()}."
            )
        return HIGHEST

    def _evidence(self) -> tuple[list[str], list[str]]:
        """Return the words by which the highest, and those by which the lowest is the best."""
        least, most = min(self._seen), max(self._seen)
        rising: list[str] = []
        falling: list[str] = []
        for one, two in combinations(sorted(self._said), 2):
            (low, words), (high, _) = self._said[one], self._said[two]
            if low != high:
                (rising if low < high else falling).append(words)
        for number, (worth, words) in self._said.items():
            if (worth == _BEST and number < most) or (worth == _WORST and number > least):
                falling.append(words)
            elif worth in (_BEST, _WORST):
                rising.append(words)
            elif worth > 1 and number <= 1.0 < most:
                falling.append(words)
        return rising, falling

    def _refuse_codes(self) -> None:
        """Refuse numbers that may stand for no answer."""
        rest = self._seen.keys() - _CODES - {0.0}
        top = max(rest, default=0.0)
        codes = {code for code in self._seen.keys() & _CODES if code < 0.0 or code > _FAR * top}
        codes |= {0.0} if top == 5.0 and 0.0 in self._seen else set()  # noqa: PLR2004
        if codes and len(rest) > 1 and min(rest) > 0.0:
            raise OptionError(
                f"the rating {min(codes):g} may be a rating or stand for no answer, as the others "
                f"are from {min(rest):g} to {top:g}; leave such cells blank if it stands for "
                f"none, or {_say()} if it is one."
            )


def _label(value: Any) -> str:
    """Return a label for comparison: 1, 1.0 and '1.0' are the same, and so are a and A."""
    number = number_of(value)
    return str(value).strip().lower() if number is None else repr(number)
