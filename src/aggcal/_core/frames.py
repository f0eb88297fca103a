"""What tables are given back as: a data frame of the user's library, or plain columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from aggcal.errors import OptionError, check_choice

Frame: TypeAlias = Literal["pandas", "polars", "pyarrow", "columns"]
"""A data frame library, or a dictionary of NumPy arrays."""
FrameOption: TypeAlias = Literal["auto", "pandas", "polars", "pyarrow", "columns"]
"""The same, or the first of pandas and polars that is installed."""

AUTO: Literal["auto"] = "auto"
PLAIN: Literal["columns"] = "columns"
_TRIED = ("pandas", "polars")  # in this order: most people have and expect pandas

Result = TypeVar("Result")


class Options:
    """Settings for the whole process: `aggcal.options`.

    ``frame`` is what tables of results are given as where neither the argument ``frame`` nor a
    data frame among the inputs decides: ``"pandas"``, ``"polars"``, ``"pyarrow"``, ``"columns"``
    (a dictionary of NumPy arrays), or ``"auto"`` for the first of pandas and polars that is
    installed, else columns.

    Examples
    --------
    >>> import aggcal
    >>> with aggcal.options.using(frame="columns"):
    ...     aggcal.aggregate([("ann", "a", "b")], warn=False).items["item"]
    array(['a', 'b'], dtype=object)
    >>> aggcal.options.frame = "panda"
    Traceback (most recent call last):
    aggcal.errors.OptionError: frame 'panda' is unknown (did you mean 'pandas'?); choose auto, ...
    """

    def __init__(self) -> None:
        self._frame: FrameOption = AUTO

    @property
    def frame(self) -> FrameOption:
        """What tables are given as where no input is a data frame."""
        return self._frame

    @frame.setter
    def frame(self, value: FrameOption) -> None:
        if value != AUTO:
            _check(value, get_args(FrameOption))
        self._frame = value

    @contextmanager
    def using(self, *, frame: FrameOption) -> Iterator[None]:
        """Set options for the length of a ``with`` block."""
        before = self._frame
        self.frame = frame
        try:
            yield
        finally:
            self._frame = before

    def __repr__(self) -> str:
        return f"aggcal.options(frame={self._frame!r})"


options = Options()
"""The settings of this process."""


def check_frame(frame: Frame | None) -> None:
    """Refuse an argument ``frame`` that is none, or whose library is not installed.

    Examples
    --------
    >>> check_frame("columns")
    >>> check_frame("frames")
    Traceback (most recent call last):
    aggcal.errors.OptionError: frame 'frames' is unknown; choose pandas, polars, pyarrow, columns.
    """
    if frame is not None:
        _check(frame, get_args(Frame))


def _check(frame: str, known: tuple[str, ...]) -> None:
    check_choice("frame", frame, known)
    if frame != PLAIN and find_spec(frame) is None:
        raise OptionError(f"frame '{frame}' needs {frame}: pip install {frame}, or choose another.")


def framed(result: Result, frame: Frame | None) -> Result:
    """Return the same result with its tables as ``frame``; unchanged where that is None."""
    whole: Any = result
    return result if frame is None else replace(whole, backend=frame)


def library_of(backend: str | None) -> str:
    """Return the library that tables are made with, or ``"columns"``.

    Parameters
    ----------
    backend
        That of the argument ``frame`` or of the input; None where neither says: then `options` do.

    Examples
    --------
    >>> with options.using(frame="columns"):
    ...     library_of(None), library_of("polars")
    ('columns', 'polars')
    """
    chosen = backend or options.frame
    return installed() if chosen == AUTO else chosen


@cache
def installed() -> str:
    """Return the first data frame library that can be imported, else ``"columns"``."""
    for library in _TRIED:
        try:
            import_module(library)
        except ImportError:
            continue
        return library
    return PLAIN
