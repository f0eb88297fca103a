"""Shards of judgments in files, which the workers of a cluster read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from aggcal._core.arrays import IntArray
from aggcal.data.base import About
from aggcal.engines.remote import cuts
from aggcal.engines.sharded import dask_tasks
from aggcal.errors import OptionError
from aggcal.io.formats._base import Choices

if TYPE_CHECKING:
    from distributed import Future

    from aggcal.engines.sharded.dask import Dask

BRANCHES = 8
"""Answers that one task adds up: more make the tree of sums flatter and each task longer."""


class ShardsOfFiles:
    """Makes shards of files; called again, it reads them again."""

    def __init__(
        self,
        engine: Dask,
        path: str,
        options: dict[str, Any],
        on_progress: Callable[[float], None] | None,
    ) -> None:
        self._engine, self._path = engine, path
        self._files, self._how = dask_tasks.files_of(path), _reading(options)
        self._on_progress = on_progress
        self.about: About
        self._cut: IntArray | None = None

    def __call__(self) -> list[Future]:
        """Read the files on the workers, and cut their rows between annotators."""
        engine, submit = self._engine, self._engine.submit
        read = [submit(dask_tasks.read, file, self._how) for file in self._files]
        level = [
            submit(dask_tasks.summary, file, part)
            for file, part in zip(self._files, read, strict=True)
        ]
        self._watch(level)
        while len(level) > 1:
            level = [
                submit(dask_tasks.merged, level[k : k + BRANCHES])
                for k in range(0, len(level), BRANCHES)
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
        n, shards = len(numbering.about.item_ids), []
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
