"""Read a folder of results as a report; files that do not fit together are told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aggcal.errors import FileError, OptionError, TableError, UnknownItemError
from aggcal.io.results import read_categories, read_comparisons, read_results
from aggcal.report.report import Report

_LONGEST = 200
"""Characters of a reason: it may quote the folder, which may hold anything."""


@contextmanager
def fitting(folder: Path | str) -> Iterator[None]:
    """Say in a sentence what goes wrong in rendering a folder, whose files may hold anything.

    Examples
    --------
    >>> with fitting("out"):
    ...     {}["method"]
    Traceback (most recent call last):
    aggcal.errors.FileError: out: the files do not fit together ('method'); run aggcal again.
    """
    from jinja2 import TemplateError

    try:
        yield
    except (OptionError, TableError, UnknownItemError):
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
        TemplateError,
    ) as error:
        reason = str(error)[:_LONGEST] or type(error).__name__
        raise FileError(
            f"{folder}: the files do not fit together ({reason}); run aggcal again."
        ) from None


def load_report(
    folder: Path | str, texts: Mapping[str, str] | None = None, *, force: bool = False
) -> Report:
    """Return the report of a folder of results.

    Parameters
    ----------
    folder
        What ``run`` or ``aggregate`` wrote.
    texts
        What items say, by their ids.
    force
        See `aggcal.io.results.read_results`.

    Examples
    --------
    >>> load_report("nowhere")
    Traceback (most recent call last):
    aggcal.errors.FileError: nowhere: no such folder; give a folder that 'aggcal run' wrote.
    """
    summary, items, annotators = read_results(folder, force=force)
    met = read_comparisons(folder, items)
    cells = read_categories(folder, items)
    with fitting(folder):
        kept = {key: value for key, value in summary.items() if key != "texts"}
        return Report(kept, items, annotators, texts or {}, met, categories=cells)
