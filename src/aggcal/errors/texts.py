"""Texts that are safe and short enough to be printed."""

import re

# What moves a cursor or begins a line, and what turns the text beside it or cannot be encoded.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text on one line that no terminal or log takes for anything but text.

    Whatever people read passes through here, since ids may hold anything; CSV and JSON do not.

    Examples
    --------
    >>> printable("one" + chr(27) + "[2J" + chr(10) + "two"), printable(chr(0x202E) + "abc")
    ('one [2J two', '\N{REPLACEMENT CHARACTER}abc')
    """
    return _TURNS.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text))


def cut(text: str, longest: int) -> str:
    """Return a text, cut with an ellipsis if it is too long.

    Examples
    --------
    >>> cut("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[:longest]}…"
