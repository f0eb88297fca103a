"""The cluster that Dask's shards lie on: an existing one by its address, or one started here."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from aggcal.errors import EngineError, OptionError
from aggcal.io.writing.scratch import scratch_folder

if TYPE_CHECKING:
    from distributed import Client, Security

PATIENCE = 10
"""Seconds to wait for a scheduler or a worker: a slow network takes some, a wrong address all."""


def connected(scheduler: str | Client | None, workers: int | None, stack: ExitStack) -> Client:
    """Return the client of a cluster; what is started for it ends with ``stack``."""
    if workers is not None and workers < 1:
        raise OptionError(f"the number of workers is {workers}; give at least 1.")
    try:
        from distributed import Client
    except ImportError:
        raise EngineError(
            "the engine 'dask' is not installed; install aggcal with its extra dask (in its "
            "folder: pip install '.[dask]')."
        ) from None
    if isinstance(scheduler, Client):
        return scheduler
    if scheduler is None:
        return _started(workers, stack)
    if workers is not None:
        raise OptionError(
            "workers are those of the scheduler whose address is given; leave one out."
        )
    try:
        return stack.enter_context(Client(scheduler, timeout=PATIENCE))
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        raise EngineError(
            f"no Dask scheduler answers at '{scheduler}' ({reason}); check the address, or "
            "leave it out to start a cluster here."
        ) from None


def _started(workers: int | None, stack: ExitStack) -> Client:
    """Start a cluster of processes on this machine."""
    import dask
    from distributed import Client, LocalCluster

    folder = str(stack.enter_context(scratch_folder()))
    security = _credentials()
    # Stealing would copy shards that are pinned on purpose; nobody reads the profiles.
    settings = {
        "distributed.scheduler.work-stealing": False,
        "distributed.worker.profile.enabled": False,
        # A terminal's Ctrl-C reaches the workers, too, but it is this process that ends them.
        "distributed.worker.preload": ["import signal; signal.signal(2, signal.SIG_IGN)"],
    }
    with dask.config.set(settings), _uninterrupted():
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=workers or _cores(),
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
    return stack.enter_context(Client(cluster, security=security))


def check_workers(client: Client) -> None:
    """Refuse a cluster without workers, or with another aggcal than this."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise EngineError(
            "the Dask scheduler has no workers; start some, or leave the address out to start "
            "a cluster here."
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


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
