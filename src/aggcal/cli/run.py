"""``aggcal run``: both stages; and ``aggcal aggregate``: the first alone."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aggcal.cli import reading
from aggcal.cli.console import Console
from aggcal.cli.options import CLUSTER, PRIOR_SDS, STAGE_1, TERMS
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_METHOD, LOCAL, LOGISTIC, METHODS
from aggcal.registry.limits import VERDICT_ERROR

if TYPE_CHECKING:
    from aggcal.aggregation.methods import PriorChoice
    from aggcal.aggregation.terms import Terms
    from aggcal.assessment import Assessment
    from aggcal.assessment.decisions import Wishes
    from aggcal.data.control import Control


def run(options: argparse.Namespace) -> int:
    """Fit the consensus, and project the scores onto it, if there are any."""
    from aggcal.aggregation.scales import check_anchor
    from aggcal.assessment import assess
    from aggcal.assessment.decisions import check_top
    from aggcal.assessment.result import checked_titles
    from aggcal.cli.results import finish, refuse_output

    console, both = Console(quiet=options.quiet), "scores" in options
    how = check_stage_1(options, both=both)
    reading.choices_from(options)
    wishes = wishes_from(options)
    titles = checked_titles(options.title, options.question)
    refuse_output(options, reading.input_files(options))
    if options.features != reading.IDENTITY:
        how["features"] = reading.features_from(options, console)
    texts, control = reading.texts_from(options, console), control_from(options, console)
    how |= {"terms": terms_from(options, control)}
    how |= reading.calibration_from(options, console) if both else anchored_from(options, console)
    scores = reading.scores_from(options, console)
    with reading.engine_from(options, console) as engine:
        judgments = reading.judgments_from(options, console, engine)
        check_top(options.top, judgments.n_items)
        check_anchor(options.elo_anchor, judgments.item_ids)
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


def check_stage_1(options: argparse.Namespace, *, both: bool) -> dict[str, Any]:
    """Return the options of `aggcal.assess` that need no file, or refuse them."""
    from aggcal.aggregation import check_method, check_uncertainty
    from aggcal.calibration import check_calibration

    reading.check_engine(options)
    rest = (*TERMS.options, *PRIOR_SDS, *CLUSTER)  # which are made into other arguments
    how = {row.keyword: row.given(options) for row in STAGE_1.options if row not in rest}
    how |= {"prior": prior_from(options), "level": options.level, "seed": options.seed}
    asked = {name: how[name] for name in ("method", "prior", "estimator")}
    asked |= {name: getattr(options, name) is not None for name in ("features", "control")}
    check_method(**asked, terms=terms_from(options), engine=options.engine)
    check_uncertainty(how["uncertainty"], how["draws"])
    if both:
        how["calibrator"] = options.calibrator
        others = options.second_model or None
        check_calibration(options.calibrator, model_sd=options.model_sd, second_model=others)
    return how


def prior_from(options: argparse.Namespace) -> PriorChoice:
    """Return the prior; what is not given of it is as usual for the method.

    Examples
    --------
    >>> typed = {"method": "hra-n", "prior": "default", "reliability_sd": 0.25}
    >>> prior_from(argparse.Namespace(**typed, score_sd=None))
    Prior(score_sd=0.55..., reliability_sd=0.25)
    """
    from aggcal.aggregation.links import link
    from aggcal.aggregation.spreads import default_prior

    sds = {row.dest: row.given(options) for row in PRIOR_SDS}
    given = {name: sd for name, sd in sds.items() if sd is not None}
    if not given:
        choices: dict[str, PriorChoice] = {"default": "default", "auto": "auto", "none": None}
        return choices[options.prior]
    if options.prior != "default":
        raise OptionError(
            f"--prior {options.prior} cannot be combined with a prior sd; give one of them."
        )
    info, instead = METHODS.find(options.method), ""
    if "prior" not in info.takes:
        instead = "--score-sd and --reliability-sd"
    elif "reliability_sd" in given and not info.integrates:
        instead = f"--reliability-sd or choose {DEFAULT_METHOD}"
    if instead:
        raise OptionError(f"{options.method} has no prior of that kind; omit {instead}.")
    usual = default_prior(link(getattr(info.make(), "link", LOGISTIC.name)))
    return replace(usual, **given)


def terms_from(options: argparse.Namespace, control: Control | None = None) -> Terms | None:
    """Return the terms, with what is held equal once it was read; None where all are automatic."""
    from aggcal.aggregation.terms import DEFAULT, Terms

    given = TERMS.given(options) | {"control": control}
    found = Terms(context=given.pop("context_effects"), **given)
    return None if found == DEFAULT else found


def control_from(options: argparse.Namespace, console: Console) -> Control | None:
    """Read what is held equal, if anything is."""
    from aggcal.io import read_control

    if options.control is None:
        return None
    control = read_control(options.control, context=options.context)
    console.say_notes(options.control, control.notes)
    return control


def anchored_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what gives a scale without a model."""
    scale = {"bounds": options.bounds, "digits": options.digits}
    if options.anchors is None and any(value is not None for value in scale.values()):
        raise OptionError(
            "--bounds and --digits are for calibrated scores; give --anchors, or use 'aggcal run' "
            "with the model's scores."
        )
    return {"anchors": reading.anchors_from(options, console), **scale}


def wishes_from(options: argparse.Namespace) -> Wishes:
    """Return what is to be decided, or refuse it before anything is read."""
    from aggcal.aggregation.scales import check_scale, check_values
    from aggcal.assessment.decisions import Wishes

    fitted = "top" in options
    if fitted:
        check_scale(options.scale, options.elo_anchor, options.method)
    top = options.top if fitted else None
    found = Wishes(top, options.cut, options.grades, options.error)
    if fitted and "scores" not in options and options.anchors is None:
        # Without a model or anchors it is the consensus that is cut and graded.
        cuts = () if found.cut is None else (found.cut,)
        check_values(options.scale, (*cuts, *found.grades))
    if options.error != VERDICT_ERROR and found.top is found.cut is None:
        raise OptionError("--error is for the verdicts of --top and --cut; give one of them.")
    return found


def with_decisions(result: Assessment, options: argparse.Namespace, wishes: Wishes) -> Assessment:
    """Return a result with the decisions and on the scale that were asked for."""
    if getattr(options, "scale", None) is not None:
        result = result.with_scale(options.scale, anchor=options.elo_anchor)
    return replace(result, wishes=wishes)
