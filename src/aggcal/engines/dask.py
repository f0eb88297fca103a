"""Dask: shards in the memory of a cluster's workers.

Files are read, numbered and merged by tasks on the workers (`aggcal.engines.dask_reading`); a shard
is a future that stays where it was made, and each call of a function with it is a task. Every shard
of files is a pure task of them: when a worker is lost, Dask makes its shards again, and what else
was lost on the way is sent again.

Without a cluster's address everything is in this process, and nothing is gained by parts: files are
read and summed as on one machine. Only what one machine does not read (patterns, addresses) is read
by tasks, in shards that are called without a cluster's messages.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from aggcal._core.machine import cores
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Shard, Shards, ThreadedShards
from aggcal.engines.dask_cluster import PATIENCE, check_asked, check_workers, connected
from aggcal.engines.dask_reading import ShardsOfFiles, shard_of
from aggcal.engines.remote import (
    Piece,
    RemoteJudgments,
    RowColumns,
    cuts,
    held_in_shards,
    pieces,
)
from aggcal.errors import EngineError
from aggcal.io import read_judgments

if TYPE_CHECKING:
    from distributed import Client, Future

_TRIES = 4
"""Times that something is tried on a cluster that loses workers, before it is given up."""
_LARGE = 1 << 20
"""Bytes of arguments from which the scheduler is spared them."""
_FEWEST_ROWS, _MOST_ROWS = 20_000, 50_000_000
"""Rows of a shard: fewer cost more in messages than in sums, more may not fit a worker."""

Answer = TypeVar("Answer")


class Dask:
    """The Dask engine: an existing cluster by its address, or one that is started here.

    Parameters
    ----------
    scheduler
        Address of a scheduler (``tcp://...``), or a `distributed.Client`; None to start a cluster
        of threads in this process.
    workers
        How many threads to start; by default one for each core.
    shards
        How many shards to cut judgments into; by default by the number of threads and of rows.
    on_pass
        Called after each pass over the shards with its number and the name of the function.

    Examples
    --------
    >>> from distributed import Client
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("eve", "c", "a")]
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     with Dask(client, shards=2) as engine:
    ...         aggcal.aggregate(rows, engine=engine, warn=False).scores[[0, 2]].round(3)
    array([ 0.164, -0.164])
    """

    name = "dask"

    def __init__(
        self,
        scheduler: str | Client | None = None,
        *,
        workers: int | None = None,
        shards: int | None = None,
        on_pass: Callable[[int, str], None] | None = None,
    ) -> None:
        self._shards = shards
        self._on_pass = on_pass
        self._stack = ExitStack()
        self._finalizer = weakref.finalize(self, self._stack.close)
        self.passes = 0
        """How often a function was called with every shard."""
        check_asked(workers)
        self._scheduler, self._workers_wanted = scheduler, workers
        self._here = scheduler is None
        self._whole = self._here and shards is None and workers in (None, cores())
        if not self._whole:
            self.client  # noqa: B018  # a wrong address is told at once

    @cached_property
    def client(self) -> Client:
        """The client of the cluster."""
        try:
            client = connected(self._scheduler, self._workers_wanted, self._stack)
            check_workers(client)
        except BaseException:
            self._stack.close()
            raise
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the shards go, and end what was started here."""
        self._finalizer()

    def read(
        self,
        path: str,
        /,
        *,
        on_progress: Callable[[float], None] | None = None,
        **options: Any,
    ) -> RemoteJudgments:
        """Read judgments on the workers, a task for each file.

        Parameters
        ----------
        path
            A file, a folder of Parquet files, or a pattern (``judgments/*.parquet``), local or any
            that fsspec knows; every worker must be able to read it.
        on_progress
            Called with the percentage of files read.
        options
            As of `read_judgments`: ``format``, ``columns``, ``outcomes``, ``strength_scale``,
            ``criterion``, ``criteria``, ``context``, ``by``, ``annotator``, ``blank``, ``memory``.
        """
        if self._whole and Path(path).exists():
            return self.distribute(read_judgments(path, on_progress=on_progress, **options))
        made = ShardsOfFiles(self, path, options, on_progress)
        shards = self._shards_of(made)
        return RemoteJudgments.of_shards(made.about, shards, self)

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Send judgments in memory to the workers."""
        if self._whole:
            return RemoteJudgments.of_local(judgments, self)
        about = held_in_shards(judgments)
        cut = cuts(judgments.judgments_per_annotator, self.number_of_shards(len(judgments.count)))

        def made() -> list[Future]:
            futures, homes = [], self.homes(len(cut) - 1)
            for home, (first, piece) in zip(homes, pieces(judgments, cut), strict=True):
                columns = Piece.of(RowColumns.of(piece))
                sent = self.client.scatter(columns, hash=False, workers=[home])
                sizes = judgments.n_items, piece.n_annotators
                futures.append(self.submit(shard_of, [sent], first, sizes, home=home))
            return futures

        return RemoteJudgments.of_shards(about, self._shards_of(made), self)

    def _shards_of(self, make: Callable[[], list[Future]]) -> Shards:
        """Have shards made; where they are in this process they are called as they are."""
        shards = DaskShards(self, make)
        if not self._here:
            return shards
        return ThreadedShards(self.client.gather(shards.futures), self._workers, self.passed)

    @property
    def _workers(self) -> int:
        """How many threads all workers have."""
        return max(1, int(sum(self.client.nthreads().values())))

    def number_of_shards(self, rows: int) -> int:
        """Return into how many shards to cut so many rows."""
        if self._shards is not None:
            return self._shards
        worth = max(1, rows // _FEWEST_ROWS)
        return max(min(worth, self._workers), -(-rows // _MOST_ROWS))

    def homes(self, shards: int) -> list[str]:
        """Return a worker for each shard, by the number of their threads.

        Left to itself Dask keeps all shards of a file on the worker that read it.
        """
        threads = [at for at, number in self.client.nthreads().items() for _ in range(number)]
        return [threads[k * len(threads) // shards] for k in range(shards)]

    def submit(
        self, function: Callable[..., Any], *arguments: Any, home: str | None = None
    ) -> Future:
        """Submit a task under a name of its own, if possible to the worker ``home``."""
        name = f"aggcal-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        return self.client.submit(function, *arguments, key=name, **where)

    def passed(self, function: str) -> None:
        """Count a pass, and tell of it."""
        self.passes += 1
        if self._on_pass is not None:
            self._on_pass(self.passes, function)

    def surviving(self, work: Callable[[], Answer], renew: Callable[[], None]) -> Answer:
        """Do something on the cluster; if what it needs was lost, renew it and try again."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        for tried in range(1, _TRIES + 1):
            try:
                if tried > 1:
                    self.client.wait_for_workers(1, timeout=PATIENCE * 6)
                    renew()
                return work()
            except (CancelledError, KilledWorker, TimeoutError, OSError) as error:
                # What is wrong with the data is said by the tasks themselves.
                if tried == _TRIES or self.client.status != "running":
                    raise EngineError(
                        f"the cluster lost its workers again and again ({type(error).__name__}); "
                        "see its logs: most often a worker has too little memory."
                    ) from error
        raise AssertionError  # pragma: no cover


class DaskShards:
    """Shards as futures.

    Parameters
    ----------
    engine
        Where they lie.
    make
        Makes them, and makes them again if Dask cannot.
    """

    def __init__(self, engine: Dask, make: Callable[[], list[Future]]) -> None:
        self._engine, self._make = engine, make
        self.futures: list[Future] = []
        engine.surviving(self._wait, self._renew)

    def __len__(self) -> int:
        return len(self.futures)

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with every shard, where it lies, and its entry of each column."""

        def work() -> list[Any]:
            rows = zip(*columns, strict=True) if columns else [()] * len(self)
            calls = [
                self._engine.submit(_call, shard, function, self._sent(arguments))
                for shard, arguments in zip(self.futures, rows, strict=True)
            ]
            return list(self._engine.client.gather(calls))

        answers = self._engine.surviving(work, self._renew)
        self._engine.passed(function.__name__)
        return answers

    def _sent(self, arguments: Sequence[Any]) -> Any:
        """Return the arguments of a call: large ones go ahead of it, past the scheduler."""
        packed = _Packed(arguments)
        if len(pickle.dumps(packed, protocol=5)) < _LARGE:
            return packed
        return self._engine.client.scatter(packed, hash=False)

    def _wait(self) -> None:
        """Make the shards if need be, and wait for them; what is wrong with them is raised."""
        from distributed import wait

        if not self.futures:
            self.futures = self._make()
        wait(self.futures)
        for shard in self.futures:
            if shard.status != "finished":
                shard.result()

    def _renew(self) -> None:
        """Make the shards again if Dask gave them up."""
        if any(shard.status not in ("finished", "pending") for shard in self.futures):
            self.futures = self._make()


@dataclass(frozen=True, eq=False)
class _Packed:
    """Arguments in one piece, into which Dask does not look for futures."""

    arguments: Sequence[Any]


def _call(shard: Shard, function: Callable[..., Any], packed: _Packed) -> Any:
    return shard.call(function, *packed.arguments)
