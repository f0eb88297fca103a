"""Stage 1: aggregate judgments into a consensus."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aggcal.aggregators import (
    BARCW,
    BTL,
    GPPL,
    HRA,
    TCV,
    CrowdBT,
    CrowdTCV,
    Estimator,
    PriorChoice,
    Progress,
    RankSVM,
    Start,
)
from aggcal.aggregators.crowd import CrowdAggregator
from aggcal.aggregators.quantify import Quantify
from aggcal.aggregators.thurstone import ThurstoneAggregator
from aggcal.consensus import Aggregator, Consensus
from aggcal.engines import Engine, laid_out
from aggcal.errors import OptionError
from aggcal.features import FeatureChoice, Features
from aggcal.io import read_features


@dataclass(frozen=True)
class Method:
    """A named aggregator: how to make it, what it is in one line, what it goes by.

    Those from features take ``features``; the others ``prior`` and ``seed``.
    """

    make: Callable[..., Aggregator]
    summary: str
    from_features: bool = False
    reliabilities: bool = False
    """Whether annotators have parameters, which an estimator integrates out or maximises over."""


METHODS: dict[str, Method] = {
    "hra-g": Method(
        lambda **options: HRA(link="logistic", **options),
        "heterogeneous Bradley-Terry: logistic link, a reliability per annotator (default)",
        reliabilities=True,
    ),
    "hra-e": Method(
        lambda **options: HRA(link="laplace", **options),
        "the same with the difference of two Laplace noises: forgiving of gross errors",
        reliabilities=True,
    ),
    "hra-n": Method(
        lambda **options: HRA(link="normal", **options),
        "the same with the normal link: heterogeneous Thurstone",
        reliabilities=True,
    ),
    "crowd-bt": Method(
        CrowdBT,
        "CrowdBT: logistic link, a chance per annotator of reporting the opposite",
        reliabilities=True,
    ),
    "crowd-tcv": Method(
        CrowdTCV,
        "CrowdTCV: the same with the normal link",
        reliabilities=True,
    ),
    "btl": Method(BTL, "Bradley-Terry-Luce: logistic link, every annotator alike"),
    "tcv": Method(TCV, "Thurstone's case V: normal link, every annotator alike"),
    "gppl": Method(
        GPPL,
        "Gaussian-process preference learning: normal link, scores smooth in the items' features",
        from_features=True,
    ),
    "rank-svm": Method(
        RankSVM,
        "ranking SVM: scores linear in the items' features (needs scikit-learn)",
        from_features=True,
    ),
    "barcw": Method(
        BARCW,
        "BARCW: as gppl, with annotators who may answer at random (our reading: no public code)",
        from_features=True,
    ),
}
"""The methods that `aggregate` and the command line know by name."""


def aggregate(
    judgments: Any,
    method: str | Aggregator = "hra-g",
    *,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    start: Start = None,
    seed: int = 0,
    engine: str | Engine = "local",
    warn: bool = True,
    on_iteration: Progress | None = None,
) -> Consensus:
    """Stage 1: find the scores and reliabilities on which the judgments agree best.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    method
        A name of ``aggcal methods``, or any object with a ``fit(judgments)`` that returns a
        `Consensus`.
    prior
        For the named methods: a `Prior`, ``"default"``, ``"auto"`` or None (see `HRA`).
    estimator
        For the named methods with reliabilities: ``"marginal"`` (the default) or ``"mode"`` (see
        `HRA`).
    features
        For ``gppl``, ``rank-svm`` and ``barcw``, which need them: `Features`, anything that
        `read_features` takes, or ``"identity"``.
    start
        Where to begin: an earlier consensus, scores, or one number per item of the judgments.
        The optimum does not depend on it; the time does.
    seed
        Of everything random (the default methods use no randomness).
    engine
        Where the sums over the judgments are computed: ``"local"``, in threads on this machine;
        ``"dask"``, on a cluster that is started here; or an engine (``aggcal.engines.dask.Dask``
        takes the address of a scheduler). The optimum is the same. With an engine, judgments
        given as a path are read where they are to lie.
    warn
        Emit the consensus's warnings as Python warnings too.
    on_iteration
        Called with the iteration and the relative gradient norm.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> consensus.scores.round(3)
    array([ 1.368, -1.368])
    """
    aggregator = _aggregator(method, prior, estimator, features, seed)
    check_engine(method, engine)
    judgments = laid_out(judgments, engine)
    if isinstance(aggregator, ThurstoneAggregator | CrowdAggregator):
        consensus = aggregator.fit(judgments, start=start, on_iteration=on_iteration)
    elif isinstance(aggregator, GPPL | BARCW):
        consensus = aggregator.fit(judgments, on_iteration=on_iteration)
    else:
        consensus = aggregator.fit(judgments)
        if consensus.quantifier is None:
            consensus = replace(consensus, quantifier=Quantify(aggregator, judgments))
    if warn:
        for warning in consensus.warnings:
            warnings.warn(warning, stacklevel=2)
    return consensus


def check_engine(method: str | Aggregator, engine: str | Engine) -> None:
    """Refuse an engine for a method that only works on one machine."""
    if engine == "local" or isinstance(method, ThurstoneAggregator | CrowdAggregator):
        return
    if not isinstance(method, str) or _named(method).from_features:
        called = method if isinstance(method, str) else type(method).__name__
        raise OptionError(
            f"{called} works on one machine only; leave the engine out, or choose a method without "
            "features."
        )


def check_features(method: str, *, given: bool) -> None:
    """Refuse features where they are not used, and a method that lacks them."""
    needed = _named(method).from_features
    if needed and not given:
        raise OptionError(
            f"{method} works from features of the items: give --features FILE, or "
            "--features identity (from Python features='identity') to take every item on its own."
        )
    if given and not needed:
        those = ", ".join(name for name, known in METHODS.items() if known.from_features)
        raise OptionError(f"{method} does not use features; leave them out, or choose {those}.")


def _aggregator(
    method: str | Aggregator,
    prior: PriorChoice,
    estimator: Estimator | None,
    features: Any,
    seed: int,
) -> Aggregator:
    if not isinstance(method, str):
        if prior != "default" or seed != 0 or features is not None or estimator is not None:
            raise OptionError(
                "prior, estimator, features and seed are for methods by name; give them to "
                f"{type(method).__name__} itself."
            )
        if isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(
                f"method {method!r} has no fit(judgments); name one of {', '.join(METHODS)}."
            )
        return method
    named = _named(method)
    check_features(method, given=features is not None)
    if estimator is not None and not named.reliabilities:
        raise OptionError(f"{method} has no reliabilities to estimate; leave the estimator out.")
    if not named.from_features:
        chosen = {} if estimator is None else {"estimator": estimator}
        return named.make(prior=prior, seed=seed, **chosen)
    if prior != "default":
        raise OptionError(f"{method} has no prior of that kind; leave prior out.")
    return named.make(features=feature_choice(features))


def feature_choice(features: Any) -> FeatureChoice:
    """Read features, unless they are read already or there are none."""
    if isinstance(features, Features):
        return features
    if isinstance(features, str) and features == "identity":
        return "identity"
    return read_features(features)


def _named(method: str) -> Method:
    try:
        return METHODS[method]
    except KeyError:
        raise OptionError(f"method '{method}' is unknown; choose {', '.join(METHODS)}.") from None
