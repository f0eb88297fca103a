"""Stage 1: aggregate judgments into a consensus.

- `aggregate`, here, checks options, prepares the judgments and lets a method fit.
- The likelihood: `rows` are questions and answers, `links` and `families` their likelihood (also
  that of a tie); `annotators` integrates the annotators' parameters out, with reversed annotators
  as a mixture, or maximises over them; a `tape` is what is left of the rows: gradient, information.
  `native` has the same sums compiled, `shards` where rows lie elsewhere.
- The fit: `empirical` (empirical Bayes under the scale constraint; `spreads` are priors and the
  updates of standard deviations) or `modes` (joint modes), both by `newton`.
- Terms beside items and reliabilities: `terms` chooses them, `methods` fits them, `effects` says
  what came out; `camps` are a finite mixture of orders.
- Ratings, where they are fitted as ratings and not as pairs: `graded` is their likelihood,
  `ratings` their fit (a normal prior of annotators with a full covariance, by EM), `raters` what
  it says.
- Uncertainty: `posterior` and `covariance`; `robust` where answers depend on each other (a pooled
  sandwich); `estimate` makes an `uncertainty` of them, or of refits (bootstrap); `claims`, `ranks`
  and `groups` say what follows for the order.
- `methods` (hra-*, btl, tcv, crowd-*) and `features` (gppl, rank-svm, barcw) are the methods;
  `Adapted`, here, calls any; `selection` compares them, and ``"auto"`` takes one.
- `consensus`: the result and its tables; `scales`: on which its scores are shown.

To add a method, copy one of ``methods.py`` or ``features.py``, and add an entry to
`aggcal.registry`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from aggcal._core.frames import Frame, check_frame, framed
from aggcal.aggregation.consensus import Aggregator, Consensus
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.estimate import check_uncertainty as check_uncertainty
from aggcal.aggregation.methods import LikelihoodMethod, PriorChoice, Start, start_scores
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.spreads import Prior
from aggcal.aggregation.terms import DEFAULT, PLAIN, Terms
from aggcal.data.base import AnyJudgments
from aggcal.data.features import FeatureChoice, Features
from aggcal.engines import Engine, prepare
from aggcal.errors import OptionError, check_choice, option
from aggcal.io import read_features
from aggcal.registry import (
    AUTO,
    DEFAULT_METHOD,
    ENGINES,
    ESTIMATORS,
    LOCAL,
    MARGINAL,
    METHODS,
    MethodInfo,
    limits,
)
from aggcal.registry.literals import EngineName, Estimator, MethodName

_LACKING = {
    "features": "does not use features; leave them out, or choose {able}",
    "terms": "does not fit ties, positions, contexts or categories; choose {able}, or leave them "
    "out",
    "control": "does not hold anything equal; choose {able}, or leave {control} out",
    "estimator": "has no reliabilities to estimate; leave the estimator out",
    "prior": "has no prior of that kind; leave prior out",
}
"""What is said of an option that a method does not declare (`MethodInfo.takes`)."""


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
        A name of ``aggcal list methods``; ``"auto"`` for the simplest that predicts held-out
        judgments well (see `compare_methods`); or any object with a ``fit(judgments)`` that
        returns a `Consensus`.
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
    aggregator = aggregator_of(method, prior, estimator, features, seed, terms=terms, engine=engine)
    consensus = aggregator.fit(prepare(judgments, engine), start=start, on_iteration=on_iteration)
    consensus = framed(consensus, frame)
    if warn:
        for warning in consensus.warnings:
            warnings.warn(warning, stacklevel=2)
    return consensus


@dataclass(frozen=True)
class Adapted:
    """Any method, called as those are that are fitted by sums over rows.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> Adapted(aggcal.methods.BTL()).fit(rows).item_ids[0]
    'a'
    """

    aggregator: Any

    def fit(
        self,
        judgments: AnyJudgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Fit; the consensus is given an uncertainty if it comes without one."""
        start_scores(start, judgments)  # it only shortens the way, but a wrong one is refused
        here, own = judgments.on_one_machine(type(self.aggregator).__name__), self.aggregator
        reports = "on_iteration" in signature(own.fit).parameters
        fit: Consensus = own.fit(here, **({"on_iteration": on_iteration} if reports else {}))
        return fit if fit.quantifier is not None else replace(fit, quantifier=Quantify(own, here))


def aggregator_of(
    method: str | Aggregator,
    prior: PriorChoice,
    estimator: Estimator | None,
    features: Any,
    seed: int | None,
    *,
    terms: Terms | None = None,
    engine: str | Engine = LOCAL,
) -> LikelihoodMethod | Adapted:
    """Make the method that a name and its options stand for, or check the one that was given."""
    asked: dict[str, Any] = {"features": features is not None, "terms": terms}
    check_method(method, prior, estimator, **asked, engine=engine)
    limits.check(seed=seed)
    made: Any = method
    if isinstance(method, str):
        given = {"estimator": estimator, "terms": terms, "features": feature_choice(features)}
        given = {name: value for name, value in given.items() if value is not None}
        made = METHODS.find(method).make(prior=prior, seed=seed or 0, **given)
    elif seed is not None and "seed" in getattr(method, "__dataclass_fields__", ()):
        made = replace(made, seed=seed)
    return made if isinstance(made, LikelihoodMethod) else Adapted(made)


def check_method(
    method: str | Aggregator,
    prior: PriorChoice = "default",
    estimator: Estimator | None = None,
    *,
    features: bool = False,
    terms: Terms | None = None,
    control: bool = False,
    engine: str | Engine = LOCAL,
) -> None:
    """Refuse a method or an engine that is none, and options that the method does not take.

    Examples
    --------
    >>> check_method("hra-g", control=True)
    >>> check_method("rank-svm", features=True, control=True)
    Traceback (most recent call last):
    aggcal.errors.OptionError: rank-svm does not hold anything equal; choose hra-g, btl, or leave...
    """
    given: Any = prior
    if not (given is None or isinstance(given, Prior) or given in ("default", "auto")):
        raise OptionError(f"prior {given!r} is unknown; give default, auto, None or a Prior.")
    if estimator is not None:
        check_choice("estimator", estimator, ESTIMATORS)
    if isinstance(engine, str):
        check_choice("engine", engine, ENGINES)
    asked = {
        "features": features,
        "terms": terms not in (None, DEFAULT, PLAIN),
        "control": control,
        "estimator": estimator is not None,
        "prior": prior != "default",
    }
    own = asked["prior"] or asked["estimator"] or terms is not None
    if isinstance(method, str):
        if method == AUTO.name and own:
            raise OptionError(
                f"method '{method}' chooses method, estimator and terms itself; leave prior, "
                "estimator and terms out, or name a method."
            )
        info = METHODS.find(method)
        _check_taken(info, [name for name in asked if asked[name]], estimator)
        anywhere, called = "prior" in info.takes, method
    else:
        anywhere, called = isinstance(method, LikelihoodMethod), type(method).__name__
        if own or features:
            raise OptionError(
                "prior, estimator, features and terms are for methods by name; give them to "
                f"{called} itself."
            )
        if isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(
                f"method {method!r} has no fit(judgments); name one of {', '.join(METHODS)}."
            )
    if engine != LOCAL and not anywhere:
        raise OptionError(
            f"{called} works on one machine only; leave the engine out, or choose {DEFAULT_METHOD}."
        )


def _check_taken(info: MethodInfo, asked: list[str], estimator: Estimator | None) -> None:
    """Refuse options that a method does not declare, and a method without what it needs."""
    for name in asked:
        taken = "terms" if name == "control" else name
        if taken not in info.takes:
            able = ", ".join(each.name for each in METHODS.values() if taken in each.takes)
            raise OptionError(
                f"{info.name} {_LACKING[name].format(able=able, control=option('control'))}."
            )
        if taken == "terms" and estimator not in (None, MARGINAL):
            does = _LACKING[name].partition(";")[0]
            raise OptionError(f"estimator '{estimator}' {does}; leave the estimator out.")
    if info.from_features and "features" not in asked:
        raise OptionError(
            f"{info.name} needs features of the items: give {option('features', 'FILE')}, or "
            f"{option('features', 'identity')} to treat all items as unrelated."
        )


def feature_choice(features: Any) -> FeatureChoice | None:
    """Read features, unless they are read already or there are none."""
    there = features is None or isinstance(features, Features)
    if there or (isinstance(features, str) and features == "identity"):
        return features  # type: ignore[no-any-return]
    return read_features(features)
