"""Choose a method by evidence: the one that predicts judgments which it has not seen.

- `candidates`: the methods and terms that are compared, from the simplest on.
- `folds`: what is held out in turn.
- `measures`: how good predictions are, with standard errors.
- `comparison`: the result, and the rule that chooses.
- `Auto`, here, is the method that compares the others and fits the chosen one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.progress import listening, report
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.methods import LikelihoodMethod
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.selection.candidates import MOST_SLOW, SLOW, Candidate, candidates_of
from aggcal.aggregation.selection.comparison import Comparison, Measured, rough_note
from aggcal.aggregation.selection.folds import FOLDS, HOLD_OUT, Folds, folds_of
from aggcal.aggregation.selection.measures import MEASURES, estimate, measured
from aggcal.aggregation.terms import DEFAULT
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import unsaid
from aggcal.errors import AggcalError, OptionError, TooLittleDataError, count, ended
from aggcal.registry import AUTO, BTL, DEFAULT_METHOD, METHODS

SAMPLE = 200_000
"""Judgments on which methods are compared at most: more take longer and hardly move the standard
errors, which rest on annotators and contexts."""

_NO_CATEGORIES = (
    "Categories, given with --by, do not improve predictions, so items have one score for all; "
    f"--method {DEFAULT_METHOD} gives scores by category."
)


def compared(
    judgments: Judgments,
    methods: Sequence[str | Aggregator] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: str = HOLD_OUT[0],
) -> Comparison:
    """Compare methods on judgments in memory (see `aggcal.compare_methods`).

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> compared(aggcal.read_judgments(study.judgments), ["tcv"]).chosen
    'btl'
    """
    candidates = candidates_of(judgments, methods)
    parted = folds_of(judgments, folds, seed, sample, hold_out)
    predicted, left_out, notes = _predictions(candidates, parted, seed)
    if methods is None and judgments.n_judgments > MOST_SLOW:
        slow = f"it is slow for more than {MOST_SLOW:,} judgments; name it to compare it."
        left_out |= dict.fromkeys(SLOW, slow)
    if BTL.name in left_out:
        raise TooLittleDataError(f"{judgments.source}: {left_out[BTL.name]}")
    rows = parted.judgments
    clusters = (parted.unit, rows.annotator.astype(np.int64))
    found = {label: measured(rows, chances) for label, chances in predicted.items()}
    reference = found[BTL.name]
    best = min(found.values(), key=lambda one: one["log_loss"].value)
    results = []
    for place, each in enumerate(candidates):
        if each.label not in found:
            continue
        own = found[each.label]
        values = {name: estimate(own[name], clusters) for name in MEASURES}
        from_reference = {
            name: estimate(own[name].minus(reference[name]), clusters) for name in MEASURES
        }
        behind = estimate(own["log_loss"].minus(best["log_loss"]), clusters)
        candidate = each.for_all(judgments)
        results.append(Measured(candidate, place, values, from_reference, behind))
    results.sort(key=lambda one: (one.values["log_loss"].value, one.place))
    number = results[0].values["log_loss"].clusters
    return Comparison(
        source=judgments.source,
        measured=tuple(results),
        reference=BTL.name,
        held_out=parted.held_out,
        folds=folds,
        seed=seed,
        n_judgments=rows.n_judgments,
        n_whole=parted.n_whole,
        n_units=parted.n_units,
        n_annotators=rows.n_annotators,
        left_out=left_out,
        notes=(*parted.notes, *notes, *rough_note(number, parted.held_out, parted.n_units)),
    )


def _predictions(
    candidates: list[Candidate], parted: Folds, seed: int
) -> tuple[dict[str, FloatArray], dict[str, str], list[str]]:
    """Let every candidate predict every fold from the others; also say which could not."""
    found: dict[str, FloatArray] = {}
    left_out: dict[str, str] = {}
    notes: list[str] = []
    parts = [parted.parts(k) for k in range(parted.number)]
    # Without contexts, whose standard errors take refits.
    bare = [(replace(train, context=None, context_ids=None), test) for train, test in parts]
    total = len(candidates) * parted.number
    for j, each in enumerate(candidates):
        chances, astray = np.empty((len(parted.fold), 3)), 0
        for k, (train, test) in enumerate(bare if each.ignores_contexts else parts):
            report("comparing methods", j * parted.number + k, total)
            try:
                with listening(_nobody), unsaid():
                    fit = each.make(seed).fit(train)
                    chances[parted.fold == k] = _outcomes(fit, train, test)
            except AggcalError as error:
                left_out[each.label] = ended(str(error))
                break
            except Exception as error:
                if each.method in METHODS.own:
                    raise
                # A method of somebody else's: what is wrong with it must not cost the others.
                left_out[each.label] = f"it failed ({type(error).__name__}: {error})."
                break
            astray += fit.convergence is not None and not fit.convergence.converged
        else:
            found[each.label] = chances
        if astray:
            folds = f"{astray} of {count(parted.number, 'fold')}"
            notes.append(f"{each.label} did not converge in {folds}.")
    return found, left_out, notes


def _nobody(what: str, done: int, total: int) -> None:
    """Hear nothing of the progress of single fits."""


def _outcomes(fit: Consensus, train: Judgments, test: Judgments) -> FloatArray:
    """Return the probabilities of left, right and tie that a fit gives to each row."""
    if fit.quantifier is None:
        raise OptionError("it gives no probabilities of judgments.")
    chances = np.asarray(fit.outcome_probabilities(test), dtype=np.float64)
    if not np.isfinite(chances).all() or (chances < 0.0).any():
        raise OptionError("it gives probabilities that are none.")
    if not chances[:, 2].any():
        # No tie in what was fitted: there may be one yet, as every other method allows.
        rare = 0.5 / (float(np.asarray(train.weight).sum()) + 1.0)
        chances = chances * (1.0 - rare)
        chances[:, 2] = rare
    return chances


@dataclass(frozen=True)
class Auto:
    """Compares the methods on held-out judgments and fits the simplest that predicts well.

    Parameters
    ----------
    seed
        Seed for all random numbers.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=4, annotators=3, judgments=30, seed=1)
    >>> print(Auto().fit(aggcal.read_judgments(study.judgments)).selection["why"])
    hra-g was used because methods could not be compared (judgments: 30 judgments cannot tell
    methods apart; at least 50 are needed).
    """

    seed: int = 0
    name: str = field(default=AUTO.name, init=False, repr=False)

    def fit(self, judgments: Judgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Choose, and fit all judgments by what was chosen."""
        try:
            comparison = compared(judgments, seed=self.seed)
        except TooLittleDataError as error:
            record = _fallback(str(error))
            aggregator: Aggregator = METHODS[DEFAULT_METHOD].make(prior="default", seed=self.seed)
        else:
            chosen = comparison.choice.candidate
            aggregator, record = chosen.make(self.seed), comparison.to_dict()
            if judgments.categories and not (chosen.terms or DEFAULT).categories:
                record["notes"].append(_NO_CATEGORIES)
        if isinstance(aggregator, LikelihoodMethod):
            fit = aggregator.fit(judgments, on_iteration=on_iteration)
        else:
            fit = aggregator.fit(judgments)
        return replace(fit, selection=record)


def _fallback(why: str) -> dict[str, Any]:
    reason = why.rstrip(".")
    said = f"{DEFAULT_METHOD} was used because methods could not be compared ({reason})."
    return {"chosen": DEFAULT_METHOD, "why": said, "notes": []}
