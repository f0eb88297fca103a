"""Judgments that an engine holds, brought to this machine where they are few enough."""

from __future__ import annotations

from dataclasses import fields

from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.engines.remote import RemoteJudgments, named
from aggcal.engines.sharded.dask_pieces import Piece, together


def gathered(judgments: AnyJudgments, most: int) -> Judgments | None:
    """Return judgments with all rows on this machine, in the order of one machine.

    None is returned of more than ``most`` rows in shards, and where those do not know which
    judgments were made together, in one ranking or on one screen.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.engines.sharded.local import LocalEngine
    >>> rows = [("ann", "a", "b"), ("bob", "b", "c"), ("cy", "c", "a")]
    >>> held = LocalEngine(shards=2).distribute(aggcal.read_judgments(rows))
    >>> gathered(held, 3), gathered(held, 2)
    (Judgments(3 items, 3 annotators, 3 judgments), None)
    """
    if judgments.local is not None or not isinstance(judgments, RemoteJudgments):
        return judgments.local
    rows = judgments.n_judgments - judgments.n_merged
    if judgments.shards is None or judgments.on_screens or rows > most:
        return None
    piece: Piece = together(judgments.shards.listed("columns"))
    known = {part.name: getattr(judgments, part.name) for part in fields(AnyJudgments)}
    return named(piece.columns(), category_ids=judgments.category_ids, **known)
