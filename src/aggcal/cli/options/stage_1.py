"""Stage 1: the method, its prior and features, and standard errors."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.engine import add_engine_options, check_engine_options
from aggcal.cli.options.terms import add_terms, terms_from
from aggcal.errors import OptionError
from aggcal.registry import (
    DEFAULT_METHOD,
    ESTIMATORS,
    LOGISTIC,
    METHODS,
    ROBUST,
    UNCERTAINTIES,
)

if TYPE_CHECKING:
    from aggcal.aggregation.methods import PriorChoice
    from aggcal.data.features import FeatureChoice

_IDENTITY = "identity"


def add_stage_1(command: Parser) -> None:
    """Add the options, and those of the engine."""
    group = command.add_argument_group("Stage 1 (consensus)")
    group.add_argument(
        "--method",
        choices=METHODS.choices,
        default=DEFAULT_METHOD,
        help="aggregation method; see 'aggcal methods'. auto: the simplest that predicts held-out "
        "judgments well, as 'aggcal compare' finds it",
    )
    group.add_argument(
        "--features",
        metavar="FILE",
        help="table of item features for gppl, rank-svm and barcw: item and numeric columns; or "
        "the word identity, which relates no item to another",
    )
    group.add_argument(
        "--prior",
        choices=("default", "auto", "none"),
        default="default",
        help="default: estimate the standard deviations of scores and reliabilities from the data "
        "(with --estimator mode: 1 and 0.5); auto: always estimate them; none: maximum likelihood "
        "without a prior",
    )
    group.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        help="for methods with reliabilities: marginal integrates them out and allows for "
        "reversed annotators (the default); mode maximises over scores and reliabilities jointly, "
        "as the paper does",
    )
    _add_spreads(group)
    add_terms(group)
    add_engine_options(group)


def _add_spreads(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--score-sd",
        type=float,
        metavar="X",
        help="prior standard deviation of the scores, instead of an estimate",
    )
    group.add_argument(
        "--reliability-sd",
        type=float,
        metavar="X",
        help="prior standard deviation of the reliabilities around 1, instead of an estimate",
    )
    group.add_argument(
        "--uncertainty",
        choices=(*UNCERTAINTIES, "none"),
        metavar="KIND",
        default=ROBUST.name,
        help="how standard errors are computed: from the curvature of the fit, widened where "
        "answers depend on each other (robust), from the curvature alone (laplace), by refitting "
        "resampled annotators or contexts (bootstrap), or not at all (none)",
    )
    group.add_argument(
        "--draws", type=int, default=200, metavar="N", help="number of bootstrap refits"
    )


def uncertainty_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Return how standard errors and intervals are to be worked out."""
    return {
        "uncertainty": None if options.uncertainty == "none" else options.uncertainty,
        "level": options.level,
        "draws": options.draws,
        "on_draw": console.on_draw,
    }


def check_stage_1(options: argparse.Namespace, **stage_2: Any) -> None:
    """Refuse invalid options before anything is read."""
    from aggcal.aggregation import check_control
    from aggcal.assessment import check_options

    check_engine_options(options)
    check_control(options.method, options.estimator, given=options.control is not None)
    check_options(
        method=options.method,
        prior=prior_from(options),
        estimator=options.estimator,
        terms=terms_from(options),
        features=options.features,
        uncertainty=None if options.uncertainty == "none" else options.uncertainty,
        level=options.level,
        draws=options.draws,
        seed=options.seed,
        engine=options.engine,
        **stage_2,
    )


def feature_files(options: argparse.Namespace) -> list[str]:
    """Return the file of features, if there is one.

    Examples
    --------
    >>> feature_files(argparse.Namespace(features="features.csv"))
    ['features.csv']
    >>> feature_files(argparse.Namespace(features="identity"))
    []
    """
    return [] if options.features in (None, _IDENTITY) else [options.features]


def features_from(options: argparse.Namespace, console: Console) -> FeatureChoice | None:
    """Read the features, if the method takes some."""
    from aggcal.aggregation import check_features
    from aggcal.io import read_features

    check_features(options.method, given=options.features is not None)
    if options.features is None:
        return None
    if options.features == _IDENTITY:
        return "identity"
    features = read_features(options.features)
    console.say_notes(options.features, features.notes)
    return features


def prior_from(options: argparse.Namespace) -> PriorChoice:
    """Return the prior; what is not given of it is as usual for the method.

    Examples
    --------
    >>> typed = {"method": "hra-n", "prior": "default", "reliability_sd": 0.25}
    >>> prior_from(argparse.Namespace(**typed, score_sd=None))
    Prior(score_sd=0.55..., reliability_sd=0.25)
    """
    from aggcal.models.links import link
    from aggcal.models.priors import Prior, default_prior

    if options.score_sd is None and options.reliability_sd is None:
        choice: dict[str, PriorChoice] = {"default": "default", "auto": "auto", "none": None}
        return choice[options.prior]
    if options.prior != "default":
        raise OptionError(
            f"--prior {options.prior} cannot be combined with a prior sd; give one of them."
        )
    if "prior" not in METHODS.find(options.method).takes:
        raise OptionError(
            f"{options.method} has no prior of that kind; omit --score-sd and --reliability-sd."
        )
    model = METHODS[options.method].make()
    if options.reliability_sd is not None and not getattr(model, "heterogeneous", False):
        raise OptionError(
            f"{options.method} has no prior of that kind; omit --reliability-sd or choose "
            f"{DEFAULT_METHOD}."
        )
    usual = default_prior(link(getattr(model, "link", LOGISTIC.name)))
    return Prior(
        usual.score_sd if options.score_sd is None else options.score_sd,
        usual.reliability_sd if options.reliability_sd is None else options.reliability_sd,
    )
