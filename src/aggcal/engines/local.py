"""Shards in this process: the shortest engine, by which the others are checked."""

from __future__ import annotations

from aggcal.data.judgments import Judgments
from aggcal.engines.base import Engine, ThreadedShards
from aggcal.engines.remote import RemoteJudgments, about_rows, cuts, pieces


class LocalEngine(Engine):
    """Cuts judgments into shards and keeps them here.

    ``engine="local"`` does without: one machine needs no cut, and its sums run in threads.

    Parameters
    ----------
    shards
        How many.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("eve", "c", "a")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> whole = aggcal.aggregate(judgments, warn=False)
    >>> cut = aggcal.aggregate(judgments, engine=LocalEngine(shards=2), warn=False)
    >>> bool(abs(whole.scores - cut.scores).max() < 1e-12)
    True
    """

    name = "shards"

    def __init__(self, shards: int = 2) -> None:
        self._number = shards

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Cut judgments into shards."""
        cut = cuts(judgments.judgments_per_annotator, self._number)
        shards = ThreadedShards([*pieces(judgments, cut)])
        return RemoteJudgments.of_shards(about_rows(judgments), shards, self)

    def close(self) -> None:
        """Nothing is held."""
