"""Both stages in one: aggregate judgments, then calibrate scores onto their order."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from aggcal._core.arrays import TextArray
from aggcal._core.frames import Frame, check_frame, framed
from aggcal._core.progress import report
from aggcal.aggregation import (
    aggregator_of,
    check_method,
    check_uncertainty,
    feature_choice,
)
from aggcal.aggregation.consensus import LEVEL, Aggregator
from aggcal.aggregation.methods import PriorChoice
from aggcal.aggregation.terms import Terms
from aggcal.assessment.result import RESULT_FILES as RESULT_FILES
from aggcal.assessment.result import Assessment as Assessment
from aggcal.assessment.result import checked_titles
from aggcal.calibration import (
    Calibrator,
    Given,
    Order,
    anchored,
    calibrated,
    check_anchors,
    check_calibration,
    check_tables,
    find,
    read_known,
    scale_of,
)
from aggcal.calibration.result import Scale
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines import Engine, prepare
from aggcal.errors import OptionError
from aggcal.io import read_scores
from aggcal.registry import DEFAULT_CALIBRATOR, DEFAULT_METHOD, LOCAL, ROBUST, limits
from aggcal.registry.literals import (
    CalibratorName,
    EngineName,
    Estimator,
    MethodName,
    UncertaintyName,
)


def assess(
    judgments: Any,
    scores: Any = None,
    *,
    method: MethodName | str | Aggregator = DEFAULT_METHOD,
    calibrator: CalibratorName | Calibrator = DEFAULT_CALIBRATOR,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    terms: Terms | None = None,
    weights: Literal["sd"] | None = "sd",
    uncertainty: UncertaintyName | None = ROBUST.name,
    level: float = LEVEL,
    draws: int = 200,
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
    bounds: tuple[float, float] | None = None,
    digits: int | None = None,
    seed: int | None = None,
    engine: EngineName | Engine = LOCAL,
    frame: Frame | None = None,
    title: str | None = None,
    question: str | None = None,
    warn: bool = True,
    on_iteration: Callable[[int, float], None] | None = None,
    on_draw: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Aggregate judgments into a consensus and calibrate the model's scores onto its order.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    scores
        `Scores`, or anything that `read_scores` takes; None for Stage 1 alone. With ``anchors`` and
        no scores the anchors alone give the scale.
    method, prior, estimator, features, terms, seed, engine, frame, on_iteration
        See `aggregate`.
    calibrator, weights, model_sd, anchors, second_model, bounds, digits
        See `calibrate`.
    uncertainty, level, draws, on_draw
        See `Consensus.quantify`; None for no uncertainty of the consensus.
    title, question
        What the study is called, and what annotators were asked; for the report.
    warn
        Emit the warnings of both stages as Python warnings too.

    Examples
    --------
    >>> import aggcal
    >>> result = aggcal.assess([("ann", "a", "b")], [("a", 1.0), ("b", 3.0)], warn=False)
    >>> result.calibration
    Calibration by atc: 2 items, scores changed by 1 (RMS).
    """
    began = time.perf_counter()
    given: dict[str, Any] = {
        "method": method, "prior": prior, "estimator": estimator, "weights": weights,
        "uncertainty": uncertainty, "level": level, "draws": draws, "model_sd": model_sd,
        "seed": seed,
    }  # fmt: skip
    asked: dict[str, Any] = {"features": features is not None, "terms": terms}
    check_method(method, prior, estimator, **asked, engine=engine)
    check_uncertainty(uncertainty, draws)
    limits.check(level=level, seed=seed)
    check_calibration(calibrator, weights=weights, model_sd=model_sd, second_model=second_model)
    check_frame(frame)
    titles, scale = checked_titles(title, question), scale_of(bounds, digits)
    # What is small is read before what may be large, and all is checked before anything is fitted.
    scores, known = _read(scores, model_sd, anchors, second_model, scale)
    if features is not None:
        features = feature_choice(features)
    judgments = prepare(judgments, engine)
    if judgments.spelling is not None:
        known = judgments.spelling.tables({"scores": scores, "features": features, **known})
        scores, features = known.pop("scores"), known.pop("features")
    tables = None if scores is None else Given(scores, weights, **known)
    _check_stage_2(calibrator, tables, known["anchors"], judgments.item_ids)
    aggregator = aggregator_of(method, prior, estimator, features, seed, terms=terms)
    consensus = aggregator.fit(judgments, on_iteration=on_iteration)
    consensus = framed(consensus, frame)
    if uncertainty is None:
        consensus = replace(consensus, quantifier=None, stated=None)
    elif uncertainty != ROBUST.name or consensus.quantifiable:
        consensus = consensus.quantify(
            uncertainty, level=level, draws=draws, seed=seed or 0, on_draw=on_draw
        )
    report("calibrating the scores")
    calibration = by_anchors = None
    if tables is not None:
        order = Order.of(consensus)
        found = calibrated(find(calibrator), tables, order, level, seed or 0, scale=scale)
        calibration = framed(found, frame)
    elif known["anchors"] is not None:
        by_anchors = anchored(Order.of(consensus), known["anchors"], level, seed or 0, scale)
    rows = _provenance(judgments, scores, features, given)
    seconds = time.perf_counter() - began
    result = Assessment(
        consensus, calibration, rows, seconds, judgments, scores, by_anchors, titles=titles
    )
    if warn:
        for warning in result.warnings:
            python_warnings.warn(warning, stacklevel=2)
    return result


def _read(
    scores: Any, model_sd: float | None, anchors: Any, second_model: Any, scale: Scale
) -> tuple[Scores | None, dict[str, Any]]:
    """Read the model's scores and what else is known of the truth, where they are given."""
    if scores is None and not (model_sd is second_model is None):
        raise OptionError(
            "model_sd and second_model are for calibration; give the model's scores too."
        )
    if scores is anchors is None and scale.to_dict():
        raise OptionError(
            "bounds and digits are for calibrated scores; give the model's scores, or anchors."
        )
    if scores is not None and not isinstance(scores, Scores):
        scores = read_scores(scores)
    anchors, second_model = read_known(anchors, second_model)
    return scores, {"model_sd": model_sd, "anchors": anchors, "second_model": second_model}


def _check_stage_2(
    calibrator: str | Calibrator, tables: Given | None, anchors: Scores | None, ids: TextArray
) -> None:
    """Refuse tables of other items, before anything is fitted."""
    if tables is not None:
        check_tables(find(calibrator), tables, ids)
    elif anchors is not None:
        check_anchors(anchors, ids)


def _provenance(
    judgments: Judgments, scores: Scores | None, features: Any, given: dict[str, Any]
) -> dict[str, Any]:
    """Say what was read and with which options, as ``summary.json`` records it."""
    prior, method = given["prior"], given["method"]
    return {
        "judgments": judgments.source,
        "scores": Path(scores.source).name if scores is not None else None,
        "score_column": scores.column or None if scores is not None else None,
        "features": Path(features.source).name if isinstance(features, Features) else features,
        "format": judgments.format,
        "reading": list(judgments.notes),
        "criteria": list(judgments.criteria),
        "n_rows": judgments.n_rows,
        "n_duplicates": judgments.n_duplicates,
        "n_repeated": judgments.n_repeated,
        "not_fitted": judgments.unfitted.counts,
        "settings": given
        | {
            "method": method if isinstance(method, str) else None,
            "prior": "none" if prior is None else prior if isinstance(prior, str) else "own",
            "seed": given["seed"] or 0,
            "engine": judgments.engine_name,
        },
    }
