"""The cluster that Dask's shards lie on: an existing one by its address, or one started here."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from aggcal._core.machine import cores
from aggcal.errors import EngineError, OptionError
from aggcal.io.saving import scratch_folder
from aggcal.registry import limits

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 10
"""Seconds to wait for a scheduler or a worker: a slow network takes some, a wrong address all."""


def check_asked(workers: int | None) -> None:
    """Refuse a number of workers that cannot be, and a machine without Dask."""
    limits.check(workers=workers)
    if find_spec("distributed") is None:
        raise EngineError(
            "the engine 'dask' is not installed; install aggcal with its extra dask (in its "
            "folder: pip install '.[dask]')."
        )


def connected(scheduler: str | Client | None, workers: int | None, stack: ExitStack) -> Client:
    """Return the client of a cluster; what is started for it ends with ``stack``."""
    from distributed import Client

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
    """Start a cluster in this process: kernels and files need no other, and nothing is copied.

    Whoever reaches a scheduler runs code as its owner: nobody outside the process does.
    """
    import dask
    from distributed import Client, LocalCluster

    folder = str(stack.enter_context(scratch_folder()))
    settings = {
        "distributed.worker.profile.enabled": False,  # nobody reads the profiles
        # Pages cannot be done without, but they can be empty, and for this machine only.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings):
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=1,
                threads_per_worker=workers or cores(),
                processes=False,
                protocol="inproc://",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                # A limit would have shards written to disk, or stop the only worker there is.
                memory_limit=0,
                silence_logs=logging.CRITICAL,
                local_directory=folder,
            )
        )
    return stack.enter_context(Client(cluster))


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


def _version() -> str:
    return version("aggcal")
