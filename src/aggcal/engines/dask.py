"""Dask: shards in the memory of a cluster's workers.

Files are read, cut and numbered by tasks on the workers (`aggcal.engines.dask_files`); a shard is a
future that stays where it was made, and each call of a function with it is a task. Every shard of
files is a pure task of them: when a worker is lost, Dask makes its shards again, and what else was
lost on the way is sent again.

Without a cluster's address there is none: files are read and summed as on one machine. Only for
what one machine does not read (patterns, addresses), and for another number of threads or shards, a
cluster of threads is started in this process.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from aggcal._core.machine import cores
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Shard, refuse_ratings
from aggcal.engines.dask_files import ShardsOfFiles
from aggcal.engines.remote import RemoteJudgments, about_rows, cuts, pieces
from aggcal.errors import EngineError, OptionError
from aggcal.io import read_judgments
from aggcal.registry import limits

if TYPE_CHECKING:
    from distributed import Client, Future

PATIENCE = 10
"""Seconds to wait for a scheduler or a worker: a slow network takes some, a wrong address all."""
_TRIES = 4
"""Times that something is tried on a cluster that loses workers, before it is given up."""
_LARGE = 1 << 20
"""Bytes of arguments from which the scheduler is spared them."""
_FEWEST_ROWS, _MOST_ROWS = 20_000, 50_000_000
"""Rows of a shard: fewer cost more in messages than in sums, more may not fit a worker."""

Answer = TypeVar("Answer")


class Dask:
    """The Dask engine: an existing cluster by its address, or the threads of this machine.

    Parameters
    ----------
    scheduler
        Address of a scheduler (``tcp://...``), or a `distributed.Client`; None for this process.
    workers
        How many threads of this process; by default one for each core.
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
        limits.check(workers=workers)
        self._shards, self._on_pass = shards, on_pass
        self._stack = ExitStack()
        self._finalizer = weakref.finalize(self, self._stack.close)
        self.passes = 0
        """How often a function was called with every shard."""
        self._connect = partial(_connected, scheduler, workers, self._stack)
        self._one_machine = scheduler is None and shards is None and workers in {None, cores()}
        if scheduler is not None:
            self.client  # noqa: B018  # an address where nobody answers is refused at once

    @cached_property
    def client(self) -> Client:
        """The client of the cluster."""
        return self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the shards go, and leave the cluster."""
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
            ``criterion``, ``context``, ``by``, ``annotator``, ``blank``, ``strict``.
        """
        if self._one_machine and Path(path).exists():
            return self.distribute(read_judgments(path, on_progress=on_progress, **options))
        made = ShardsOfFiles(self, path, options, on_progress)
        shards = DaskShards(self, made)
        return RemoteJudgments.of_shards(made.about, shards, self)

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Send judgments in memory to the workers."""
        refuse_ratings(judgments)
        if self._one_machine:
            return RemoteJudgments.of_local(judgments, self)
        cut = cuts(judgments.judgments_per_annotator, self.number_of_shards(len(judgments.count)))

        def made() -> list[Future]:
            homes = zip(self.homes(len(cut) - 1), pieces(judgments, cut), strict=True)
            sent = [(home, self.client.scatter(each, [home], hash=False)) for home, each in homes]
            return [self.submit(_held, there, home=home) for home, there in sent]

        return RemoteJudgments.of_shards(about_rows(judgments), DaskShards(self, made), self)

    def number_of_shards(self, rows: int) -> int:
        """Return into how many shards to cut so many rows."""
        if self._shards is not None:
            return self._shards
        worth = max(1, rows // _FEWEST_ROWS)
        return max(min(worth, len(self._threads())), -(-rows // _MOST_ROWS))

    def homes(self, shards: int) -> list[str]:
        """Return a worker for each shard, by the number of their threads.

        Left to itself Dask keeps all shards of a file on the worker that read it.
        """
        threads = self._threads()
        return [threads[k * len(threads) // shards] for k in range(shards)]

    def _threads(self) -> list[str]:
        """Return the worker that each thread belongs to."""
        return [at for at, threads in self.client.nthreads().items() for _ in range(threads)]

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
        self._client = engine.client
        self.futures: list[Future] = []
        self._surviving(self._wait)

    def __len__(self) -> int:
        return len(self.futures)

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with every shard, where it lies, and its entry of each column."""

        def work() -> list[Any]:
            rows = zip(*columns, strict=True) if columns else [()] * len(self)
            calls = [
                self._engine.submit(_call, shard, function, self._packed(arguments))
                for shard, arguments in zip(self.futures, rows, strict=True)
            ]
            return list(self._client.gather(calls))

        answers = self._surviving(work)
        self._engine.passed(function.__name__)
        return answers

    def _packed(self, arguments: Sequence[Any]) -> Any:
        """Return the arguments of a call: large ones go ahead of it, past the scheduler."""
        packed = _Packed(arguments)
        if len(pickle.dumps(packed, protocol=5)) < _LARGE:
            return packed
        return self._client.scatter(packed, hash=False)

    def _wait(self) -> None:
        """Make the shards if need be, and wait for them; what is wrong with them is raised."""
        from distributed import wait

        if not self.futures:
            self.futures = self._make()
        wait(self.futures)
        for shard in self.futures:
            if shard.status != "finished":
                shard.result()

    def _surviving(self, work: Callable[[], Answer]) -> Answer:
        """Do something on the cluster; if shards were lost, make them again and do it again."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        for tried in range(1, _TRIES + 1):
            try:
                if tried > 1:
                    self._client.wait_for_workers(1, timeout=PATIENCE * 6)
                    if any(each.status not in ("finished", "pending") for each in self.futures):
                        self.futures = self._make()
                return work()
            except (CancelledError, KilledWorker, TimeoutError, OSError) as error:
                # What is wrong with the data is said by the tasks themselves.
                if tried == _TRIES or self._client.status != "running":
                    raise EngineError(
                        f"the cluster lost its workers again and again ({type(error).__name__}); "
                        "see its logs: most often a worker has too little memory."
                    ) from error
        raise AssertionError  # pragma: no cover


@dataclass(frozen=True, eq=False)
class _Packed:
    """Arguments in one piece, into which Dask does not look for futures."""

    arguments: Sequence[Any]


def _held(shard: Shard) -> Shard:
    return shard


def _call(shard: Shard, function: Callable[..., Any], packed: _Packed) -> Any:
    return shard.call(function, *packed.arguments)


def _connected(scheduler: str | Client | None, workers: int | None, stack: ExitStack) -> Client:
    """Return the client of a cluster, left with ``stack``; refuse one that cannot be used.

    Without an address it is one of threads in this process.
    """
    if find_spec("distributed") is None:
        raise EngineError(
            "the engine 'dask' is not installed; install aggcal with its extra dask (in its "
            "folder: pip install '.[dask]')."
        )
    from distributed import Client

    if scheduler is None:
        options = {"n_workers": 1, "threads_per_worker": workers or cores(), "silence_logs": 50}
        here = Client(processes=False, dashboard_address="127.0.0.1:0", **options)
        return stack.enter_context(here)
    if workers is not None:
        raise OptionError(
            "workers are those of the scheduler whose address is given; leave one out."
        )
    if isinstance(scheduler, Client):
        client = scheduler
    else:
        try:
            client = stack.enter_context(Client(scheduler, timeout=PATIENCE))
        except (OSError, ValueError, TimeoutError) as error:
            reason = str(error).split("\n", 1)[0] or type(error).__name__
            raise EngineError(
                f"no Dask scheduler answers at '{scheduler}' ({reason}); check the address, or "
                "leave it out to use the threads of this machine."
            ) from None
    try:
        _check_workers(client)
    except BaseException:
        stack.close()
        raise
    return client


def _check_workers(client: Client) -> None:
    """Refuse a cluster without workers, or with another aggcal than this."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise EngineError(
            "the Dask scheduler has no workers; start some, or leave the address out to use the "
            "threads of this machine."
        ) from None
    try:
        found = set(client.run(_version).values())
    except (ImportError, AttributeError):
        found = {"none"}
    if found != {_version()}:
        raise EngineError(
            f"the workers have aggcal {', '.join(sorted(found))} and this is {_version()}; "
            "install the same version on all."
        )


def _version() -> str:
    return version("aggcal")
