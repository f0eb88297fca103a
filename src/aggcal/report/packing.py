"""The long tables of a page, packed where they are large, while other work goes on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from zlib import compress

from aggcal._core.kernels.threads import begun

_UNPACKED = 2_000_000
"""Characters of a table that stay readable in the page: more are packed, or it would be heavy."""


class ScriptTable:
    """A table as the page's script gets it: JSON, or the same compressed, in letters.

    Packing a large table takes most of the time that a page does, and begins at once.

    Examples
    --------
    >>> table = ScriptTable("[1,2]")
    >>> table.__html__(), table.is_packed
    ('[1,2]', False)
    """

    def __init__(self, text: str) -> None:
        self.is_packed = len(text) > _UNPACKED
        self._text: Callable[[], str] = lambda: text
        if self.is_packed:
            self._text = begun(partial(_packed, text))

    def __html__(self) -> str:
        """Return what stands in the page; wait for it, if it is not ready."""
        return self._text()


def _packed(text: str) -> str:
    """Return a text compressed, in letters that a page can hold."""
    # The two levels above take five times as long for 1.5% less.
    return b64encode(compress(text.encode(), 7)).decode()
