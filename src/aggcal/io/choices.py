"""What the user says about files of judgments beyond their names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from aggcal.data.acts import RANKING_WEIGHTS, RankingWeight
from aggcal.data.row_columns import CRITERION
from aggcal.data.spelling import Spelling
from aggcal.errors import OptionError, did_you_mean
from aggcal.io import words
from aggcal.io.tables import listed

Blank: TypeAlias = Literal["skip", "error"]
BLANKS = get_args(Blank)
"""What to do where an answer or a score is blank: count it as none, or refuse the file."""
NAMED = (*words.OWN, *words.EXTRA, *words.OF_TABLES, "item", "rank", "rating", "best", "worst")
"""Columns that the user may name."""
OF_A_RANKING = ("ranking", "screen")
"""What a context is called that is the ranking or the ratings which pairs were taken from."""
_FEWEST_STEPS, _MOST_STEPS = 3, 7
"""Of a scale: two are left and right, and nobody tells more than seven apart."""


def is_strength(text: str) -> bool:
    """Whether a text is a number from 0 to 1."""
    try:
        return 0.0 <= float(text) <= 1.0
    except ValueError:
        return False


@dataclass(frozen=True)
class Choices:
    """What the user said about a file beyond its name."""

    outcomes: Mapping[str, str | float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    annotator: str | None = None
    left_key: str | None = None
    right_key: str | None = None
    drafts: bool = False
    ranking_weight: RankingWeight = "information"
    blank: Blank = "skip"
    spelling: Spelling | None = None
    order: tuple[str, ...] = ()
    """Labels of ratings, the best first; or which number is the best, the lowest or highest."""
    origin: str = ""
    """Which of several files this is; blank for one alone."""
    context: str | None = None
    """The column that is the context of a judgment: its prompt, session or screen."""
    by: tuple[str, ...] = ()
    """The columns by which judgments are of categories."""
    strength_scale: tuple[int, int] | None = None
    """The number that means the strongest left, and that of the strongest right."""
    strict: bool = False
    """Whether to refuse names of columns that are only guessed."""
    guessed: Mapping[str, str] = field(default_factory=dict)
    """What the columns of ratings and rankings are called that have but one reading."""

    def __post_init__(self) -> None:
        # Before a file is looked at, which may be a large one.
        for label, means in self.outcomes.items():
            said = str(means).strip().lower()
            if said not in words.MEANINGS and not is_strength(said):
                raise OptionError(
                    f"outcome '{label}' is mapped to '{means}'; "
                    f"map it to one of {', '.join(words.MEANINGS)} or to a number from 0 to 1."
                )
        for own in self.columns:
            if own not in NAMED:
                raise OptionError(
                    f"there is no column '{own}' to name{did_you_mean(own, NAMED)}; there are "
                    f"{', '.join(NAMED)}."
                )
        if self.ranking_weight not in RANKING_WEIGHTS:
            raise OptionError(
                f"ranking weight '{self.ranking_weight}' is unknown; choose "
                f"{', '.join(RANKING_WEIGHTS)}."
            )
        check_blank(self.blank)
        labels = [label.strip().lower() for label in self.order]
        if "" in labels or len(set(labels)) < len(labels):
            raise OptionError(
                f"the order {','.join(self.order)!r} names a label twice or none; name each once, "
                "the best first."
            )

    @property
    def meanings(self) -> dict[str, str]:
        """What outcomes mean by the user's word, in small letters."""
        said = {**on_scale(self.strength_scale), **self.outcomes}
        return {str(k).strip().lower(): str(v).strip().lower() for k, v in said.items()}

    @property
    def wished(self) -> dict[str, str]:
        """Our own columns for what rows are to be parted by, and what the user calls it."""
        context = {} if self.context is None else {"context": self.context}
        return context | {f"by_{k}": name for k, name in enumerate(self.by, 1)}

    @property
    def by_ranking(self) -> bool:
        """Whether the context is the ranking, which is no column."""
        return (self.context or "").strip().lower() in OF_A_RANKING

    def made_up(self, name: str) -> str:
        """Name an annotator whom the file does not name, so that no other file has the same.

        Examples
        --------
        >>> Choices().made_up("voter 1"), Choices(origin="b.soc").made_up("voter 1")
        ('voter 1', 'voter 1 (b.soc)')
        """
        return f"{name} ({self.origin})" if self.origin else name


def check_blank(blank: str) -> None:
    """Refuse a choice for blank cells that is none.

    Examples
    --------
    >>> check_blank("ignore")
    Traceback (most recent call last):
    aggcal.errors.OptionError: blank cells cannot be treated as 'ignore'; choose skip or error.
    """
    if blank not in BLANKS:
        raise OptionError(
            f"blank cells cannot be treated as '{blank}'; choose {' or '.join(BLANKS)}."
        )


def stated_order(order: Sequence[str] | str) -> tuple[str, ...]:
    """Return labels in a stated order, which may be one text with commas.

    Examples
    --------
    >>> stated_order("A+, A,B"), stated_order(["A", "B"]), stated_order("")
    (('A+', 'A', 'B'), ('A', 'B'), ())
    """
    labels = order.split(",") if isinstance(order, str) else order
    return tuple(str(label).strip() for label in labels) if order else ()


def categories_of(by: Sequence[str] | str, criterion: str | None = None) -> tuple[str, ...]:
    """Return the columns of categories, of which the criterion is one where all of those are kept.

    Examples
    --------
    >>> categories_of("language, topic"), categories_of(["topic"])
    (('language', 'topic'), ('topic',))
    """
    names = [name.strip() for name in (by.split(",") if isinstance(by, str) and by else by)]
    small = [name.lower() for name in names]
    if criterion is not None and CRITERION in small:
        raise OptionError("one criterion is chosen and all are kept; leave one of the two out.")
    if "" in small or len(set(small)) < len(small):
        raise OptionError(
            f"the categories '{','.join(names)}' name a column twice or none; name each once."
        )
    return tuple(names)


def stated_scale(text: str | None) -> tuple[int, int] | None:
    """Return the two ends of a scale, that of the left item first.

    Examples
    --------
    >>> stated_scale("1:5"), stated_scale("3:-3"), stated_scale(None)
    ((1, 5), (3, -3), None)
    >>> stated_scale("5")
    Traceback (most recent call last):
    aggcal.errors.OptionError: the scale '5' does not say which end is the left one; write 1:5 ...
    """
    if text is None:
        return None
    ends = re.fullmatch(r"\s*([+-]?\d{1,3})\s*(?::|\.\.)\s*([+-]?\d{1,3})\s*", str(text))
    if ends is None:
        most = str(text).strip() if re.fullmatch(r"\s*\d\s*", str(text)) else "5"
        raise OptionError(
            f"the scale '{text}' does not say which end is the left one; write 1:{most} if 1 means "
            f"that the left item is much better, and {most}:1 if {most} does."
        )
    first, last = int(ends[1]), int(ends[2])
    steps = abs(first - last) + 1
    if not _FEWEST_STEPS <= steps <= _MOST_STEPS:
        raise OptionError(
            f"the scale {first}:{last} has {steps} steps, and there may be {_FEWEST_STEPS} to "
            f"{_MOST_STEPS}; divide finer numbers so that they run from 0 (right) to 1 (left)."
        )
    return first, last


def on_scale(scale: tuple[int, int] | None) -> dict[str, str]:
    """Return what each number of a scale means, as it may be written.

    Examples
    --------
    >>> {k: v for k, v in on_scale((1, 5)).items() if "." not in k and "+" not in k}
    {'1': 'left+', '2': 'left', '3': 'tie', '4': 'right', '5': 'right+'}
    >>> on_scale((3, 0))["1"], on_scale(None)
    ('right', {})
    """
    if scale is None:
        return {}
    first, last = scale
    steps, sign = abs(first - last) + 1, 1 if last > first else -1
    found = {}
    for k in range(steps):
        # Without a middle there is no tie: the two middle numbers are the first steps.
        beyond, side = abs(2 * k - (steps - 1)), "left" if 2 * k < steps - 1 else "right"
        number = first + sign * k
        for text in (f"{number}", f"{number}.0", f"{number:+}"):
            found[text] = side + "+" * ((beyond - 1) // 2) if beyond else "tie"
    return found


def column_of(
    own: str, name: str, have: Container[str], known: Mapping[str, tuple[str, ...]]
) -> str:
    """Return the column that a wish means: of this name, or by one that it naturally has.

    Examples
    --------
    >>> column_of("context", "Prompt", {"instruction"}, {}), column_of("by_1", "Topic", set(), {})
    ('instruction', 'topic')
    """
    said = name.strip().lower()
    if said in have or own != "context":
        return said
    natural = (*known.get(said, ()), *words.CONTEXTS.get(said, ()))
    return next((other for other in natural if other in have), said)


def no_such_column(file: str, own: str, name: str, found: Iterable[str]) -> OptionError:
    """Say that there is no column to take as one of ours."""
    what = f"'{own}'"
    if own == "context" or own.startswith("by_"):
        what = "the context" if own == "context" else "a category"
    known = [*found]
    return OptionError(
        f"{file}: there is no column '{name}' to take as {what}{did_you_mean(name, known)} "
        f"(found: {listed(known)})."
    )
