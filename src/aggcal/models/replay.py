"""Draw who wins each of the same comparisons anew."""

from __future__ import annotations

from functools import partial

import numpy as np

from aggcal.arrays import FloatArray, constant
from aggcal.models.links import Link
from aggcal.models.rows import Rows

_PIECE = 1 << 20
_HEAVIEST = 1e6


def replay(
    rows: Rows, link: Link, truth: FloatArray, slopes: FloatArray, random: np.random.Generator
) -> Rows:
    """Draw who wins, one random number for each row.

    Parameters
    ----------
    rows
        Who compared what.
    link, truth, slopes
        What the chances come from: F(γ_u (s_i − s_j)).
    random
        Gives exactly as many uniform numbers as there are rows, so that shards of the rows can
        each begin where their own numbers do.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.models.links import link
    >>> from aggcal.models.rows import rows_of
    >>> rows = rows_of(aggcal.read_judgments([("ann", "a", "b")]))
    >>> sure = np.array([-50.0, 50.0])
    >>> replay(rows, link("logistic"), sure, np.ones(1), np.random.default_rng(0)).winner
    array([1], dtype=int32)
    """
    chances = partial(_chances, rows, link, truth, slopes)
    if rows.weight.strides == (0,):
        winner, loser = rows.winner.copy(), rows.loser.copy()
        for begin in range(0, len(rows), _PIECE):
            piece = slice(begin, min(len(rows), begin + _PIECE))
            turned = random.random(piece.stop - begin) >= chances(piece)
            winner[piece] = np.where(turned, rows.loser[piece], rows.winner[piece])
            loser[piece] = np.where(turned, rows.winner[piece], rows.loser[piece])
        columns = winner, loser, rows.weight, rows.starts
        return Rows(*columns, rows.n_items, rows.whole, rows.item_weights)
    from scipy.stats import binom

    # A row of weight 3 is three comparisons: some may go one way, some the other.
    # So heavy a row has no luck left, and to count its losses one by one would take for ever.
    times = np.clip(np.rint(rows.weight), 1.0, _HEAVIEST).astype(np.int64)
    everything = slice(0, len(rows))
    # Counted from the losses, so that a row of weight 1 goes as it would among rows of weight 1.
    lost = binom.ppf(random.random(len(rows)), times, 1.0 - chances(everything))
    won = rows.weight * (times - lost) / times
    owner = np.repeat(np.arange(rows.n_annotators), np.diff(rows.starts))
    both = np.concatenate([owner, owner])
    order = np.argsort(both, kind="stable")
    weight = np.concatenate([won, rows.weight - won])[order]
    kept = weight > 0.0
    winner = np.concatenate([rows.winner, rows.loser])[order][kept]
    loser = np.concatenate([rows.loser, rows.winner])[order][kept]
    sizes = np.bincount(both[order][kept], minlength=rows.n_annotators)
    weight = weight[kept]
    if (weight == 1.0).all():
        weight = constant(1.0, len(weight))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(winner, loser, weight, starts, rows.n_items, rows.whole)


def _chances(
    rows: Rows, link: Link, truth: FloatArray, slopes: FloatArray, piece: slice
) -> FloatArray:
    where = np.arange(piece.start, piece.stop)
    owner = np.searchsorted(rows.starts, where, side="right") - 1
    gap = truth[rows.winner[piece]] - truth[rows.loser[piece]]
    return link.probability(slopes[owner] * gap)
