"""Outcomes that say how much better an item is: by words, by arrows, or on a scale of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from aggcal.errors import OptionError, OutcomeError

# fmt: off
_SLIGHTLY = ("slightly", "marginally", "somewhat", "a_bit", "a_little", "a_little_bit", "weakly",
             "barely")
_PLAINLY = ("", "moderately")
_MUCH = ("much", "significantly", "far", "clearly", "strongly", "considerably", "substantially",
         "a_lot", "greatly")
_VERY_MUCH = ("very_much", "extremely", "overwhelmingly", "vastly", "very_strongly")
# fmt: on
SLIGHT, PLAIN, STRONGER, STRONGEST = 1, 2, 3, 4
"""How much better, from the least on."""
_LEVELS = {
    word: level
    for words, level in (
        (_SLIGHTLY, SLIGHT), (_PLAINLY, PLAIN), (_MUCH, STRONGER), (_VERY_MUCH, STRONGEST),
    )
    for word in words
}  # fmt: skip
_WORDS = "|".join(sorted(filter(None, _LEVELS), key=len, reverse=True))
# Texts: few tables have such labels, and to compile all three takes as long as to read a small one.
_BETTER = (
    rf"(?:the_)?(?P<side>.+?)_(?:is_|was_)?(?:(?P<how>{_WORDS})_)?"
    r"(?P<said>better|worse|preferred)(?:_than_(?:the_)?(?P<other>.+))?"
)
_PREFER = rf"(?:i_)?(?:(?P<how>{_WORDS})_)?prefer(?:_the)?_(?P<side>.+)"
_ARROW = r"(?P<side>[^<>=]+?)_?(?P<sign>>{1,3}|<{1,3})_?(?P<other>[^<>=]+)"
CANDIDATE = r"better|worse|prefer|^[^<>=]{1,30}(>{1,3}|<{1,3})[^<>=]{1,30}$"
"""What a label in small letters must match to be looked at: a pattern that DuckDB knows, too."""

Step: TypeAlias = tuple[str, int]
"""The side that is better, and by how much."""

_OPPOSITE = {"left": "right", "right": "left"}
_FEWEST_STEPS, _MOST_STEPS = 3, 7
"""Of a scale: two are left and right, and nobody tells more than seven apart."""


def step_of(label: str, sides: Mapping[str, str]) -> Step | None:
    """Return which side a label calls better, and by how much; None if it does not say so.

    Parameters
    ----------
    label
        In small letters, words parted by an underscore.
    sides
        What people call the two sides, and which each is.

    Examples
    --------
    >>> sides = {"a": "left", "b": "right", "response_b": "right"}
    >>> step_of("a_is_slightly_better", sides), step_of("response_b_is_much_better", sides)
    (('left', 1), ('right', 3))
    >>> step_of("a>>b", sides), step_of("strongly_prefer_b", sides), step_of("a<b", sides)
    (('left', 3), ('right', 3), ('right', 2))
    >>> step_of("much_better", sides), step_of("a>>a", sides)
    (None, None)
    """
    text = label.strip("[]().!_")
    if (found := re.fullmatch(_ARROW, text)) is not None:
        side, other = sides.get(found["side"]), sides.get(found["other"])
        if side is None or other != _OPPOSITE[side]:
            return None
        return side if found["sign"][0] == ">" else other, 1 + len(found["sign"])
    found = re.fullmatch(_BETTER, text) or re.fullmatch(_PREFER, text)
    side = None if found is None else sides.get(found["side"])
    if found is None or side is None:
        return None
    than = found.groupdict().get("other")
    if than is not None and sides.get(than) != _OPPOSITE[side]:
        return None
    worse = found.groupdict().get("said") == "worse"
    return _OPPOSITE[side] if worse else side, _LEVELS[found["how"] or ""]


def graded(steps: Mapping[str, Step], plain: Iterable[str], name: str) -> dict[str, str]:
    """Return what labels with a step mean among each other: left, left+, left++ and so on.

    Without a "slightly", better is the first step and much better the second. With one, that is the
    first, and each other that occurs comes one step after it.

    Parameters
    ----------
    steps
        The side and how much better it is, by label.
    plain
        The other labels that name a side.
    name
        Of the file.

    Examples
    --------
    >>> graded({"a>b": ("left", 2), "b>>a": ("right", 3)}, (), "f.csv")
    {'a>b': 'left', 'b>>a': 'right+'}
    >>> graded({"a slightly": ("left", 1), "b much": ("right", 3)}, (), "f.csv")
    {'a slightly': 'left', 'b much': 'right+'}
    >>> graded({"a slightly": ("left", 1), "b much": ("right", 3)}, ("left",), "f.csv")
    {'a slightly': 'left', 'b much': 'right++'}
    """
    others = [*plain]
    levels = {level for _, level in steps.values()} | ({PLAIN} if others else set())
    own = [label for label in others if label.endswith("+")]
    if SLIGHT in levels and own:
        first = next(label for label, (_, level) in steps.items() if level == SLIGHT)
        raise OutcomeError(
            f"{name}: outcomes such as '{first}' beside '{own[0]}' are ambiguous: which is the "
            f"stronger? Say what each label means with --outcome '{first}=MEANING'."
        )
    order = sorted(levels) if SLIGHT in levels else [PLAIN, STRONGER, STRONGEST]
    if len(order) > 3:  # noqa: PLR2004
        raise OutcomeError(
            f"{name}: its outcomes tell four steps of 'better' apart ({', '.join(sorted(steps))}), "
            "and there may be three; say what each label means with --outcome LABEL=MEANING."
        )
    return {label: side + "+" * order.index(level) for label, (side, level) in steps.items()}


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
        alone = re.fullmatch(r"\s*\d\s*", str(text))
        most = str(text).strip() if alone else "5"
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
    steps = abs(first - last) + 1
    sign = 1 if last > first else -1
    found = {}
    for k in range(steps):
        # Without a middle there is no tie: the two middle numbers are the first steps.
        beyond = abs(2 * k - (steps - 1))
        side = "left" if 2 * k < steps - 1 else "right"
        means = side + "+" * ((beyond - 1) // 2) if beyond else "tie"
        number = first + sign * k
        for text in (f"{number}", f"{number}.0", *([f"+{number}"] if number > 0 else [])):
            found[text] = means
    return found
