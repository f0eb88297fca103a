"""Stage 1: aggregate judgments into a consensus.

- `aggregate`, here, checks options, prepares the judgments and lets a method fit.
- The likelihood: `rows` are questions and answers, `links` and `families` their likelihood (also
  that of a tie); `annotators` integrates the annotators' parameters out, with reversed annotators
  as a mixture, or maximises over them; a `tape` is what is left of the rows: gradient, information.
  `native` has the same sums compiled, `shards` where rows lie elsewhere.
- The fit: `empirical` (empirical Bayes under the scale constraint; `spreads` are its updates of
  standard deviations) or `modes` (joint modes), both by `newton`; `start` has what both warn of.
- Terms beside items and reliabilities: `terms` chooses them, `with_terms` fits them, `effects` says
  what came out; `camps` are a finite mixture of orders.
- Uncertainty: `posterior` and `covariance`; `robust` where answers depend on each other (a pooled
  sandwich); `resampling` (bootstrap); `estimate` makes an `uncertainty` of them; `claims`, `ranks`
  and `groups` say what follows for the order.
- `methods` (hra-*, btl, tcv, crowd-*) and `features` (gppl, rank-svm, barcw) are the methods;
  `adapted` calls any; `selection` compares them, and ``"auto"`` takes one.
- `consensus`: the result; `tables`, `scales`, `ties`: how it is shown.

To add a method, copy one of ``methods.py`` or ``features.py``, and add an entry to
`aggcal.registry`.
"""

from __future__ import annotations

import warnings
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from aggcal._core.frames import Frame, check_frame, framed
from aggcal.aggregation.adapted import FullAggregator, adapted, by_rows
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.methods import PriorChoice
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.priors import Prior
from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.start import Start
from aggcal.aggregation.terms import DEFAULT, PLAIN, Terms
from aggcal.data.features import FeatureChoice, Features
from aggcal.engines import Engine, prepare
from aggcal.errors import OptionError, check_choice
from aggcal.io import read_features
from aggcal.registry import (
    AUTO,
    BOOTSTRAP,
    DEFAULT_METHOD,
    ENGINES,
    ESTIMATORS,
    LOCAL,
    MARGINAL,
    METHODS,
    UNCERTAINTIES,
    limits,
)
from aggcal.registry.literals import EngineName, Estimator, MethodName

FEWEST_DRAWS = 10
"""Of a bootstrap: with so few a standard error is itself off by about a quarter."""


def aggregate(
    judgments: Any,
    method: MethodName | str | Aggregator = DEFAULT_METHOD,
    *,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    features: Any = None,
    terms: Terms | None = None,
    start: Start = None,
    seed: int | None = None,
    engine: EngineName | Engine = LOCAL,
    frame: Frame | None = None,
    warn: bool = True,
    on_iteration: Progress | None = None,
) -> Consensus:
    """Stage 1: estimate the scores and reliabilities that fit the judgments best.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    method
        A name of ``aggcal methods``; ``"auto"`` for the simplest that predicts held-out judgments
        well (see `compare_methods`); or any object with a ``fit(judgments)`` that returns a
        `Consensus`.
    prior
        For the named methods: a `Prior`, ``"default"``, ``"auto"`` or None (see `HRA`).
    estimator
        For the named methods with reliabilities: ``"marginal"`` (the default) or ``"mode"`` (see
        `HRA`).
    features
        For ``gppl``, ``rank-svm`` and ``barcw``, which need them: `Features`, anything that
        `read_features` takes, or ``"identity"``.
    terms
        For ``hra-g``: what a judgment may depend on beside the items and the annotator's
        reliability (see `Terms`). The default fits ties wherever there are some, a preference for
        the left side where the data show one, and contexts and categories that were read.
    start
        Starting point: an earlier consensus, scores (items without one start at 0), or one
        number per item of the judgments. It changes the time that a fit takes, not the optimum.
    seed
        Seed for all random numbers, 0 by default (the default methods use none). For a method
        that is an object, it replaces the object's own seed if it has one.
    engine
        Where the sums over the judgments are computed: ``"local"``, in threads on this machine;
        ``"dask"``, on a cluster that is started here; or an engine (``aggcal.engines.Dask``
        takes the address of a scheduler); or ``"gpu"``. Judgments given as a path are read by
        the engine itself.
    frame
        What tables of the result are: ``"pandas"``, ``"polars"``, ``"pyarrow"`` or ``"columns"``;
        None for the library of the input, else what `options` says.
    warn
        Also emit the warnings of the consensus as Python warnings.
    on_iteration
        Called with the iteration and the relative gradient norm.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> consensus.scores.round(3)
    array([ 0.686, -0.686])
    """
    check_frame(frame)
    aggregator = aggregator_of(method, prior, estimator, features, seed, terms=terms)
    check_engine(method, engine)
    consensus = aggregator.fit(prepare(judgments, engine), start=start, on_iteration=on_iteration)
    consensus = framed(consensus, frame)
    if warn:
        for warning in consensus.warnings:
            warnings.warn(warning, stacklevel=2)
    return consensus


def check_engine(method: str | Aggregator, engine: str | Engine) -> None:
    """Refuse an engine that is none, and what only works on one machine."""
    if isinstance(engine, str):
        check_choice("engine", engine, ENGINES)
    if engine == LOCAL or by_rows(method):
        return
    if not isinstance(method, str) or "prior" not in METHODS.find(method).takes:
        raise OptionError(
            f"{_called(method)} works on one machine only; leave the engine out, or choose "
            f"{DEFAULT_METHOD}."
        )


def _called(method: str | Aggregator) -> str:
    return method if isinstance(method, str) else type(method).__name__


def check_features(method: str, *, given: bool) -> None:
    """Refuse features where they are not used, and a method that lacks them."""
    needed = METHODS.find(method).from_features
    if needed and not given:
        raise OptionError(
            f"{method} needs features of the items: give --features FILE, or --features identity "
            "to treat all items as unrelated."
        )
    if given and not needed:
        those = ", ".join(known.name for known in METHODS.values() if known.from_features)
        raise OptionError(f"{method} does not use features; leave them out, or choose {those}.")


def aggregator_of(
    method: str | Aggregator,
    prior: PriorChoice,
    estimator: Estimator | None,
    features: Any,
    seed: int | None,
    *,
    terms: Terms | None = None,
) -> FullAggregator:
    """Make the method that a name and its options stand for, or check the one that was given."""
    check_method(method, prior, estimator, given_features=features is not None, terms=terms)
    limits.check(seed=seed)
    if not isinstance(method, str):
        return adapted(method if seed is None else _seeded(method, seed))
    info = METHODS.find(method)
    chosen: dict[str, Any] = {} if estimator is None else {"estimator": estimator}
    if terms is not None:
        chosen["terms"] = terms
    if info.from_features:
        chosen["features"] = feature_choice(features)
    return adapted(info.make(prior=prior, seed=seed or 0, **chosen))


def _seeded(method: Any, seed: int) -> Any:
    """Return the same method with this seed, where it has one."""
    if is_dataclass(method) and any(part.name == "seed" for part in fields(method)):
        return replace(cast("Any", method), seed=seed)
    return method


def check_method(
    method: str | Aggregator,
    prior: PriorChoice,
    estimator: Estimator | None = None,
    *,
    given_features: bool,
    terms: Terms | None = None,
) -> None:
    """Refuse a method that is none, and options that it has no use for."""
    given: Any = prior
    if not (given is None or isinstance(given, Prior) or given in ("default", "auto")):
        raise OptionError(f"prior {given!r} is unknown; give default, auto, None or a Prior.")
    if estimator is not None:
        check_choice("estimator", estimator, ESTIMATORS)
    if not isinstance(method, str):
        if prior != "default" or given_features or estimator is not None or terms is not None:
            raise OptionError(
                "prior, estimator, features and terms are for methods by name; give them to "
                f"{type(method).__name__} itself."
            )
        if isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(
                f"method {method!r} has no fit(judgments); name one of {', '.join(METHODS)}."
            )
        return
    if method == AUTO.name and (prior != "default" or estimator is not None or terms is not None):
        raise OptionError(
            f"method '{method}' chooses method, estimator and terms itself; leave prior, estimator "
            "and terms out, or name a method."
        )
    check_features(method, given=given_features)
    _check_terms(method, estimator, terms)
    if estimator is not None and not METHODS.find(method).integrates:
        raise OptionError(f"{method} has no reliabilities to estimate; leave the estimator out.")
    if "prior" not in METHODS.find(method).takes and prior != "default":
        raise OptionError(f"{method} has no prior of that kind; leave prior out.")


def _check_terms(method: str, estimator: Estimator | None, terms: Terms | None) -> None:
    """Refuse terms that a method or an estimator does not fit."""
    if terms is not None and terms not in (DEFAULT, PLAIN):
        _refuse_terms(method, estimator, "ties, positions, contexts or categories")


def check_control(method: str, estimator: Estimator | None, *, given: bool) -> None:
    """Refuse to hold something equal where a method or an estimator cannot.

    Examples
    --------
    >>> check_control("hra-g", None, given=True)
    >>> check_control("rank-svm", None, given=True)
    Traceback (most recent call last):
    aggcal.errors.OptionError: rank-svm does not hold anything equal; choose hra-g, btl, or leave...
    """
    if given:
        _refuse_terms(method, estimator, None)


def _refuse_terms(method: str, estimator: Estimator | None, what: str | None) -> None:
    does = "does not hold anything equal" if what is None else f"does not fit {what}"
    able = [known.name for known in METHODS.values() if "terms" in known.takes]
    if method not in able:
        raise OptionError(
            f"{method} {does}; choose {', '.join(able)}, or leave "
            f"{'--control' if what is None else 'them'} out."
        )
    if estimator is not None and estimator != MARGINAL:
        raise OptionError(f"estimator '{estimator}' {does}; leave the estimator out.")


def check_uncertainty(kind: str | None, draws: int) -> None:
    """Refuse an uncertainty that is none."""
    if kind is None:
        return
    check_choice("uncertainty", kind, UNCERTAINTIES)
    if kind == BOOTSTRAP.name and draws < FEWEST_DRAWS:
        raise OptionError(
            f"a bootstrap of {draws} draws is too small; give at least {FEWEST_DRAWS}."
        )


def feature_choice(features: Any) -> FeatureChoice:
    """Read features, unless they are read already or there are none."""
    if isinstance(features, Features):
        return features
    if isinstance(features, str) and features == "identity":
        return "identity"
    return read_features(features)
