"""How shards on a cluster are asked: by messages or by tasks, and what workers lose."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aggcal.engines.sharded import dask_asking, dask_pieces, dask_shards
from aggcal.engines.sharded.dask import Dask
from aggcal.engines.sharded.dask_asking import Kept
from aggcal.engines.sharded.dask_shards import DaskShards
from aggcal.engines.sharded.shard import Shard
from test_dask import client, write_parts  # noqa: F401  # a fixture
from test_sharded import assert_same, by_mode, judged

import aggcal
from aggcal.engines.remote import RemoteJudgments, gathered
from aggcal.simulation import simulate

distributed = pytest.importorskip("distributed")


@pytest.fixture
def engine(client: Any) -> Iterator[Dask]:  # noqa: F811
    with Dask(client, shards=11) as found:
        yield found


def shards_of(judgments: RemoteJudgments) -> DaskShards:
    assert isinstance(judgments.shards, DaskShards)
    return judgments.shards


def test_shards_of_one_file_lie_on_all_workers(engine: Dask, tmp_path: Path) -> None:
    study = simulate(items=30, annotators=40, judgments=2000, seed=3)
    folder = write_parts(tmp_path / "one", study.judgments, 1)
    for judgments in (
        engine.read(str(folder)),
        engine.distribute(aggcal.read_judgments(folder)),
    ):
        holders = engine.client.who_has(shards_of(judgments).futures)
        homes = [address for each in holders.values() for address in each]
        assert len(homes) == 11
        assert set(homes) == set(engine.client.nthreads())
        assert max(map(homes.count, homes)) == 6


def test_a_worker_with_more_threads_has_more_shards(engine: Dask) -> None:
    engine.client = FourThreads()
    assert engine.homes(4) == ["small", "large", "large", "large"]
    assert engine.homes(2) == ["small", "large"]
    assert engine.homes(1) == ["small"]
    assert engine.homes(8) == ["small"] * 2 + ["large"] * 6


class FourThreads:
    """A client of a cluster with a worker of one thread and one of three."""

    def nthreads(self) -> dict[str, int]:
        return {"small": 1, "large": 3}


def test_messages_and_a_tree_of_tasks_add_up_alike(
    engine: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = simulate(items=620, annotators=40, judgments=3000, seed=2)
    judgments = aggcal.read_judgments(study.judgments)
    by_messages = by_mode(engine.distribute(judgments))
    asked: list[str] = []
    by_tasks = DaskShards._asked

    def noted(shards: DaskShards, question: str, *rest: Any) -> Any:
        asked.append(question)
        return by_tasks(shards, question, *rest)

    monkeypatch.setattr(DaskShards, "_asked", noted)
    monkeypatch.setattr(dask_shards, "_AT_HOME", 0)
    for ahead in (1 << 16, 0):
        monkeypatch.setattr(dask_shards, "_AHEAD", ahead)
        found = by_mode(engine.distribute(judgments))
        np.testing.assert_array_equal(found.scores, by_messages.scores)
        assert {"evaluate", "product"} <= set(asked)
        asked.clear()


def test_what_shards_have_forgotten_is_sent_again(engine: Dask) -> None:
    judgments = judged("plain", items=620, judgments=3000)
    wanted = by_mode(judgments)
    held = engine.distribute(judgments)
    forgotten: list[str] = []

    def forget(_: int, question: str) -> None:
        if question == "product" and len(forgotten) < 3:
            forgotten.append(question)
            dask_asking._kept.clear()  # the workers are threads of this process

    engine._on_pass = forget
    assert_same(by_mode(held), wanted)
    assert len(forgotten) == 3


def test_a_shard_that_moved_is_found(engine: Dask) -> None:
    shards = shards_of(engine.distribute(judged("plain", items=620, judgments=3000)))
    wanted = shards.total("held").sums[0]
    one, _ = engine.client.nthreads()
    shards._workers = [one]  # as if all had been there
    np.testing.assert_array_equal(shards.total("held").sums[0], wanted)
    assert shards._workers is None  # all of them


def test_workers_without_shards_are_not_asked(engine: Dask) -> None:
    shards = shards_of(engine.distribute(judged("plain", items=20, judgments=300)))
    alone = shards.derived("every", 1, only=0)
    (holder,) = engine.client.who_has(alone.futures).values()
    assert alone._workers == list(holder)
    assert alone.total("held").columns[2] == shards.listed("held")[0].columns[2]


def test_parameters_are_sent_once() -> None:
    shard = Shard.of(judged("plain"), 0, 0)
    assert dask_asking._recalled(shard, [1, Kept("Point", "a")]) is None
    assert dask_asking._recalled(shard, [1, Kept("Point", "a", "there")]) == [1, "there"]
    assert dask_asking._recalled(shard, [2, Kept("Point", "a")]) == [2, "there"]
    assert dask_asking._recalled(shard, [Kept("Point", "b")]) is None
    assert dask_asking._recalled(shard, [Kept("Plan", "a")]) is None


def test_a_check_is_made_as_on_one_machine(engine: Dask, tmp_path: Path) -> None:
    study = simulate(items=20, annotators=40, judgments=3000, seed=4)
    folder = write_parts(tmp_path / "checked", study.shown, 3)
    read, held = aggcal.read_judgments(folder), engine.read(str(folder))
    back = gathered(held, 3000)
    assert back is not None
    for column in ("annotator", "left", "right", "outcome", "weight", "count"):
        np.testing.assert_array_equal(getattr(back, column), getattr(read, column))
    assert [f.message for f in aggcal.check(held).findings] == [
        f.message for f in aggcal.check(read).findings
    ]
    together = study.judgments | {"screen": np.arange(3000) // 2}
    folder = write_parts(tmp_path / "screens", together, 2)
    assert gathered(engine.read(str(folder)), 3000) is None


def test_three_codes_are_sorted_as_one_number() -> None:
    random = np.random.default_rng(5)
    codes = [random.integers(0, 4, 500).astype(np.int32) for _ in range(3)]
    rest = [random.integers(0, 3, 500).astype(float) for _ in range(2)]
    found, wanted = (
        dask_pieces._order((codes[0], codes[1], codes[2]), rest, 4, fits=fits)
        for fits in (True, False)
    )
    np.testing.assert_array_equal(found, wanted)
    assert (np.diff(found) < 0).any()


def test_a_worker_that_retires_in_the_middle_of_a_fit(tmp_path: Path) -> None:
    judgments = judged("plain", items=620, judgments=3000)
    wanted = by_mode(judgments)
    retired: list[str] = []
    with (
        distributed.Client(
            processes=False,
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            local_directory=str(tmp_path),
            silence_logs=50,
        ) as own,
        Dask(own, shards=3) as engine,
    ):
        held = engine.distribute(judgments)

        def retire(_: int, question: str) -> None:
            if question == "product" and not retired:
                retired.append(next(iter(own.nthreads())))
                own.retire_workers(retired)

        engine._on_pass = retire
        assert_same(by_mode(held), wanted)
        assert len(retired) == len(own.nthreads()) == 1
