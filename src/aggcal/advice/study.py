"""What a result or an input tells of a study: its judgments, scores, consensus and calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from aggcal.advice.suggest import Suggestions
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration import Calibration
from aggcal.calibration.unseen import Prediction
from aggcal.data.base import AnyJudgments
from aggcal.data.control import Control
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines import prepare
from aggcal.engines.remote import gathered
from aggcal.errors import OptionError
from aggcal.io import read_scores
from aggcal.registry import DEFAULT_METHOD, WITHOUT_FEATURES


@runtime_checkable
class Assessed(Protocol):
    """What both stages found (`aggcal.Assessment`)."""

    consensus: Any
    calibration: Any
    judgments: Any
    scores: Any


@runtime_checkable
class Estimated(Protocol):
    """A fitted estimator of `aggcal.sklearn`."""

    consensus_: Any


@dataclass(frozen=True, eq=False)
class Study:
    """What is known of a study; None where it is not.

    Examples
    --------
    >>> import aggcal
    >>> found = Study.of(aggcal.aggregate([("ann", "a", "b")], warn=False))
    >>> found.judgments, found.consensus.method, found.calibration
    (Judgments(2 items, 1 annotators, 1 judgments), 'hra-g', None)
    >>> Study.of(aggcal.Scores.of({"a": 1.0})).scores
    Scores(1 item)
    """

    what: str
    """The kind of thing that it was told by."""
    judgments: AnyJudgments | None = None
    scores: Scores | None = None
    consensus: Consensus | None = None
    calibration: Calibration | None = None

    @classmethod
    def of(cls, given: Any) -> Study:
        """Take what a result knows, or read judgments (anything that `read_judgments` takes)."""
        for kind, told in _TOLD.items():
            if isinstance(given, kind):
                what = "judgments" if kind is AnyJudgments else type(given).__name__
                return cls(what, **told(given))
        from aggcal.aggregation.selection import Comparison
        from aggcal.datasets import Dataset
        from aggcal.simulation import Simulation

        if isinstance(given, Comparison):
            return cls("Comparison", given.judgments)
        if isinstance(given, Dataset):
            return cls("Dataset", given.judgments, given.scores)
        if isinstance(given, Simulation):
            return cls("Simulation", prepare(given.judgments), read_scores(given.scores))
        if isinstance(given, Prediction | Features | Control) or hasattr(given, "findings"):
            return cls(type(given).__name__)  # results that know nothing of it
        return cls("judgments", prepare(given))

    def checked_judgments(self, most: int) -> Judgments:
        """Return the judgments that a check looks at, up to so many brought from a cluster."""
        found = self.needed("judgments", "give the judgments themselves")
        here: Judgments = gathered(found, most) or found.on_one_machine("a check")
        return here

    def checked_scores(self, given: Any) -> Scores | None:
        """Return the scores that a check looks at: those given, else the study's."""
        if given is not None and not isinstance(given, Scores):
            given = read_scores(given)
        found: Scores | None = self.scores if given is None else given
        spelling = None if self.judgments is None else self.judgments.spelling
        return found if found is None or spelling is None else spelling.table(found)

    def checked_consensus(self, given: Consensus | None, method: str) -> Consensus | None:
        """Return the fit that a check can use: that given, else the study's if it is fit for it."""
        own = self.consensus
        if (
            given is not None
            or own is None
            or own.prior is None
            or own.method not in WITHOUT_FEATURES
        ):
            return given
        return own if method in (DEFAULT_METHOD, own.method) else None

    def needed(self, part: str, remedy: str) -> Any:
        """Return a part; refuse where it is not known."""
        found = getattr(self, part)
        if found is None:
            have = "have" if self.what == "judgments" else "has"
            raise OptionError(f"{self.what} {have} no {part}, which this needs; {remedy}.")
        return found


def _fitted_to(consensus: Consensus | None) -> AnyJudgments | None:
    """Return the judgments of a consensus; None where it comes from bare scores."""
    found = None if consensus is None else getattr(consensus.quantifier, "judgments", None)
    return found if isinstance(found, AnyJudgments) else None


def _model(calibration: Calibration) -> Scores:
    """Return the model's scores that were calibrated."""
    there = np.isfinite(calibration.model)
    return Scores(calibration.item_ids[there], calibration.model[there])


def _of_fit(consensus: Consensus | None, calibration: Calibration | None = None) -> dict[str, Any]:
    """Return what a fit knows, and what was made of it."""
    scores = None if calibration is None else _model(calibration)
    whole = {"judgments": _fitted_to(consensus), "scores": scores}
    return whole | {"consensus": consensus, "calibration": calibration}


_PARTS = ("judgments", "scores", "consensus", "calibration")
_TOLD: dict[type, Callable[[Any], dict[str, Any]]] = {
    AnyJudgments: lambda given: {"judgments": given},
    Scores: lambda given: {"scores": given},
    Consensus: _of_fit,
    Calibration: lambda given: _of_fit(given.fit, given),
    Suggestions: lambda given: _of_fit(given.consensus),
    Assessed: lambda given: {part: getattr(given, part) for part in _PARTS},
    Estimated: lambda given: _of_fit(given.consensus_, getattr(given, "calibration_", None)),
}
"""What each kind of thing tells."""
