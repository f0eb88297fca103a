"""Stage 1: aggregate judgments into a consensus."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral
from typing import Any, cast

from aggcal.aggregation.consensus import Aggregator, Consensus
from aggcal.aggregation.crowd import CrowdAggregator
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.methods import (
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
from aggcal.aggregation.start import refuse_auto
from aggcal.aggregation.thurstone import ThurstoneAggregator, check_estimator
from aggcal.aggregation.uncertainty import KINDS
from aggcal.aggregation.uncertainty.summary import check_level
from aggcal.data.base import AnyJudgments
from aggcal.data.features import FeatureChoice, Features
from aggcal.engines import NAMES, Engine, prepare
from aggcal.errors import OptionError
from aggcal.io import read_features
from aggcal.models.priors import Prior


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

_ALIKE = ("btl", "tcv")

FEWEST_DRAWS = 10
"""Of a bootstrap: with so few a standard error is itself off by about a quarter."""


def aggregate(
    judgments: Any,
    method: str | Aggregator = "hra-g",
    *,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    start: Start = None,
    seed: int | None = None,
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
        `HRA`); an engine has ``"mode"`` only.
    features
        For ``gppl``, ``rank-svm`` and ``barcw``, which need them: `Features`, anything that
        `read_features` takes, or ``"identity"``.
    start
        Where to begin: an earlier consensus, scores, or one number per item of the judgments.
        The optimum does not depend on it; the time does.
    seed
        Of everything random, 0 by default (the default methods use no randomness). For a method
        that is an object it takes the place of the object's own, where that has one.
    engine
        Where the sums over the judgments are computed: ``"local"``, in threads on this machine;
        ``"dask"``, on a cluster that is started here; or an engine (``aggcal.engines.Dask``
        takes the address of a scheduler). With an engine, methods with reliabilities are fitted
        by the mode, to the same optimum as ``estimator="mode"`` finds here, and judgments given
        as a path are read where they are to lie.
    warn
        Emit the consensus's warnings as Python warnings too.
    on_iteration
        Called with the iteration and the relative gradient norm.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> consensus.scores.round(3)
    array([ 0.686, -0.686])
    """
    aggregator = _aggregator(method, prior, estimator, features, seed)
    check_engine(method, engine, prior=prior, estimator=estimator)
    if isinstance(judgments, AnyJudgments) and judgments.on_engine:
        _check_estimation(method, prior, estimator)
    judgments = prepare(judgments, engine)
    if isinstance(aggregator, ThurstoneAggregator | CrowdAggregator):
        consensus = aggregator.fit(judgments, start=start, on_iteration=on_iteration)
    elif isinstance(aggregator, GPPL | BARCW):
        consensus = aggregator.fit(judgments, on_iteration=on_iteration)
    else:
        judgments = judgments.on_one_machine(_called(method))
        consensus = aggregator.fit(judgments)
        if consensus.quantifier is None:
            consensus = replace(consensus, quantifier=Quantify(aggregator, judgments))
    if warn:
        for warning in consensus.warnings:
            warnings.warn(warning, stacklevel=2)
    return consensus


def check_engine(
    method: str | Aggregator,
    engine: str | Engine,
    *,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
) -> None:
    """Refuse an engine that is none, and what only works on one machine."""
    if isinstance(engine, str) and engine not in NAMES:
        raise OptionError(f"engine '{engine}' is unknown; choose {', '.join(NAMES)}.")
    if engine == "local":
        return
    _check_estimation(method, prior, estimator)
    if isinstance(method, ThurstoneAggregator | CrowdAggregator):
        return
    if not isinstance(method, str) or _named(method).from_features:
        raise OptionError(
            f"{_called(method)} works on one machine only; leave the engine out, or choose a "
            "method without features."
        )


def _called(method: str | Aggregator) -> str:
    return method if isinstance(method, str) else type(method).__name__


def _check_estimation(
    method: str | Aggregator, prior: PriorChoice, estimator: Estimator | None
) -> None:
    """Refuse estimates that an engine does not make."""
    if estimator == "marginal":
        raise OptionError(
            "estimator 'marginal' works on one machine only; leave it out to fit the mode, or "
            "choose the engine 'local'."
        )
    if isinstance(method, str):
        name, apart = method, _named(method).reliabilities
    elif isinstance(method, ThurstoneAggregator | CrowdAggregator):
        name, apart, prior = method.name, method.heterogeneous, method.prior
    else:
        return
    if apart and prior == "auto":
        refuse_auto(name)


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
    seed: int | None,
) -> Aggregator:
    check_method(method, prior, estimator, given_features=features is not None)
    check_seed(seed)
    if not isinstance(method, str):
        seeded: Aggregator = method if seed is None else _seeded(method, seed)
        return seeded
    named = _named(method)
    if not named.from_features:
        chosen = {} if estimator is None else {"estimator": estimator}
        return named.make(prior=prior, seed=seed or 0, **chosen)
    return named.make(features=feature_choice(features))


def _seeded(method: Any, seed: int) -> Any:
    """Return the same method with this seed, where it has one."""
    if is_dataclass(method) and any(part.name == "seed" for part in fields(method)):
        return replace(cast("Any", method), seed=seed)
    return method


def check_seed(seed: Any) -> None:
    """Refuse a seed that is no whole number from 0 on."""
    if seed is not None and not (isinstance(seed, Integral) and int(seed) >= 0):
        raise OptionError(f"the seed is {seed}; give a whole number from 0 on.")


def check_method(
    method: str | Aggregator,
    prior: PriorChoice,
    estimator: Estimator | None = None,
    *,
    given_features: bool,
) -> None:
    """Refuse a method that is none, and options that it has no use for."""
    given: Any = prior
    if not (given is None or isinstance(given, Prior) or given in ("default", "auto")):
        raise OptionError(f"prior {given!r} is unknown; give default, auto, None or a Prior.")
    if estimator is not None:
        check_estimator(estimator)
    if not isinstance(method, str):
        if prior != "default" or given_features or estimator is not None:
            raise OptionError(
                "prior, estimator and features are for methods by name; give them to "
                f"{type(method).__name__} itself."
            )
        if isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(
                f"method {method!r} has no fit(judgments); name one of {', '.join(METHODS)}."
            )
        return
    check_features(method, given=given_features)
    if estimator is not None and not _named(method).reliabilities:
        raise OptionError(f"{method} has no reliabilities to estimate; leave the estimator out.")
    if _named(method).from_features and prior != "default":
        raise OptionError(f"{method} has no prior of that kind; leave prior out.")


def check_uncertainty(
    method: str | Aggregator, kind: str | None, *, level: float, draws: int
) -> None:
    """Refuse an uncertainty that is none, or that a method does not have."""
    check_level(level)
    if kind is None:
        return
    if kind not in KINDS:
        raise OptionError(f"uncertainty '{kind}' is unknown; choose {', '.join(KINDS)}.")
    if kind == "bootstrap" and draws < FEWEST_DRAWS:
        raise OptionError(
            f"a bootstrap of {draws} draws says little; give at least {FEWEST_DRAWS}."
        )
    if kind.startswith("sandwich") and isinstance(method, str) and method not in _ALIKE:
        raise OptionError(
            f"'{kind}' is for methods that take annotators to be alike ({', '.join(_ALIKE)}), not "
            f"for {method}; choose laplace or bootstrap."
        )


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
