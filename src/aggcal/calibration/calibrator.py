"""What a calibrator is: the protocol, and all that may be asked of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.errors import AggcalWarning, OptionError, check_choice
from aggcal.registry import AUTO_CALIBRATOR, CALIBRATORS

if TYPE_CHECKING:
    from aggcal.calibration.anchors import Gain
    from aggcal.calibration.claims import Guarantee
    from aggcal.calibration.inputs import Inputs
    from aggcal.calibration.tuning import Untuned


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Calibrated scores of some items."""

    values: FloatArray
    block: IntArray | None = None
    """Which items were pooled into one value, 1 being the highest; None where none were."""
    kept: FloatArray | None = None
    """Share of the model's own deviations that each item kept; None where there is no such."""


@runtime_checkable
class Calibrator(Protocol):
    """Stage 2 in one method: any object that has it and a name can be passed to `calibrate`.

    It is not shown anchors unless it has an attribute ``tuned_by_anchors`` that is true: some of
    them then tune it, and the others measure. Other attributes by the names of those of
    ``aggcal.calibration.calibrator.FullCalibrator`` are asked for too.
    """

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def calibrate(self, inputs: Inputs, /) -> FloatArray | Calibrated:
        """Return one number for each item of ``inputs``, in their order."""
        ...


class FullCalibrator:
    """A calibrator that answers all that is asked of one; what is here is right for any."""

    name: str
    needs_model_sd: bool = False
    """Whether it does nothing without the sd of the model's errors."""
    takes_second_model: bool = False
    """Whether it has a use for the scores of a second model."""
    tuned_by_anchors: bool = False
    """Whether anchors change its scores: those that do cannot measure them."""
    by_place: bool = False
    """Whether what it makes of an exact consensus depends on an item's place in it alone."""
    covers: str = (
        "Each interval covers the calibrated score that the annotators' exact consensus would give"
    )
    """What its intervals cover without anchors, as a sentence to be continued; "" for none."""
    does: str = ""
    """What it does, in a line of the report."""

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Return the calibrated scores."""
        raise NotImplementedError

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Return what it makes of an exact consensus, which intervals are drawn from."""
        del found
        exact = partial(replace, inputs, covariance=None)
        return lambda drawn: self.calibrate(exact(consensus=drawn)).values

    def untuned(self, inputs: Inputs, /) -> Untuned | None:
        """Return what anchors tune, where `Untuned` says how; None where they do otherwise.

        All anchors then both tune and measure; else some tune and the others measure.
        """
        del inputs
        return None

    def recommendations(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where the data show that another calibrator would do better."""
        del inputs, gain
        return []

    def contradictions(self, inputs: Inputs, /) -> list[AggcalWarning]:
        """Say where what was stated does not go with the data, of what only it makes use of."""
        del inputs
        return []

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return what may be claimed of scores whose items had weights, or anchors measured."""
        del inputs, weighted, measured
        return []

    def to_dict(self, inputs: Inputs, /) -> dict[str, Any]:
        """Return what it made of its inputs, which ``summary.json`` holds under its name."""
        del inputs
        return {}


class _Completed(FullCalibrator):
    """A user's own calibrator: what it does not say of itself, the defaults do."""

    def __init__(self, own: Calibrator) -> None:
        self.name, self._own = own.name, own
        for part, usual in vars(FullCalibrator).items():
            said = getattr(own, part, usual)
            # What a subclass only inherits would call its own ``calibrate`` instead of ours.
            inherited = getattr(said, "__func__", said) is usual
            if part[0] != "_" and part != "calibrate" and not inherited:
                setattr(self, part, said)

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Call it, and refuse what are no scores."""
        if not self.tuned_by_anchors:
            inputs = inputs.with_anchors(None)
        given = self._own.calibrate(inputs)
        found = given if isinstance(given, Calibrated) else Calibrated(given)
        values, n = np.array(found.values, dtype=np.float64), len(inputs.item_ids)
        if values.shape != (n,) or not np.isfinite(values).all():
            raise OptionError(
                f"calibrator '{self.name}' did not return a finite number for each of "
                f"{n:,} items (shape {values.shape}); return one for each of inputs.item_ids."
            )
        return replace(found, values=values)


def find(method: str | Calibrator) -> FullCalibrator:
    """Return a calibrator by its name, or a user's own with all that is asked of one.

    Examples
    --------
    >>> find("safe").needs_model_sd
    True
    >>> find("atcc")
    Traceback (most recent call last):
    aggcal.errors.OptionError: calibrator 'atcc' is unknown (did you mean 'atc'?); choose atc, ...
    """
    if isinstance(method, str):
        if method == AUTO_CALIBRATOR.name:
            chooser: FullCalibrator = AUTO_CALIBRATOR.make()
            return chooser
        check_choice("calibrator", method, (*CALIBRATORS, AUTO_CALIBRATOR.name))
        made: FullCalibrator = CALIBRATORS[method].make()
        return made
    if isinstance(method, type) or not isinstance(method, Calibrator):
        raise OptionError(
            f"calibrator {method!r} has no name and calibrate(inputs); name one of "
            f"{', '.join(CALIBRATORS)}."
        )
    name: Any = method.name
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"the name of calibrator {method!r} is not a text; give it one.")
    known = (CALIBRATORS | {AUTO_CALIBRATOR.name: AUTO_CALIBRATOR}).get(name)
    if known is not None and type(method) is not type(known.make()):
        raise OptionError(
            f"'{name}' is the name of a built-in calibrator; give your own calibrator another name."
        )
    return method if isinstance(method, FullCalibrator) and known else _Completed(method)
