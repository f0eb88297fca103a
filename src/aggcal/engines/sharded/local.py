"""Shards in this process: the shortest engine, by which the others are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from aggcal._core.kernels.threads import in_turn
from aggcal.data.judgments import Judgments
from aggcal.engines.remote import RemoteJudgments, cuts, held_in_shards, pieces
from aggcal.engines.sharded import general as _general  # noqa: F401  # it registers its kinds
from aggcal.engines.sharded.shard import Shard
from aggcal.io import read_judgments


class LocalShards:
    """Shards in a list."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = tuple(shards)

    def __len__(self) -> int:
        return len(self._shards)

    def total(self, question: str, *parameters: Any) -> Any:
        """Ask every shard and add up the answers."""
        return reduce(add, self.listed(question, *parameters))

    def listed(self, question: str, *parameters: Any) -> list[Any]:
        """Ask every shard."""
        return [getattr(shard, question)(*parameters) for shard in self._shards]

    def derived(self, question: str, *parameters: Any, only: int | None = None) -> LocalShards:
        """Return what shards answer as shards."""
        asked = self._shards if only is None else self._shards[only : only + 1]
        return LocalShards([getattr(shard, question)(*parameters) for shard in asked])


class ThreadedShards(LocalShards):
    """Shards in a list that are asked in threads.

    Parameters
    ----------
    shards
        What is asked.
    threads
        How many at a time.
    on_pass
        Called with the question after each pass over the shards.

    Examples
    --------
    >>> shards = ThreadedShards(["ab", "c"], 2, print)
    >>> shards.total("upper")
    upper
    'ABC'
    """

    def __init__(self, shards: Sequence[Any], threads: int, on_pass: Callable[[str], None]) -> None:
        super().__init__(shards)
        self._threads, self._on_pass = threads, on_pass

    def listed(self, question: str, *parameters: Any) -> list[Any]:
        """Ask every shard."""
        found = self._asked(self._shards, question, parameters)
        self._on_pass(question)
        return found

    def derived(self, question: str, *parameters: Any, only: int | None = None) -> ThreadedShards:
        """Return what shards answer as shards."""
        asked = self._shards if only is None else self._shards[only : only + 1]
        found = self._asked(asked, question, parameters)
        return ThreadedShards(found, self._threads, self._on_pass)

    def _asked(self, shards: Sequence[Any], question: str, parameters: Sequence[Any]) -> list[Any]:
        def ask(shard: Any) -> Any:
            return getattr(shard, question)(*parameters)

        return list(in_turn(ask, shards, most=self._threads))


class LocalEngine:
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
    integrates = True

    def __init__(self, shards: int = 2) -> None:
        self._number = shards

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Cut judgments into shards."""
        about = held_in_shards(judgments)
        cut = cuts(judgments.judgments_per_annotator, self._number)
        shards = [
            Shard.of(piece, k, first, sided=judgments.sided)
            for k, (first, piece) in enumerate(pieces(judgments, cut))
        ]
        return RemoteJudgments.of_shards(about, LocalShards(shards), self)

    def read(
        self,
        path: str,
        /,
        *,
        on_progress: Callable[[float], None] | None = None,
        **options: Any,
    ) -> RemoteJudgments:
        """Read and cut judgments."""
        return self.distribute(read_judgments(path, on_progress=on_progress, **options))

    def close(self) -> None:
        """Nothing is held."""
