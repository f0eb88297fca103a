"""Compare methods by what they predict, with the files of such a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import IO, Any

from aggcal._core.frames import Frame, check_frame
from aggcal._core.machine import check_seed
from aggcal._core.progress import listening
from aggcal._core.tables import as_frame
from aggcal._version import __version__
from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.selection import SAMPLE, compared
from aggcal.aggregation.selection.candidates import check_methods
from aggcal.aggregation.selection.comparison import Comparison
from aggcal.aggregation.selection.folds import FEWEST, FOLDS, HoldOut, check_folds, check_hold_out
from aggcal.aggregation.selection.measures import LEVEL
from aggcal.engines import prepare
from aggcal.errors import OptionError
from aggcal.io.writing.manifest import Manifest
from aggcal.io.writing.write import Writer, csv_writer, write_files
from aggcal.pages.figures import Dot, dots
from aggcal.registry import LOCAL
from aggcal.registry.literals import FittedName

COMPARISON_FILES = ("comparison.csv", "comparison.svg")
"""What a comparison writes, besides ``summary.json``, which lists it."""


class MethodComparison(Comparison):
    """Methods and terms by how well they predict judgments that were held out.

    ``measured`` has the methods, the lowest log-loss first, with ``values`` and ``differences``
    from plain Bradley-Terry for each measure. ``calibration`` is the slope of the answers in the
    predicted logit: 1 is calibrated, less is too extreme, more too timid. Standard errors are
    clustered by annotator or by what is held out together, whichever gives the larger one;
    intervals are at 95%.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g", "tcv"])
    >>> found.chosen, found.options
    ('hra-g', {'method': 'hra-g'})
    """

    @property
    def table(self) -> Any:
        """A row for each method, as in ``comparison.csv``."""
        return as_frame(self.columns, self.backend)

    def figure(self) -> str:
        """Return the differences in log-loss from plain Bradley-Terry, drawn as SVG."""
        rows = []
        for one in self.measured:
            found = one.differences["log_loss"]
            rows.append(
                Dot(one.label, found.value, found.low, found.high, chosen=one is self.choice)
            )
        title = f"Held-out log-loss of each method, compared with {self.reference}"
        name = f"held-out log-loss minus that of {self.reference} ({LEVEL:.0%} intervals; "
        return dots(rows, title, f"{name}lower is better)")

    def save(self, directory: str | Path, *, force: bool = False) -> list[Path]:
        """Write ``comparison.csv``, ``comparison.svg`` and ``summary.json``, all or none.

        Parameters
        ----------
        directory
            Made if it is not there.
        force
            Replace files of these names whoever wrote them.
        """
        table, figure = COMPARISON_FILES
        files: dict[str, Writer] = {
            table: csv_writer(self.columns),
            figure: partial(_write, self.figure()),
        }
        manifest = comparison_manifest(self.to_dict())
        return write_files(directory, files, manifest=manifest, force=force)


def comparison_manifest(found: dict[str, Any] | None = None) -> Manifest:
    """Return the list of the files of a comparison."""
    return Manifest("summary.json", {"version": __version__, **(found or {})}, "compare")


def compare_methods(
    judgments: Any,
    methods: Sequence[FittedName | str | Aggregator] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: HoldOut = "auto",
    frame: Frame | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> MethodComparison:
    """Compare methods and terms by how well they predict judgments that were held out.

    All are fitted to the same folds. Whole contexts are held out where they are known, else whole
    screens or rankings, else all answers of an annotator to one pair. The chosen method is the
    simplest within one standard error of the lowest log-loss.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    methods
        Names of ``aggcal methods``; with terms, such as ``"hra-g:plain"`` or
        ``"hra-g:ties+position"`` (of ties, position, context and categories); or objects with a
        ``fit(judgments)``. None for all methods that need no features, with every term that the
        judgments have the data for. Plain Bradley-Terry, ``btl``, is always compared.
    folds
        How many parts are held out in turn.
    seed
        Seed for all random numbers.
    sample
        With more judgments than this, a sample of contexts or annotators is compared; None for
        no sample.
    hold_out
        What is held out together: ``"context"``, ``"screen"`` (or ranking) or ``"question"``, all
        answers of an annotator to one pair. ``"auto"`` takes the first of these that is known;
        ``"pair"`` holds out all answers to a pair, ``"row"`` single judgments. Whole contexts tell
        how well new contexts are predicted, where effects of known ones do not show.
    frame
        See `aggregate`.
    on_step
        Called with what is being done, how many fits are done and how many there are.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g:plain"])
    >>> [one.label for one in found.measured]
    ['hra-g:plain', 'btl']
    """
    how: dict[str, Any] = {"folds": folds, "seed": seed, "sample": sample, "hold_out": hold_out}
    check_comparison(methods, **how)
    check_frame(frame)
    here = prepare(judgments, LOCAL).on_one_machine("comparing methods")
    with nullcontext() if on_step is None else listening(on_step):
        found = compared(here, methods, **how)
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return MethodComparison(**parts | {"judgments": here, "backend": frame or here.backend})


def check_comparison(
    methods: Sequence[str | Aggregator] | None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: str = "auto",
) -> None:
    """Refuse options of `compare_methods` that are none, before anything is read.

    Examples
    --------
    >>> check_comparison(["btl"], sample=10)
    Traceback (most recent call last):
    aggcal.errors.OptionError: a sample of 10 judgments is too small; give at least 50.
    """
    check_methods(methods)
    check_folds(folds)
    check_hold_out(hold_out)
    check_seed(seed)
    if sample is not None and not sample >= FEWEST:
        raise OptionError(f"a sample of {sample} judgments is too small; give at least {FEWEST}.")


def _write(text: str, file: IO[str]) -> None:
    file.write(text)
