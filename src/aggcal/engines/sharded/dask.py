"""Dask: shards pinned in the memory of a cluster's workers.

Files are read, numbered and merged by tasks on the workers (`aggcal.engines.sharded.dask_tasks`);
a shard is a future that stays where it was made. A question goes to each shard's worker, parameters
are sent to all workers once, and answers are added up in a tree. Everything is a pure task of the
files: when a worker is lost, Dask makes its shards again, and what else was lost on the way is sent
again.
"""

from __future__ import annotations

import logging
import signal
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from importlib.metadata import version
from operator import add
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal._core.machine import cores
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Place, Spot
from aggcal.engines.remote import ShardedJudgments, cuts, pieces
from aggcal.engines.sharded import dask_tasks
from aggcal.engines.sharded.shard import Shard
from aggcal.errors import EngineError, OptionError
from aggcal.io.formats._base import Choices
from aggcal.io.writing.scratch import scratch_folder

if TYPE_CHECKING:
    from distributed import Client, Future, Security

_BRANCHES = 8
_TRIES = 4
_SHARDS_PER_THREAD = 2
_FEWEST_ROWS, _MOST_ROWS = 20_000, 50_000_000
_PATIENCE = 10
_AHEAD = 1 << 16

Answer = TypeVar("Answer")


class Dask:
    """The Dask engine: an existing cluster by its address, or one that is started here.

    Parameters
    ----------
    scheduler
        Address of a scheduler (``tcp://...``), or a `distributed.Client`; None to start a cluster
        of processes on this machine. (In a script, what uses it then stands under
        ``if __name__ == "__main__":``, as with everything that starts processes.)
    workers
        How many processes to start; by default one for each core.
    shards
        How many shards to cut judgments into; by default by the number of threads and of rows.
    on_pass
        Called after each pass over the shards with its number and the question.

    Examples
    --------
    >>> from distributed import Client
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("eve", "c", "a")]
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     with Dask(client, shards=2) as engine:
    ...         aggcal.aggregate(rows, engine=engine, warn=False).scores.round(3)
    array([ 0.272,  0.   , -0.272])
    """

    def __init__(
        self,
        scheduler: str | Client | None = None,
        *,
        workers: int | None = None,
        shards: int | None = None,
        on_pass: Callable[[int, str], None] | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise OptionError(f"the number of workers is {workers}; give at least 1.")
        self._shards = shards
        self._on_pass = on_pass
        self._stack = ExitStack()
        self.passes = 0
        """How often every shard was asked something."""
        try:
            self.client = self._connected(scheduler, workers)
            self._check_workers()
        except BaseException:
            self._stack.close()
            raise
        self._finalizer = weakref.finalize(self, self._stack.close)

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
    ) -> ShardedJudgments:
        """Read judgments on the workers, a task for each file.

        Parameters
        ----------
        path
            A file, a folder of Parquet files, or a pattern (``judgments/*.parquet``), local or any
            that fsspec knows; every worker must be able to read it.
        on_progress
            Called with the percentage of files read.
        options
            As of `read_judgments`: ``format``, ``columns``, ``outcomes``, ``criterion``,
            ``annotator``, ``memory``.
        """
        files = dask_tasks.files_of(path)
        how = _reading(options)
        made = _FromFiles(self, path, files, how, on_progress)
        shards = DaskShards(self, made)
        return ShardedJudgments.of(made.about, shards, self)

    def spread(self, judgments: Judgments, /) -> ShardedJudgments:
        """Send judgments in memory to the workers."""
        if isinstance(judgments, ShardedJudgments):
            return judgments
        cut = cuts(judgments.judgments_per_annotator, self.number_of_shards(len(judgments.count)))

        def made() -> list[Future]:
            futures = []
            for k, (first, piece) in enumerate(pieces(judgments, cut)):
                columns = (
                    piece.annotator, piece.left, piece.right, piece.outcome, piece.weight,
                    piece.count,
                )  # fmt: skip
                sent = self.client.scatter(dask_tasks.Piece.of(columns), hash=False)
                numbers = (judgments.n_items, piece.n_annotators)
                futures.append(self.submit(dask_tasks.shard_of, [sent], k, first, *numbers))
            return futures

        return ShardedJudgments.of(judgments, DaskShards(self, made), self)

    def number_of_shards(self, rows: int) -> int:
        """Return into how many shards to cut so many rows."""
        if self._shards is not None:
            return self._shards
        threads: int = max(1, sum(self.client.nthreads().values()))
        worth = max(1, rows // _FEWEST_ROWS)
        return max(min(worth, _SHARDS_PER_THREAD * threads), -(-rows // _MOST_ROWS))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Submit a task under a name of its own."""
        name = f"aggcal-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
        return self.client.submit(function, *arguments, key=name)

    def passed(self, question: str) -> None:
        """Count a pass, and tell of it."""
        self.passes += 1
        if self._on_pass is not None:
            self._on_pass(self.passes, question)

    def surviving(self, work: Callable[[], Answer], renew: Callable[[], None]) -> Answer:
        """Do something on the cluster; if what it needs was lost, renew it and try again."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        for tried in range(1, _TRIES + 1):
            try:
                if tried > 1:
                    self.client.wait_for_workers(1, timeout=_PATIENCE * 6)
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

    def _connected(self, scheduler: str | Client | None, workers: int | None) -> Client:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError:
            raise EngineError(
                "the engine 'dask' is not installed; install aggcal with its extra dask (in its "
                "folder: pip install '.[dask]')."
            ) from None
        if isinstance(scheduler, Client):
            return scheduler
        if scheduler is not None:
            if workers is not None:
                raise OptionError(
                    "workers are those of the scheduler whose address is given; leave one out."
                )
            try:
                return self._stack.enter_context(Client(scheduler, timeout=_PATIENCE))
            except (OSError, ValueError, TimeoutError) as error:
                reason = str(error).split("\n", 1)[0] or type(error).__name__
                raise EngineError(
                    f"no Dask scheduler answers at '{scheduler}' ({reason}); check the address, or "
                    "leave it out to start a cluster here."
                ) from None
        folder = str(self._stack.enter_context(scratch_folder()))
        security = _credentials()
        # Stealing would copy shards that are pinned on purpose; nobody reads the profiles.
        settings = {
            "distributed.scheduler.work-stealing": False,
            "distributed.worker.profile.enabled": False,
            # A terminal's Ctrl-C reaches the workers, too, but it is this process that ends them.
            "distributed.worker.preload": ["import signal; signal.signal(2, signal.SIG_IGN)"],
        }
        with dask.config.set(settings), _uninterrupted():
            cluster = self._stack.enter_context(
                LocalCluster(
                    n_workers=workers or cores(),
                    threads_per_worker=1,
                    processes=True,
                    # Whoever reaches a scheduler runs code as its owner: nobody on another machine,
                    # and nobody here without these credentials.
                    host="127.0.0.1",
                    protocol="tls://",
                    security=security,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                    local_directory=folder,
                )
            )
        return self._stack.enter_context(Client(cluster, security=security))

    def _check_workers(self) -> None:
        """Refuse a cluster without workers, or with another aggcal than this."""
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise EngineError(
                "the Dask scheduler has no workers; start some, or leave the address out to start "
                "a cluster here."
            ) from None
        try:
            found = set(self.client.run(_version).values())
        except (ImportError, AttributeError):
            found = {"none"}
        if found != {_version()}:
            raise EngineError(
                f"the workers have aggcal {', '.join(sorted(found))} and this is {_version()}; "
                "install the same version on all."
            )


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
        self._futures: list[Future] = []
        self._sent: dict[int, tuple[object, Future]] = {}
        engine.surviving(self._made, self._renew)

    def __len__(self) -> int:
        return len(self._futures)

    @property
    def futures(self) -> list[Future]:
        """The shards."""
        return self._futures

    def total(self, question: str, *parameters: Any) -> Any:
        """Ask every shard, and add up the answers in a tree on the workers."""

        def work() -> Any:
            level = self._asked(question, parameters)
            if len(level) <= _BRANCHES and all(map(_small, parameters)):
                return _added(self._engine.client.gather(level))
            while len(level) > 1:
                level = [
                    self._engine.submit(_added, level[k : k + _BRANCHES])
                    for k in range(0, len(level), _BRANCHES)
                ]
            return level[0].result()

        found = self._engine.surviving(work, self._renew)
        self._engine.passed(question)
        return found

    def listed(self, question: str, *parameters: Any) -> list[Any]:
        """Ask every shard."""

        def work() -> list[Any]:
            answers = self._engine.client.gather(self._asked(question, parameters))
            return list(answers)

        found = self._engine.surviving(work, self._renew)
        self._engine.passed(question)
        return found

    def derived(self, question: str, *parameters: Any, only: int | None = None) -> DaskShards:
        """Return what shards answer as shards, left on their workers."""

        def make() -> list[Future]:
            if any(shard.status not in ("finished", "pending") for shard in self._futures):
                self._renew()
            return self._asked(question, parameters, only)

        return DaskShards(self._engine, make)

    def _made(self) -> None:
        from distributed import wait

        if not self._futures:
            self._futures = self._make()
        wait(self._futures)
        for shard in self._futures:
            if shard.status != "finished":
                shard.result()

    def _renew(self) -> None:
        """Send everything again; make the shards again if Dask gave them up."""
        self._sent.clear()
        if any(shard.status not in ("finished", "pending") for shard in self._futures):
            self._futures = []
            self._futures = self._make()

    def _asked(
        self, question: str, parameters: Sequence[Any], only: int | None = None
    ) -> list[Future]:
        sent = [self._on_workers(parameter) for parameter in parameters]
        asked = self._futures if only is None else self._futures[only : only + 1]
        return [self._engine.submit(_answer, shard, question, *sent) for shard in asked]

    def _on_workers(self, parameter: Any) -> Any:
        """Send a parameter to all workers, unless it is small or there already."""
        lasting = isinstance(parameter, Place | Spot)
        if _small(parameter):
            return parameter
        if id(parameter) in self._sent:
            return self._sent[id(parameter)][1]
        if lasting:
            self._sent.clear()
        future = self._engine.client.scatter(parameter, broadcast=True, hash=False)
        if lasting:
            self._sent[id(parameter)] = parameter, future
        return future


class _FromFiles:
    """Makes shards of files; called again, it reads them again."""

    def __init__(
        self,
        engine: Dask,
        path: str,
        files: list[str],
        how: dask_tasks.Reading,
        on_progress: Callable[[float], None] | None,
    ) -> None:
        self._engine, self._path, self._files, self._how = engine, path, files, how
        self._on_progress = on_progress
        self.about: Judgments
        self._cut: IntArray | None = None

    def __call__(self) -> list[Future]:
        engine, submit = self._engine, self._engine.submit
        read = [submit(dask_tasks.read, file, self._how) for file in self._files]
        level = [
            submit(dask_tasks.summary, file, part)
            for file, part in zip(self._files, read, strict=True)
        ]
        self._watch(level)
        while len(level) > 1:
            level = [
                submit(dask_tasks.merged, level[k : k + _BRANCHES])
                for k in range(0, len(level), _BRANCHES)
            ]
        names = submit(dask_tasks.numbered, level[0], self._path, self._how.criterion)
        numbering: dask_tasks.Numbering = names.result()
        self.about = numbering.about
        if self._cut is None:
            # Made once: shards that are made again must be those that were lost.
            number = engine.number_of_shards(int(numbering.rows.sum()))
            self._cut = cuts(numbering.rows, number)
        cut = self._cut
        ours = [submit(dask_tasks.renumbered, part, names) for part in read]
        n, shards = numbering.about.n_items, []
        for k in range(len(cut) - 1):
            first, last = int(cut[k]), int(cut[k + 1])
            mine = [submit(dask_tasks.cut_out, part, first, last) for part in ours]
            shards.append(submit(dask_tasks.shard_of, mine, k, first, n, last - first))
        return shards

    def _watch(self, level: list[Future]) -> None:
        """Tell how many files are read, and stop at the first that cannot be."""
        from distributed import as_completed

        for done, future in enumerate(as_completed(level), 1):
            if future.status == "error":
                future.result()
            if self._on_progress is not None:
                self._on_progress(100.0 * done / len(level))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while a cluster starts: half of one cannot be ended in good order.

    Its processes start with it held back, too: this one ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(shard: Shard, question: str, *parameters: Any) -> Any:
    return getattr(shard, question)(*parameters)


def _small(parameter: Any) -> bool:
    """Whether something travels with the question itself: sending it ahead takes longer."""
    if isinstance(parameter, Place):
        return _small(parameter.scores)
    if isinstance(parameter, Spot):
        return _small(parameter.scores) and _small(parameter.theta)
    return not isinstance(parameter, np.ndarray) or parameter.nbytes < _AHEAD


def _added(answers: Sequence[Any]) -> Any:
    return reduce(add, answers)


def _version() -> str:
    return version("aggcal")


def _credentials() -> Security:
    """Make a key and a certificate for one cluster; they exist in memory only."""
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError:
        raise EngineError(
            "to start a Dask cluster, the package 'cryptography' must be installed; install aggcal "
            "with its extra dask (in its folder: pip install '.[dask]'), or give the address of a "
            "scheduler."
        ) from None


def _reading(options: dict[str, Any]) -> dask_tasks.Reading:
    """Take the options of `read_judgments` that make sense for parts of a table."""
    given = dict(options)
    choices = Choices(
        given.pop("outcomes", None) or {},
        given.pop("columns", None) or {},
        given.pop("annotator", None),
    )
    how = partial(dask_tasks.Reading, choices, threads=1)
    found = how(
        format=given.pop("format", None),
        criterion=given.pop("criterion", None),
        memory=given.pop("memory", None),
    )
    # What is left belongs to formats that are not read in parts; what is not set is not missed.
    usual = Choices({}, {})
    for name, value in given.items():
        if value is not None and value != getattr(usual, name, None):
            raise OptionError(
                f"{name} is for formats that are read on one machine; leave it out, or choose the "
                "engine 'local'."
            )
    return found
