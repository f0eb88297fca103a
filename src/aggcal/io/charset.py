"""In which encoding a text is, told from its bytes, and the same text in UTF-8."""

from __future__ import annotations

import codecs
import re
import unicodedata
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from shutil import copyfileobj

from aggcal.errors import FileError, printable
from aggcal.io.files import no_room, unpacked

_PIECE = 1 << 20
"""Bytes at a time: fewer take longer, more take more memory."""
_LOOKED_AT = 20_000
"""Bytes that are not ASCII and are looked at to tell one encoding from another: a few hundred tell
as much, and a file in another alphabet is full of them."""
_PARQUET = (".parquet", ".pq")
"""How the names of files end that are no text, and that nobody saves as CSV."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF8 = ("utf-8", "utf-8-sig")
"""What needs no other copy."""
_NAMES = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "mac_roman": "MacRoman",
}
_QUOTES = "‘’“”«»‹›„‚–—…•¿¡\u00a0"
"""Signs that stand between words and beside them."""
_SIGNS = "§©®™€£¥°±×÷½¼¾²³µ·´†"
"""Signs that stand between words or beside numbers; beside letters they are another alphabet."""
_RARE = "þðýÞÐÝ"
"""Letters of Icelandic, which stand where Turkish has its own: they tell nothing."""
_LEAST = 0.8
"""What signs that are not ASCII must count for on average (letters 2, others 1 each): texts in
Windows-1252 and MacRoman have 1 and more, those of other alphabets less than a half."""


def charset_of(path: Path, name: str) -> tuple[str, str]:
    """Tell the encoding of a text file, and a word that shows how it is read; or refuse it.

    A mark at its beginning tells, or every second byte being zero, or that all of it is UTF-8. What
    is left is Windows-1252 or MacRoman, of which the one is taken that makes words; a text in which
    neither does is refused, since a guess would change ids unseen.
    """
    with unpacked(path) as file:
        head = file.read(_PIECE)
        for mark, codec in _MARKS:
            if head.startswith(mark):
                return codec, ""
        if b"\0" in head:
            return _without_mark(head, name), ""
        if _is_utf8(file, head):
            return UTF8[0], ""
        file.seek(0)
        parts, found = [], 0
        while found < _LOOKED_AT and (line := file.readline(_PIECE)):
            if not line.isascii():
                parts.append(line)
                found += sum(byte > 127 for byte in line)  # noqa: PLR2004
    return _western(b"".join(parts), name)


def _without_mark(head: bytes, name: str) -> str:
    """Tell UTF-16 without a mark by where the zero bytes are: text is mostly ASCII signs."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    for codec, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros > 0.4 * half and others < 0.02 * half:  # letters, not numbers
            return codec
    raise not_text(name)


def not_text(name: str) -> FileError:
    """Return the refusal of a file that holds no text, by what its name says that it is.

    Examples
    --------
    >>> print(not_text("votes.csv"))
    votes.csv: is not a text file; save it as CSV in UTF-8.
    >>> print(not_text("votes.parquet"))
    votes.parquet: is not a Parquet file, or a damaged one; save or download it again.
    """
    fault = "is not a text file; save it as CSV in UTF-8"
    if name.lower().endswith(_PARQUET):
        fault = "is not a Parquet file, or a damaged one; save or download it again"
    return FileError(f"{name}: {fault}.")


def _is_utf8(file: object, head: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    piece = head
    try:
        while piece:
            if not piece.isascii() or decoder.getstate()[0]:
                decoder.decode(piece)
            piece = file.read(_PIECE)  # type: ignore[attr-defined]  # any binary file
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _western(text: bytes, name: str) -> tuple[str, str]:
    readings = []
    for codec in ("cp1252", "mac_roman"):
        with suppress(UnicodeDecodeError):
            decoded = text.decode(codec)
            readings.append((_plausible(decoded), codec, decoded))
    best = max(readings, key=lambda one: one[0], default=None)
    if best is None or best[0] < _LEAST:
        if name.lower().endswith(_PARQUET):
            raise not_text(name)
        raise FileError(
            f"{name}: is not UTF-8 text, nor recognisably Windows-1252 or MacRoman; save the file "
            "as UTF-8."
        )
    return best[1], _example(best[2])


def _plausible(text: str) -> float:
    """Return how much, on average, like words the parts of a text are that hold more than ASCII.

    Letters count for it within words in the right case, signs where signs stand; long runs of
    letters with accents are another alphabet, read wrongly.
    """
    score = run = number = 0
    for k, letter in enumerate(text):
        if letter.isascii():
            run = 0
            continue
        number += 1
        before, after = text[k - 1 : k], text[k + 1 : k + 2]
        if unicodedata.category(letter) in ("Ll", "Lu") and letter < "\u0180":
            run += 1
            rises = letter.isupper() and before.isalpha() and before.islower()
            lonely = not before.isalpha() and not after.isalpha()
            plain = 0 if letter in _RARE else 2
            score += -2 if rises or run > 2 or lonely else plain  # noqa: PLR2004
        elif letter in _QUOTES:
            within = before.isalpha() and after.isalpha() and letter not in "’–\u00a0"
            score += -2 if within else 1
        elif letter in _SIGNS:
            score += -2 if before.isalpha() or after.isalpha() else 1
        else:
            score -= 3
    return score / max(number, 1)


def _example(text: str) -> str:
    """Return the first word that holds more than ASCII, or the signs around it."""
    word = re.search(r"[\w'’]{0,20}[^\x00-\x7f]\w{0,20}", text)
    return "" if word is None else printable(word[0])


def as_utf8(path: Path, codec: str, example: str, name: str, scratch: Path) -> tuple[Path, str]:
    """Write a text as UTF-8, its lines ending in LF; return where, and what to tell the user."""
    copy, shown = scratch / "text", _NAMES.get(codec, "UTF-8")
    with unpacked(path) as file, TextIOWrapper(file, codec) as text:
        try:
            target = copy.open("w", encoding="utf-8", errors="replace", newline="\n")
            with target:
                copyfileobj(text, target, _PIECE)
        except UnicodeDecodeError:
            raise FileError(
                f"{name}: begins as {shown} text but is not throughout; save the file as UTF-8."
            ) from None
        except OSError as error:
            raise no_room(error) from None
    said = f"the file is not UTF-8 and was read as {shown}"
    if example:
        said += f", as in '{example}'; if that is wrong, save the file as UTF-8"
    return copy, said
