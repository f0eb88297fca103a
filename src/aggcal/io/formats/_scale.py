"""What ratings mean: numbers, which may have words after them, or labels in a stated order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from aggcal.errors import OptionError, TableError
from aggcal.io.formats._base import number_of
from aggcal.io.formats._synonyms import RANKS

_LABELLED = re.compile(
    r"\s*([+-]?\d+(?:\.\d+)?)(?:\s*(?::(?!\d)|\()|\s+[\u2013\u2014-]\s|\.\s+[^\W\d])"
)
"""A rating with its meaning after it: '6: marginally above', '5 (accept)', '4. Accept'."""
_STEPS = {k + step for k in range(1, 7) for step in (0.0, 0.3, 0.7)}
"""Marks in thirds: the best is 1.0 in some countries and 4.0 in others."""
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
    r"|(?P<first>best|worst)\s*(?:=|:|is)\s*(?P<of>\d+)",
    re.IGNORECASE,
)
"""What the name of a column says of a number: 'rating (1 = best)', 'score (1 poor, 5 good)'."""
_LOWER = re.compile(r"\b(?:lower|smaller|less) (?:is|=) (?:the )?(?:better|best)\b", re.IGNORECASE)
_FIRST = {*RANKS, "note", "schulnote", "zensur"}
"""Names of columns whose lowest number is the best; of "Note" only in some countries."""


def rating_of(value: Any) -> float | None:
    """Return a rating as a number, which may be followed by what it means.

    Examples
    --------
    >>> rating_of("6: marginally above"), rating_of("4. Accept"), rating_of(3.5), rating_of("good")
    (6.0, 4.0, 3.5, None)
    >>> rating_of("3-4"), rating_of("6:30"), rating_of("2024-01-05")
    (None, None, None)
    """
    labelled = _LABELLED.match(value) if isinstance(value, str) else None
    return number_of(labelled[1] if labelled is not None else value)


def _worth(text: str) -> int | None:
    """Return how good words call a rating; None if they do not say.

    Examples
    --------
    >>> [_worth(text) for text in ("strong accept", "marginally below", "fair", "the best")]
    [2, -1, None, 3]
    """
    return next((worth for pattern, worth in _WORTH if pattern.search(text)), None)


@dataclass
class Scale:
    """What ratings mean: numbers, or labels in a stated order."""

    order: tuple[str, ...]
    seen: set[float] = field(default_factory=set)
    said: dict[float, tuple[int, str]] = field(default_factory=dict)
    """How good a number is called, and in what words."""
    headers: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sign = -1.0 if self.order == (LOWEST,) else 1.0
        stated = () if self.order in ((LOWEST,), (HIGHEST,)) else self.order
        self.heights = {_label(one): -float(k) for k, one in enumerate(stated)}

    def knows(self, value: Any) -> bool:
        """Whether a cell is a rating."""
        return _label(value) in self.heights if self.heights else rating_of(value) is not None

    def height(self, value: Any, location: str) -> float:
        """Return how high a rating is, or refuse it."""
        if self.heights:
            found = self.heights.get(_label(value))
            if found is None:
                raise TableError(
                    f"{location}: the rating '{value}' is not in the order that was given; add it "
                    "to --order."
                )
            return found
        rating = rating_of(value)
        if rating is None:
            raise TableError(
                f"{location}: the rating '{value}' is not a finite number; correct the row, or if "
                "ratings are labels, name all of them, the best first, as in --order 'A,B,C'."
            )
        if rating not in self.seen and isinstance(value, str):
            self._learn(rating, value)
        self.seen.add(rating)
        return self.sign * rating

    def learn(self, header: str | None) -> None:
        """Take note of what the name of a column says of its numbers."""
        if header is None or header in self.headers:
            return
        self.headers.add(header)
        for found in _IN_A_HEADER.finditer(header):
            number, words = found["n"] or found["of"], found[0] + (found["says"] or "")
            self._learn(float(number), words)

    def _learn(self, number: float, words: str) -> None:
        worth = _worth(words)
        if worth is not None:
            self.said[number] = worth, words.strip()

    def refuse_unclear(self) -> None:
        """Refuse ratings that say that the lowest is the best, and marks in thirds."""
        if self.order or not self.seen:
            return
        self._refuse_reversed()
        thirds = {round(10.0 * one) % 10 for one in self.seen} & {3, 7}
        steps = {round(one, 9) for one in _STEPS}
        if len(thirds) == 2 and self.seen <= steps:  # noqa: PLR2004
            shown = ", ".join(f"{one:g}" for one in sorted(self.seen)[:4])
            raise OptionError(
                f"the ratings look like marks ({shown}), whose best is 1.0 in some countries and "
                f"4.0 in others; say which is the best with --order {LOWEST} or --order {HIGHEST}."
            )

    def _refuse_reversed(self) -> None:
        """Refuse numbers of which the lowest is called the best: the highest would be taken."""
        least, most = min(self.seen), max(self.seen)
        by_name = [name for name in self.headers if name.strip().lower() in _FIRST]
        by_name += filter(_LOWER.search, self.headers)
        pairs = list(combinations(sorted(self.said), 2))
        rising = sum(self.said[one][0] < self.said[two][0] for one, two in pairs)
        falling = [one for one, two in pairs if self.said[one][0] > self.said[two][0]]
        falling += [
            number
            for number, (worth, _) in self.said.items()
            if (worth == _BEST and number < most)
            or (worth == _WORST and number > least)
            or (worth > 1 and number <= 1.0 < most)
        ]
        if not by_name and len(falling) <= rising:
            return
        shown = by_name[0] if by_name else self.said[falling[0]][1]
        raise OptionError(
            f"the words '{shown}' may mean that the lowest rating is the best, and otherwise the "
            f"highest is; say which with --order {LOWEST} or --order {HIGHEST}."
        )


def _label(value: Any) -> str:
    """Return a label for comparison: 1, 1.0 and '1.0' are the same, and so are a and A.

    Examples
    --------
    >>> _label("1.0") == _label(1), _label(" a- ")
    (True, 'a-')
    """
    number = number_of(value)
    return str(value).strip().lower() if number is None else repr(number)
