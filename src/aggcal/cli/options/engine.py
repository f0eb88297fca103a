"""Where judgments are summed."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aggcal.cli.console import Console
from aggcal.errors import AggcalWarning, OptionError
from aggcal.registry import DASK, ENGINES, GPU, LOCAL

if TYPE_CHECKING:
    from aggcal.engines import Engine


def add_engine_options(group: argparse._ArgumentGroup) -> None:
    """Add the engine, and the cluster of the one that has a cluster."""
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default=LOCAL,
        help="where the computation runs: on this machine (local), on its GPU (gpu), or on a Dask "
        "cluster (dask), which also reads the files (JUDGMENTS may then be a pattern, or any path "
        "that fsspec supports)",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of the Dask scheduler, such as tcp://host:8786; without it, this machine "
        "does the work",
    )
    group.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="number of threads on this machine (without --scheduler)",
    )


def check_engine_options(options: argparse.Namespace) -> None:
    """Refuse a cluster for an engine that has none."""
    if options.engine != DASK and (options.scheduler, options.workers) != (None, None):
        given = "--scheduler" if options.scheduler is not None else "--workers"
        raise OptionError(f"{given} is for --engine dask; omit it or choose that engine.")


@contextmanager
def engine_from(options: argparse.Namespace, console: Console) -> Iterator[Engine | None]:
    """Start the engine that was asked for, and end it when everything is written."""
    if options.engine == LOCAL:
        yield None
        return
    if options.engine == GPU:
        from aggcal.engines import named

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", AggcalWarning)
            found = named(GPU)
        console.warn(*(w.message for w in said if isinstance(w.message, AggcalWarning)))
        yield found
        return
    from aggcal.engines import Dask

    with Dask(options.scheduler, workers=options.workers, on_pass=console.on_pass) as engine:
        yield engine
