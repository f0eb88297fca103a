"""Which methods and terms are compared, from the simplest to the most elaborate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.terms import DEFAULT, PLAIN, Terms, graded, has_ties
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, did_you_mean
from aggcal.registry import BTL, CROWD_BT, CROWD_TCV, EQUAL, METHODS, MethodInfo

TERMS = ("ties", "position", "context", "categories")
"""The terms that are compared, in the order in which a simpler one is preferred."""
SLOW = (CROWD_BT.name, CROWD_TCV.name)
"""Methods whose fits take some twenty times longer than the others'."""
MOST_SLOW = 20_000
"""Judgments up to which those are compared unless they are named: a comparison by them then takes
about a minute."""
_PLAIN = "plain"
_LACKING = {
    "ties": "no judgment is a tie",
    "position": "the sides on which items were shown are not known",
    "context": "no context was read (see --context)",
    "categories": "no categories were read (see --by)",
}


@dataclass(frozen=True)
class Candidate:
    """A method with its terms.

    Examples
    --------
    >>> Candidate("btl", 0, "btl").options
    {'method': 'btl'}
    """

    label: str
    level: int
    """How elaborate it is: 0 with scores alone, 1 with something for each annotator, and 1 more
    for each term."""
    method: str | Aggregator
    terms: Terms | None = None
    unused: str = ""
    """An option that names what the judgments have and this does not use."""

    @property
    def options(self) -> dict[str, Any]:
        """What to give to `aggregate` for it."""
        given = {} if self.terms is None else {"terms": self.terms}
        return {"method": self.method, **given}

    @property
    def words(self) -> str:
        """What to write on the command line for it; nothing for a method that has no name."""
        if not isinstance(self.method, str):
            return ""
        terms = self.terms or DEFAULT
        shown = {
            "--ties": (terms.ties, DEFAULT.ties),
            "--position": (terms.position, DEFAULT.position),
            "--context-effects": (terms.context, DEFAULT.context),
        }
        words = [f"{name} {value}" for name, (value, usual) in shown.items() if value != usual]
        said = " ".join([f"--method {self.method}", *words])
        return f"{said} (without {self.unused})" if self.unused else said

    def make(self, seed: int) -> Aggregator:
        """Make the aggregator."""
        if not isinstance(self.method, str):
            return self.method
        given = {} if self.terms is None else {"terms": self.terms}
        made: Aggregator = METHODS.find(self.method).make(prior="default", seed=seed, **given)
        return made

    @property
    def ignores_contexts(self) -> bool:
        """Whether contexts mean nothing to it, though they might slow it down."""
        known = METHODS.own.get(self.method) if isinstance(self.method, str) else None
        if known is None:
            return False
        return "terms" not in known.takes or (self.terms is None and _alike(known))

    def for_all(self, judgments: Judgments) -> Candidate:
        """Return the same for a fit of everything, in whose errors a context counts in any case."""
        terms, unused = self.terms, ""
        if terms is None:
            return self
        if judgments.context is not None and terms.context == "off":
            terms = replace(terms, context="errors")
        if judgments.categories and not terms.categories:
            unused = "--by"
        return replace(self, terms=terms, unused=unused)


def available(judgments: Judgments) -> tuple[str, ...]:
    """Return the terms that some judgments have the data for.

    Examples
    --------
    >>> import aggcal
    >>> available(aggcal.read_judgments([("ann", "a", "b", "tie"), ("ann", "b", "c", "left")]))
    ('ties', 'position')
    """
    context = judgments.context
    known = {
        "ties": has_ties(judgments) or graded(judgments),
        "position": bool(judgments.sided),
        "context": context is not None and len(np.unique(context[context >= 0])) > 1,
        "categories": bool(judgments.categories),
    }
    return tuple(name for name in TERMS if known[name])


def candidates_of(
    judgments: Judgments, methods: Sequence[str | Aggregator] | None = None
) -> list[Candidate]:
    """Return what is compared, the simplest first; plain Bradley-Terry is always among it.

    Parameters
    ----------
    judgments
        In memory.
    methods
        Names, such as ``hra-g`` or ``hra-g:ties+position``, or objects with a ``fit``; None for
        every method that needs no features, with each term that the judgments have the data for.
    """
    given = all_of(judgments) if methods is None else chosen_of(judgments, methods)
    found: dict[str, Candidate] = {}
    for each in (_of(METHODS.find(BTL.name)), *given):
        found.setdefault(each.label, each)
    return sorted(found.values(), key=lambda each: each.level)


def all_of(judgments: Judgments) -> Iterator[Candidate]:
    """Go through every method that needs no features, with the terms that have data."""
    known = available(judgments)
    first = tuple(name for name in known if name == TERMS[0])
    many = judgments.n_judgments > MOST_SLOW
    for info in _in_order():
        if many and info.name in SLOW:
            continue
        if "terms" not in info.takes or not known:
            yield _of(info, known)
            continue
        if _alike(info):  # which has no terms unless they are asked for
            yield _of(info)
        else:
            yield _with(info, ())
        if first:
            yield _with(info, first)
        for name in known:
            if name not in first:
                yield _with(info, (*first, name))
        yield _of(info, known)


def _in_order() -> list[MethodInfo]:
    """Return the methods, plain Bradley-Terry first, then in the order of the registry."""
    able = [info for info in METHODS.values() if not info.from_features]
    return sorted(able, key=lambda info: info.name != BTL.name)


def _alike(info: MethodInfo) -> bool:
    """Whether it takes all annotators to be alike; of a method of somebody else's nobody knows."""
    return info.name in EQUAL


def _of(info: MethodInfo, known: Iterable[str] = ()) -> Candidate:
    """Return a method as it is by default: where it has terms, those that have data."""
    if _alike(info):
        return Candidate(info.name, 0, info.name)
    terms = len(tuple(known)) if "terms" in info.takes else 0
    return Candidate(info.name, 1 + terms, info.name)


def _with(info: MethodInfo, names: tuple[str, ...]) -> Candidate:
    """Return a method with exactly these terms."""
    if _alike(info) and not names:
        return _of(info)
    terms = replace(
        PLAIN,
        ties="davidson" if "ties" in names else PLAIN.ties,
        position="on" if "position" in names else PLAIN.position,
        context="fit" if "context" in names else PLAIN.context,
        categories="categories" in names,
    )
    label = f"{info.name}:{'+'.join(names) or _PLAIN}"
    return Candidate(label, len(names) + (not _alike(info)), info.name, terms)


def chosen_of(judgments: Judgments, methods: Sequence[str | Aggregator]) -> Iterator[Candidate]:
    """Go through the methods that were asked for."""
    known = available(judgments)
    for method in methods:
        if not isinstance(method, str):
            yield Candidate(getattr(method, "name", "") or type(method).__name__, 1, method)
            continue
        info, names = named(method)
        if names is None:
            yield _of(info, known)
            continue
        for name in names:
            if name not in known:
                raise OptionError(f"{method} cannot be compared: {_LACKING[name]}; leave it out.")
        yield _with(info, names)


def named(method: str) -> tuple[MethodInfo, tuple[str, ...] | None]:
    """Return the method and the terms that a name stands for; None for the default terms.

    Examples
    --------
    >>> info, terms = named("hra-g:position+ties")
    >>> info.name, terms
    ('hra-g', ('ties', 'position'))
    """
    name, colon, rest = method.partition(":")
    info = METHODS.find(name)
    if info.from_features:
        raise OptionError(f"{name} needs features of the items, so it cannot be compared here.")
    if info.name not in METHODS:
        raise OptionError(f"'{name}' chooses among the methods; name the methods to compare.")
    if not colon:
        return info, None
    if "terms" not in info.takes:
        raise OptionError(f"{name} has no terms to choose; write {name} alone.")
    words = [word.strip() for word in rest.split("+")]
    if words == [_PLAIN]:
        return info, ()
    for word in words:
        if word not in TERMS:
            near = did_you_mean(word, (*TERMS, _PLAIN))
            choices = f"{', '.join(TERMS)}, joined by +, or {_PLAIN}"
            raise OptionError(f"term '{word}' of '{method}' is unknown{near}; choose {choices}.")
    return info, tuple(term for term in TERMS if term in words)


def check_methods(methods: Sequence[str | Aggregator] | None) -> None:
    """Refuse methods that are none, before anything is read.

    Examples
    --------
    >>> check_methods(["btl", "hra-g:tie"])
    Traceback (most recent call last):
    aggcal.errors.OptionError: term 'tie' of 'hra-g:tie' is unknown (did you mean 'ties'?); ...
    """
    if isinstance(methods, str) or (methods is not None and not len(methods)):
        raise OptionError("methods is not a list of names; give one, such as ['btl', 'hra-g'].")
    for method in methods or ():
        if isinstance(method, str):
            named(method)
        elif isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(f"method {method!r} has no fit(judgments); name one of the methods.")
