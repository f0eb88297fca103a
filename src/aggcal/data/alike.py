"""Ids that differ only in case, spacing, punctuation or Unicode form, and are likely one.

Two ids are alike if their keys are equal. A key must never be common to ids that hold different
numbers: what parts two digits stays (``1.0`` is not ``10``), and so does what gives a name another
meaning at its end (``A-``, ``C++``, ``A*``, ``a'``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from aggcal.errors import AlikeIdsWarning, count, cut, option, printable

_NUMBER = re.compile(r"([+-]?)(\d+)(?:[.,](\d+))?")
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_PARTS = re.escape("_.,:;/\\|\"'()[]{}`´‘’“”„‚«»‹›·…" + _DASHES)
"""Punctuation that parts or encloses words. Signs that change what a word means are not among it:
# @ & * + % ! ? = < > ~ ^ $ and others."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_BETWEEN_DIGITS = re.compile(rf"(?<=\d)[\s{_PARTS}]+(?=\d)")
_AT_END = re.compile(r"(?<=\w)([-'’′])\Z")
_NUMERO = re.compile(r"#\s*(?=\d)")
_DROPPED = re.compile(rf"[\s{_PARTS}]+")
_COMPATIBLE = ("<wide>", "<narrow>", "<noBreak>", "<compat>")
"""Other forms of the same letter. Superscripts and fractions are not: 10² is not 102."""
_GROUPS, _SPELLINGS = 3, 4
"""Groups that a message shows, and spellings of each."""


@lru_cache(maxsize=1 << 14)  # the ids of a small study are looked at by several checks
def key(label: str) -> str:
    """Return what is common to all spellings of an id.

    Examples
    --------
    >>> len({key(label) for label in ("Essay 20", "essay 20", "Essay20", "essay-20", "ESSAY_20")})
    1
    >>> key("gpt-4") == key("GPT4"), key("v1.0") == key("v10"), key("-1") == key("1")
    (True, False, False)
    >>> key("7.0") == key("7"), key("A-") == key("A"), key("essay 2") == key("essay 02")
    (True, False, False)
    """
    if label.isascii() and label.isalnum():
        return label.lower()
    text = label
    if not label.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFC", label))
    if not text.isascii():
        text = unicodedata.normalize("NFC", "".join(map(_same_letter, text)))
    text = text.strip().casefold()
    number = _NUMBER.fullmatch(text)
    if number is not None:
        sign, whole, rest = number.groups()
        rest = "" if rest is None or not rest.strip("0") else f".{rest}"
        return f"{'-' if sign == '-' else ''}{whole}{rest}"
    text = _NUMERO.sub("", text)
    end = _AT_END.search(text)
    kept = end[0] if end is not None else ""
    body = _BETWEEN_DIGITS.sub("\0", text.removesuffix(kept))
    return (_DROPPED.sub("", body).replace("\0", " ") + kept) or text or label


def _same_letter(letter: str) -> str:
    compatible = unicodedata.decomposition(letter).startswith(_COMPATIBLE)
    return unicodedata.normalize("NFKC", letter) if compatible else letter


def groups(ids: Iterable[str]) -> list[list[str]]:
    """Return the ids that are alike, those of each group together, in the order given.

    Examples
    --------
    >>> groups(["Essay 20", "b", "essay20", "c"])
    [['Essay 20', 'essay20']]
    """
    spellings: dict[str, list[str]] = {}
    for label in dict.fromkeys(ids):
        spellings.setdefault(key(label), []).append(label)
    return [alike for alike in spellings.values() if len(alike) > 1]


def alike_warning(
    kind: str,
    found: Sequence[Sequence[str]],
    counts: Mapping[str, int],
    *,
    tables: bool = False,
) -> AlikeIdsWarning:
    """Warn of ids that are likely one.

    Parameters
    ----------
    kind
        What they are: ``"item"`` or ``"annotator"``.
    found
        The groups.
    counts
        How many judgments each has.
    tables
        Whether they stand in different tables.

    Examples
    --------
    >>> print(alike_warning("item", [["Essay 20", "essay 20"]], {"Essay 20": 12, "essay 20": 1}))
    2 item ids are probably 1 item. They differ only in how they are written: 'Essay 20' with 12
    judgments, 'essay 20' with 1. Merge them with normalize_ids=True, or list which is which with
    aliases=FILE.
    """
    every_id = [label for spellings in found for label in spellings]
    number = len(every_id)
    shown = [_group(spellings, counts) for spellings in found[:_GROUPS]]
    more = f"; and {count(len(found) - _GROUPS, 'more group')}" if len(found) > _GROUPS else ""
    return AlikeIdsWarning(
        f"{number:,} {kind} ids are probably {count(len(found), kind)}",
        f"They differ only in how they are written{' in the two tables' if tables else ''}: "
        f"{'; '.join(shown)}{more}.",
        f"Merge them with {option('normalize-ids')}, or list which is which with "
        f"{option('alias', 'FILE')}.",
        items=every_id if kind == "item" else (),
        annotators=every_id if kind == "annotator" else (),
    )


def _group(spellings: Sequence[str], counts: Mapping[str, int]) -> str:
    ordered = sorted(spellings, key=lambda label: -counts.get(label, 0))
    said: list[str] = []
    for label in ordered[:_SPELLINGS]:
        number = counts.get(label)
        many = "" if number is None else f" with {number:,}"
        if number is not None and not said:
            many += " judgment" if number == 1 else " judgments"
        said.append(f"'{visible(label)}'{many}")
    more = f" and {len(ordered) - _SPELLINGS:,} more" if len(ordered) > _SPELLINGS else ""
    return ", ".join(said) + more


def visible(label: str) -> str:
    """Return an id with what cannot be seen in it written out.

    Examples
    --------
    >>> visible("Essay" + chr(0xA0) + "20"), visible(unicodedata.normalize("NFD", "é"))
    ('Essay<no-break space>20', 'e<combining acute accent>')
    """
    shown = "".join(
        f"<{unicodedata.name(letter, 'invisible').lower()}>"
        if unicodedata.combining(letter)
        or _INVISIBLE.match(letter)
        or (letter.isspace() and letter != " ")
        else letter
        for letter in label
    )
    return printable(cut(shown, 100))
