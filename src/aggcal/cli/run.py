"""``aggcal run``: both stages, or the first where there are no scores; and ``aggcal aggregate``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import count as numbers_from
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.cli import reading
from aggcal.cli.console import Console
from aggcal.cli.options import STAGE_1, STAGE_2, TERMS
from aggcal.errors import OptionError
from aggcal.registry import CONTEXT_USES, LOCAL

if TYPE_CHECKING:
    from aggcal.aggregation.terms import Terms
    from aggcal.assessment import Assessment
    from aggcal.assessment.decisions import Wishes
    from aggcal.data.control import Control

_FOLDER = "aggcal-results"
"""Where results are written if nobody says where."""
_NEEDS_SCORES = ("calibrator", "model_sd", "score_column")
"""Options of Stage 2 that say nothing without a model's scores."""


def run(options: argparse.Namespace) -> int:
    """Fit the consensus, and project the scores onto it, if there are any."""
    from aggcal.aggregation.scales import check_anchor
    from aggcal.assessment import assess
    from aggcal.assessment.decisions import check_top
    from aggcal.assessment.result import checked_titles
    from aggcal.cli.results import finish, refuse_output

    console, both = Console(quiet=options.quiet), getattr(options, "scores", None) is not None
    how = check_stage_1(options, both=both)
    reading.choices_from(options)
    wishes = wishes_from(options)
    titles = checked_titles(options.title, options.question)
    options.output = free_folder() if options.output is None else options.output
    refuse_output(options, reading.input_files(options))
    how["features"] = reading.features_from(options, console)
    texts, control = reading.texts_from(options, console), control_from(options, console)
    how |= {"terms": terms_from(options, control)}
    how |= reading.calibration_from(options, console) if both else anchored_from(options, console)
    scores = reading.scores_from(options, console)
    with reading.engine_from(options, console) as engine:
        judgments = reading.judgments_from(options, console, engine)
        check_top(options.top, judgments.n_items)
        check_anchor((options.scale or (None, None))[1], judgments.item_ids)
        result = assess(
            judgments,
            scores,
            **how | {"engine": engine or LOCAL},
            **titles,
            warn=False,
            on_iteration=console.on_iteration,
            on_draw=console.on_draw,
        )
        return finish(with_decisions(result, options, wishes), options, console, texts)


def free_folder() -> str:
    """Return the first folder for results that is not there yet."""
    names = (_FOLDER if number == 1 else f"{_FOLDER}-{number}" for number in numbers_from(1))
    return next(name for name in names if not (Path(name).exists() or Path(name).is_symlink()))


def check_stage_1(options: argparse.Namespace, *, both: bool) -> dict[str, Any]:
    """Return the options of `aggcal.assess` that need no file, or refuse them."""
    from aggcal.aggregation import check_method
    from aggcal.calibration import check_calibration

    rest = (*TERMS.options, "engine")  # which are made into other arguments
    how = {
        row.keyword: row.given(options)
        for row in STAGE_1.options
        if row not in rest and row.key not in rest
    }
    priors = {"none": None}
    how |= {"prior": priors.get(options.prior, options.prior)}
    how |= {"level": options.level, "seed": options.seed}
    check_method(
        how["method"],
        how["prior"],
        features=options.features is not None,
        control=options.control is not None,
        terms=terms_from(options),
        engine=options.engine[0],
    )
    if both:
        how["calibrator"] = options.calibrator
        check_calibration(options.calibrator, model_sd=options.model_sd)
    elif "calibrator" in options:
        rows = {row.dest: row for row in STAGE_2.options}
        for name in _NEEDS_SCORES:
            if getattr(options, name) != rows[name].default:
                raise OptionError(
                    f"--{rows[name].key} is for a model's scores; give SCORES, or leave it out."
                )
    return how


def terms_from(options: argparse.Namespace, control: Control | None = None) -> Terms | None:
    """Return the terms, with what is held equal once it was read; None where all are automatic."""
    from aggcal.aggregation.terms import DEFAULT, Terms

    use = CONTEXT_USES[0] if options.context is None else options.context.use
    found = Terms(**TERMS.given(options) | {"control": control, "context": use})
    return None if found == DEFAULT else found


def control_from(options: argparse.Namespace, console: Console) -> Control | None:
    """Read what is held equal, if anything is."""
    from aggcal.io import read_control

    if options.control is None:
        return None
    context = options.context and options.context.column
    control = read_control(options.control, context=context)
    console.say_notes(options.control, control.notes)
    return control


def anchored_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what gives a scale without a model."""
    scale = {"bounds": options.bounds, "digits": options.digits}
    if options.anchors is None and any(value is not None for value in scale.values()):
        raise OptionError(
            "--bounds and --digits are for calibrated scores; give --anchors, or the model's "
            "SCORES."
        )
    return {"anchors": reading.anchors_from(options, console), **scale}


def wishes_from(options: argparse.Namespace) -> Wishes:
    """Return what is to be decided, or refuse it before anything is read."""
    from aggcal.aggregation.scales import check_scale, check_values
    from aggcal.assessment.decisions import Wishes

    fitted = "top" in options
    scale, anchor = (fitted and options.scale) or (None, None)
    if fitted:
        check_scale(scale, anchor, options.method)
    found = Wishes(options.top if fitted else None, options.cut, options.grades)
    if fitted and getattr(options, "scores", None) is options.anchors is None:
        # Without a model or anchors it is the consensus that is cut and graded.
        cuts = () if found.cut is None else (found.cut,)
        check_values(scale, (*cuts, *found.grades))
    return found


def with_decisions(result: Assessment, options: argparse.Namespace, wishes: Wishes) -> Assessment:
    """Return a result with the decisions and on the scale that were asked for."""
    scale, anchor = getattr(options, "scale", None) or (None, None)
    if scale is not None:
        result = result.with_scale(scale, anchor=anchor)
    return replace(result, wishes=wishes)
