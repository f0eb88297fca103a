"""Which unknowns terms make of judgments, and the rows that tell of them.

A `Plan` says it without the rows, so that wherever these lie they are laid out alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal.data.base import AnyJudgments
from aggcal.data.control import Covariates
from aggcal.data.judgments import Judgments
from aggcal.data.weights import answers
from aggcal.models.general.annotators import POSITION
from aggcal.models.general.design import CONTROL, Block, Design, design
from aggcal.models.general.outcomes import Outcomes, adjacent
from aggcal.models.general.rows import ASKED_IN, general_rows
from aggcal.models.general.sums import Layout


@dataclass(frozen=True, eq=False)
class Plan:
    """What of the judgments a model uses, and which unknowns it has."""

    names: tuple[str, ...]
    """The annotators' parameters."""
    ties: bool
    """Whether a tie is an answer of its own."""
    sides: bool
    """Whether left and right matter."""
    keys: bool = False
    """Whether contexts and categories do."""
    grades: bool = False
    """Whether strengths of answers do."""
    cells: tuple[str, ...] = ()
    """Keys of the rows in which items have effects."""
    contexts: int = 0
    """Contexts that have a readiness to tie of their own."""
    axis: bool = False
    covariates: Covariates | None = None
    """What is held equal."""
    alike: bool = False
    """Whether annotators are: rows are then pooled, and sides have one effect for all."""
    outcomes: Outcomes = adjacent
    answers: bool = False
    """Whether rows weigh as many answers as they are (see `answers`): for claims that weights
    must not strengthen."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """What rows that are parts of others number alike."""

    cells: Mapping[str, IntArray]
    """Of each block, all pairs of a group and an item that occur (group × items + item)."""
    grades: int = 1
    """How many strengths there are."""


def laid_out(judgments: Judgments, plan: Plan, numbers: Numbers | None = None) -> Layout:
    """Lay out judgments; ``numbers`` where they are a part of others.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "c", "tie")])
    >>> laid_out(both, Plan(("reliability", "readiness"), ties=True, sides=False)).size
    4
    """
    if plan.answers:
        judgments = replace(judgments, weight=answers(judgments))
    rows = general_rows(
        judgments,
        ties=plan.ties,
        sides=plan.sides,
        keys=plan.keys,
        grades=plan.grades,
        top=1 if numbers is None else numbers.grades,
    )
    rows = rows.pooled() if plan.alike else rows
    lean = plan.alike and plan.sides
    columns = [np.ones((len(rows), 1))] if lean else []
    if plan.covariates is not None:
        context = rows.keys.get("context")
        columns.append(plan.covariates.differences(rows.left, rows.right, context))
    held = np.concatenate(columns, axis=1) if columns else None
    unknowns = design(rows, list(plan.cells), held, None if numbers is None else numbers.cells)
    if lean:
        unknowns = _with_position(unknowns)
    if plan.alike:
        # Everyone's readiness to tie is that of the one context there is.
        real = {ASKED_IN: rows.keys["context"]} if "context" in rows.keys else {}
        rows = replace(rows, keys=real | {"context": np.zeros(len(rows), dtype=np.int32)})
    return Layout(rows, unknowns, plan.names, plan.axis, plan.contexts)


@singledispatch
def layout_of(judgments: AnyJudgments, plan: Plan) -> Layout:
    """Lay out judgments wherever their rows lie; an engine registers how its own are."""
    return laid_out(judgments.on_one_machine("laying out rows"), plan)


def _with_position(unknowns: Design) -> Design:
    """Name the first of the covariates, which is 1 in every row, for what it is."""
    whole = unknowns.blocks[CONTROL]
    at, none = whole.begin + 1, np.array([-1])
    blocks = {name: block for name, block in unknowns.blocks.items() if name != CONTROL}
    blocks[POSITION] = Block(POSITION, whole.begin, at, none, np.array([0]))
    if whole.end > at:
        rest = np.arange(whole.end - at)
        blocks[CONTROL] = Block(CONTROL, at, whole.end, np.full(len(rest), -1), rest)
    return replace(unknowns, blocks=blocks)
