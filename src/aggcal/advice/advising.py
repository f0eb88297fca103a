"""Combine what the report needs: an error in any part never loses the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from aggcal._core.text import brief, clipped
from aggcal.advice.check import FITTED, Check, Finding, check
from aggcal.advice.check.survey import MANY
from aggcal.advice.influence import EXACT, Influence, influence_of
from aggcal.advice.suggest import Suggestions, suggest_pairs
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.newton import Progress
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines.remote import gathered
from aggcal.errors import AggcalWarning, AlikeIdsWarning, EngineError
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE
from aggcal.registry.literals import FittedName, PredictableName

Part = TypeVar("Part")

SUGGESTED = 10
"""Pairs that are suggested at most."""

IN_FULL = 10_000
"""Rows up to which every check is made; beyond, those that take long are left out."""

_ESTIMATED, _FEW_ITEMS = 100_000, 200
"""Rows and items up to which it is estimated, unasked, what each annotator changes (of more items
it takes longer than the fit)."""
_LONGEST_REASON = 200
_LEFT_TO_THE_CHECK = {"divided", "direction"}
"""Of these a check speaks in other words than the fit, and with more care."""
_REVERSED = "reversed-annotators"
"""What the fit says of annotators accuses nobody: only a check looks for camps, too."""


@dataclass(frozen=True)
class Advice:
    """What was found in the data, and the pairs worth asking next.

    ``check`` also contains the warnings of the fit, unless it found the same itself. If the check
    or the suggestions failed, a note in ``check`` says so.
    """

    check: Check
    suggestions: Suggestions | None
    influence: Influence | None = None
    """How much hangs on each annotator and item; None for many rows, unless it was asked for."""

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        asked = {} if self.suggestions is None else {"suggestions": self.suggestions.to_dict()}
        hangs = {} if self.influence is None else {"influence": self.influence.to_dict()}
        return {"check": self.check.to_dict(), **asked, **hangs}


def advise(
    judgments: AnyJudgments,
    scores: Scores | None = None,
    *,
    consensus: Consensus | None = None,
    warnings: Iterable[AggcalWarning] = (),
    influence: bool | None = None,
    seed: int = 0,
    on_step: Callable[[str], None] | None = None,
    on_iteration: Progress | None = None,
) -> Advice | None:
    """Check the data and suggest pairs, as far as that takes no longer than the fit.

    Parameters
    ----------
    judgments, scores
        The study: its judgments and the model's scores.
    consensus
        The fit that the results come from; used where possible, so that nothing is fitted twice.
    warnings
        The warnings of the fit, which become findings too.
    influence
        Whether to say how much hangs on each annotator and item, by fits for those on whom most
        does; None for an estimate, where there are not too many rows.
    seed, on_step, on_iteration
        See `aggcal.advice.check.check`.

    Returns
    -------
    Advice or None
        None for rows that are too many to bring here from the machines of a cluster.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "c", "d"), ("bob", "b", "a"), ("bob", "d", "c")]
    >>> found = advise(aggcal.read_judgments(rows))
    >>> found.check.findings[0].code, found.suggestions.reason[0]
    ('disconnected', 'connects components')
    """
    try:
        whole = gathered(judgments, MANY)
    except EngineError:
        whole = None
    if whole is None:
        return None
    fit = consensus if consensus is not None and consensus.prior is not None else None
    method = DEFAULT_METHOD if consensus is None else consensus.method
    # Whatever goes wrong from here on must not cost anybody the fit.
    failed: list[Finding] = []

    def part(what: str, step: str, work: Callable[[], Part]) -> Part | None:
        """Do a part of the work, or note that it failed."""
        try:
            if step and on_step is not None:
                on_step(step)
            return work()
        except Exception as error:  # noqa: BLE001
            failed.append(_failed(what, error))
            return None

    looked = part(
        "The data check failed",
        "",
        lambda: check(
            whole,
            scores,
            method=cast("FittedName", method if method in FITTED else DEFAULT_METHOD),
            consensus=fit if method in FITTED else None,
            quick=len(whole.count) > IN_FULL,
            seed=seed,
            on_step=on_step,
            on_iteration=on_iteration,
        ),
    )
    suggestions = part(
        "No pairs could be suggested",
        "choosing pairs to ask next",
        lambda: _asked_next(judgments, scores, fit, method, seed),
    )
    many = len(whole.count) > _ESTIMATED or whole.n_items > _FEW_ITEMS
    hangs = None
    if consensus is not None and influence is not False and (influence or not many):
        hangs = part(
            "What leaving out annotators would change is not known",
            "leaving out annotators",
            lambda: influence_of(whole, consensus, exact=EXACT if influence else 0),
        )
    looked = looked or Check({}, ())
    findings = _with_warnings((*looked.findings, *failed), warnings, whole)
    return Advice(looked.with_findings(findings), suggestions, hangs)


def _asked_next(
    judgments: AnyJudgments,
    scores: Scores | None,
    fit: Consensus | None,
    method: str,
    seed: int,
) -> Suggestions:
    """Suggest a few pairs, by the fit if it can predict what a judgment adds."""
    ids = set(judgments.item_ids) | set(() if scores is None else scores.item_ids)
    predicts = method in PREDICTABLE
    usable = predicts and fit is not None and fit.quantifier is not None
    return suggest_pairs(
        judgments,
        scores,
        n=min(SUGGESTED, len(ids) * (len(ids) - 1) // 2),
        method=cast("PredictableName", method if predicts else DEFAULT_METHOD),
        consensus=fit if usable else None,
        seed=seed,
    )


def _failed(what: str, error: Exception) -> Finding:
    """Say that a part of the advice could not be given."""
    reason = clipped(f"{type(error).__name__}: {error}", _LONGEST_REASON)
    return Finding(
        "note",
        "check-failed",
        f"{what} ({reason}). The scores do not depend on it.",
        "Please report this, with the data if you can.",
        title=what,
        why=f"{reason}. The scores do not depend on it.",
    )


def _with_warnings(
    findings: tuple[Finding, ...], warnings: Iterable[AggcalWarning], judgments: Judgments
) -> tuple[Finding, ...]:
    """Add what the fit warned of, except what was found anyway; problems come first."""
    messages, codes = {f.message for f in findings}, {f.code for f in findings}
    more = [
        Finding.of_warning(w, judgments=judgments)
        for w in warnings
        if w.what not in messages
        and not (w.code in _LEFT_TO_THE_CHECK and w.code in codes)
        and w.code != _REVERSED
    ]
    return tuple(sorted([*findings, *more], key=_gravity))


def _gravity(finding: Finding) -> tuple[bool, bool]:
    """Order findings: problems first, and of those ids that are likely one."""
    return finding.severity != "problem", finding.code != AlikeIdsWarning.code
