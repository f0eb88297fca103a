"""Dask: the same consensus as on one machine, also when a worker dies in the middle of a fit."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_sharded import answered, assert_same, by_mode, fitted, judged

import aggcal
import aggcal.engines.dask
from aggcal.cli import main
from aggcal.engines.dask import Dask, DaskShards
from aggcal.engines.remote import RemoteJudgments, gathered
from aggcal.errors import EngineError, InputError, OptionError
from aggcal.simulation import simulate
from conftest import Command

pl = pytest.importorskip("polars")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the client of a cluster of threads in this process."""
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        local_directory=folder,
        silence_logs=50,
    ) as found:
        yield found


@pytest.fixture
def engine(client: Any) -> Iterator[Dask]:
    with Dask(client, shards=3) as found:
        yield found


def write_parts(folder: Path, columns: dict[str, Any], number: int) -> Path:
    """Write a table as several Parquet files, rows dealt out in turn."""
    folder.mkdir()
    frame = pl.DataFrame({name: list(column) for name, column in columns.items()})
    for k in range(number):
        frame.gather_every(number, k).write_parquet(folder / f"part-{k}.parquet")
    return folder


@pytest.mark.filterwarnings("error")  # Dask warns of arguments that are large
@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_judgments_in_memory(engine: Dask, estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = judged("weighted", items=60)
    wanted = fitted(judgments, estimator=estimator)
    assert_same(fitted(judgments, estimator=estimator, engine=engine), wanted, close=1e-6)
    monkeypatch.setattr("aggcal.engines.dask._LARGE", 1 << 10)  # they go past the scheduler
    assert_same(fitted(judgments, estimator=estimator, engine=engine), wanted, close=1e-6)


def test_a_folder_is_read_on_the_workers(engine: Dask, tmp_path: Path) -> None:
    study = simulate(items=620, annotators=12, judgments=3000, seed=5)
    random = np.random.default_rng(5)
    # Ids in several files, partly different; numbers and text; rows that are not fitted; repeats.
    columns = study.shown
    columns["outcome"] = np.where(random.random(3000) < 0.1, "tie", columns["outcome"]).astype(
        object
    )
    columns["outcome"][::97] = "skip"
    columns["right"][5] = columns["left"][5]
    columns = {name: np.concatenate([column, column[:40]]) for name, column in columns.items()}
    folder = write_parts(tmp_path / "judgments", columns, 4)
    pl.DataFrame({n: [] for n in columns}, schema=dict.fromkeys(columns, pl.String)).write_parquet(
        folder / "empty.parquet"
    )
    wanted = by_mode(folder)
    seen: list[float] = []
    judgments = engine.read(str(folder), on_progress=seen.append)
    assert_same(by_mode(judgments), wanted)
    assert seen[-1] == 100.0
    read = aggcal.read_judgments(folder)
    assert judgments.unfitted.counts == read.unfitted.counts
    assert (judgments.n_rows, judgments.n_merged) == (read.n_rows, read.n_merged)
    url = by_mode(f"file://{folder}/*.parquet", engine=engine)
    np.testing.assert_allclose(url.scores, wanted.scores, atol=1e-8)


def test_without_an_address_threads_of_this_process_are_the_cluster(tmp_path: Path) -> None:
    study = simulate(items=320, annotators=30, judgments=6000, seed=6)
    folder = write_parts(tmp_path / "judgments", study.judgments, 3)
    seen: list[str] = []
    wanted = fitted(folder)
    with Dask(workers=2, shards=3, on_pass=lambda _, name: seen.append(name)) as here:
        held = here.read(str(folder))
        assert_same(fitted(held), wanted, close=1e-5)
        assert_same(fitted(aggcal.read_judgments(folder), engine=here), wanted, close=1e-5)
    assert here.passes == len(seen) > 30


def test_without_a_cluster_a_folder_is_fitted_as_on_one_machine(tmp_path: Path) -> None:
    study = simulate(items=40, annotators=15, judgments=2000, seed=8)
    folder = write_parts(tmp_path / "judgments", study.shown, 3)
    wanted = aggcal.aggregate(aggcal.read_judgments(folder), warn=False).quantify()
    with Dask() as here:
        judgments = here.read(str(folder))
        found = aggcal.aggregate(judgments, warn=False).quantify()
        assert judgments.shards is None
        np.testing.assert_array_equal(found.scores, wanted.scores)
        assert found.uncertainty is not None
        assert wanted.uncertainty is not None
        np.testing.assert_array_equal(found.uncertainty.se, wanted.uncertainty.se)
        # All rows are here: what needs them is not refused.
        assert [f.code for f in aggcal.check(judgments).findings] == [
            f.code for f in aggcal.check(aggcal.read_judgments(folder)).findings
        ]
        pattern = here.read(f"{folder}/*.parquet")
        by_tasks = aggcal.aggregate(pattern, warn=False)
        np.testing.assert_allclose(by_tasks.scores, wanted.scores, rtol=0.0, atol=1e-7)


def tables() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return tables, and how to read them."""
    plain = {"annotator": list("uuvuwu"), "winner": list("abcabc"), "loser": list("bcabca")}
    sides = {
        "annotator": ["u", "v", "w"] * 10,
        "left": [f"i{k % 7}" for k in range(30)],
        "right": [f"i{(k + 1) % 7}" for k in range(30)],
    }
    weighed = plain | {"weight": [0.0, 1.0, 2.5, 2.5, 1.0, 2.5], "number": list(range(6))}
    weighed |= {"criterion": ["a", "b", "a", "a", "b", "a"], "coder": weighed.pop("annotator")}
    return {
        "timed": (plain | {"seconds": [4.0, None, 9.0, 1.0, None, 1.0]}, {}),
        "equal": ({"annotator": ["u"] * 8, "winner": [*"aaaaaaab"], "loser": [*"bbbbbbbc"]}, {}),
        # In one file every number is 1, which must not be taken for a column left out.
        "own ids": ({"annotator": ["u", "v", "10"], "winner": [*"ab9"], "loser": [*"cab"]}, {}),
        "weights": (weighed, {"columns": {"annotator": "coder"}, "criterion": "a"}),
        "sides": (sides | {"outcome": ["left"] * 29 + ["right"]}, {}),
        "no sides": (sides | {"outcome": ["left"] * 30}, {}),
    }


@pytest.mark.parametrize("name", [*tables()])
def test_files_are_read_as_on_one_machine(engine: Dask, tmp_path: Path, name: str) -> None:
    columns, options = tables()[name]
    folder = write_parts(tmp_path / "table", columns, 3)
    held, read = engine.read(str(folder), **options), aggcal.read_judgments(folder, **options)
    back = gathered(held, 100)
    assert back is not None
    for one in ("item_ids", "annotator_ids", "annotator", "left", "outcome", "weight", "count"):
        np.testing.assert_array_equal(getattr(back, one), getattr(read, one))
    assert held.notes[: len(read.notes)] == read.notes
    assert (held.sided, held.n_judgments, held.n_merged, held.criteria) == (
        (read.sided, read.n_judgments, read.n_merged, read.criteria)
    )
    for there in (held, engine.distribute(read)):
        np.testing.assert_array_equal(there.seconds, read.seconds)


def test_rows_of_different_files_may_differ_in_columns_that_are_not_used(
    engine: Dask, tmp_path: Path
) -> None:
    columns: dict[str, Any] = {"annotator": ["u"] * 6, "winner": ["a"] * 6, "loser": ["b"] * 6}
    # No two rows of a file are equal, then two of the first file are (dealt out in turn).
    for when, within in ((range(6), 0), ([1, 2, 1, 3, 4, 5], 1)):
        folder = tmp_path / f"timed-{within}"
        judgments = engine.read(str(write_parts(folder, columns | {"when": when}, 2)))
        assert (judgments.n_judgments, judgments.n_merged) == (6, 5)
        assert (judgments.n_duplicates, judgments.n_repeated) == (within, 5 - within)
        assert aggcal.read_judgments(folder).n_duplicates == within


def test_what_terms_need_is_read(engine: Dask, tmp_path: Path) -> None:
    """Sides, ties, strengths, contexts and categories, also where files have different ones."""
    columns, _ = answered(rows=900, steps=True)
    columns["prompt"][::40] = None
    # In the first file nobody was sure, and the last has a topic of its own.
    columns["outcome"][::3] = np.where(columns["outcome"][::3] == 3, 3, 2)
    columns["topic"][2::3] = "tail"
    columns["number"] = np.arange(900)  # so that no row is a duplicate of another
    folder = write_parts(tmp_path / "terms", columns, 3)
    how: dict[str, Any] = {"strength_scale": "1:5", "context": "prompt", "by": "topic"}
    read, held = aggcal.read_judgments(folder, **how), engine.read(str(folder), **how)
    assert held.context_ids is not None
    assert held.context_ids.tolist() == np.asarray(read.context_ids).tolist()
    assert (held.context_name, held.sided) == ("prompt", True)
    assert [*held.category_ids["topic"]] == [*read.categories[0].ids]
    assert held.notes[:-1] == read.notes  # and that nobody looked for rankings
    assert (held.n_judgments, held.n_merged) == (read.n_judgments, read.n_merged)
    wanted, found = (aggcal.aggregate(each, warn=False) for each in (read, held))
    assert found.effects is not None
    assert len(found.effects.grades) == 2
    assert_same(found, wanted)


@pytest.mark.parametrize("column", ["ranking", "screen"])
def test_acts_weigh_what_they_tell(engine: Dask, tmp_path: Path, column: str) -> None:
    """Also where the pairs of one act are in several files."""
    random, rows = np.random.default_rng(4), list[tuple[str, str, str, str]]()
    for act in range(60):
        items = np.arange(6)[np.argsort(-np.arange(6) + random.gumbel(size=6) * 2)][:4]
        pairs = [(items[a], items[b]) for a in range(4) for b in range(a + 1, 4)]
        rows += [(f"u{act % 7}", f"i{one}", f"i{two}", f"{act // 7}") for one, two in pairs]
    names = "annotator", "winner", "loser", column
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    folder = write_parts(tmp_path / "acts", columns, 3)
    read, held = aggcal.read_judgments(folder), engine.read(str(folder))
    back = gathered(held, len(rows))
    assert back is not None
    assert float(read.weight.sum()) < len(rows)
    for name in ("left", "weight", "count"):
        np.testing.assert_allclose(getattr(back, name), getattr(read, name))
    assert back.screen is not None
    assert read.screen is not None
    acts = {*zip(back.screen.tolist(), read.screen.tolist(), strict=True)}
    assert len(acts) == 60  # called by other numbers
    assert held.notes == read.notes
    assert_same(fitted(held), fitted(read), close=1e-5)


def test_rankings_are_numbered_on_one_machine(engine: Dask, tmp_path: Path) -> None:
    columns = {"annotator": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "c"], "screen": [1, 1]}
    folder = write_parts(tmp_path / "screens", columns, 2)
    with pytest.raises(OptionError, match="'screen' numbers rankings on one machine"):
        engine.read(str(folder), context="screen")


def test_bad_input_is_told_in_words(engine: Dask, tmp_path: Path) -> None:
    columns = {"annotator": list("uv"), "left": list("ab"), "right": list("bc")}
    folder = write_parts(tmp_path / "bad", columns | {"outcome": ["left", "purple"]}, 2)
    cases = {
        str(folder): "part-1.parquet: row 1 has the unknown outcome 'purple'",
        f"file://{folder}": "file://.*part-1.parquet: row 1 has the unknown outcome",
        str(tmp_path / "nowhere.parquet"): "no such file",
        str(tmp_path / "no*such.parquet"): "no such file",
        str(tmp_path): "part-1.parquet: row 1 has the unknown outcome",
    }
    for path, message in cases.items():
        with pytest.raises(InputError, match=message):
            engine.read(path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="directory without Parquet files"):
        engine.read(str(empty))
    selves = write_parts(
        tmp_path / "selves", {"annotator": ["u"], "winner": ["a"], "loser": ["a"]}, 1
    )
    with pytest.raises(InputError, match="fewer than two items"):
        engine.read(str(selves))
    with pytest.raises(OptionError, match="order is for formats"):
        engine.read(str(folder), order="lowest")


def test_an_engine_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aggcal.engines.dask, "PATIENCE", 1)
    (tmp_path / "j.csv").write_text("annotator,winner,loser\nann,a,b\n")
    command = ["aggregate", str(tmp_path / "j.csv"), "-o", str(tmp_path / "out")]
    for more, said in (
        (["--engine", "dask=tcp://127.0.0.1:9"], "no Dask scheduler answers"),
        (
            ["--engine", "dask", "--method", "rank-svm", "--features", "identity"],
            "one machine only",
        ),
    ):
        assert main([*command, *more]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        Dask("tcp://127.0.0.1:9")
    with pytest.raises(OptionError, match="workers is 0"):
        Dask(workers=0)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install '\.\[dask\]'"):
        Dask("tcp://127.0.0.1:9")


def test_a_column_that_only_folders_name_is_refused(engine: Dask, tmp_path: Path) -> None:
    study = simulate(items=6, annotators=2, judgments=30, seed=1)
    (tmp_path / "votes").mkdir()
    write_parts(tmp_path / "votes" / "criterion=style", study.judgments, 2)
    with pytest.raises(InputError, match="has the column 'criterion' in the names of its folders"):
        engine.read(str(tmp_path / "votes"))


def test_the_command_line(tmp_path: Path, command: Command) -> None:
    study = simulate(items=60, annotators=6, judgments=600, seed=8)
    folder = write_parts(tmp_path / "judgments", study.judgments, 2)
    words = ["aggregate", str(folder), "--uncertainty", "none", "-o"]
    far_away = [sys.executable, "-m", "aggcal", *words, "far", "--engine", "dask"]
    done = subprocess.run(far_away, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "distributed" not in done.stderr
    assert command(*words, "near").returncode == 0
    far, near = (pl.read_csv(tmp_path / name / "items.csv") for name in ("far", "near"))
    assert far["item"].to_list() == near["item"].to_list()
    np.testing.assert_allclose(far["consensus"], near["consensus"], atol=1e-8)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["far", "judgments", "near"]


def shards_of(judgments: RemoteJudgments) -> DaskShards:
    assert isinstance(judgments.shards, DaskShards)
    return judgments.shards


def test_shards_of_one_file_lie_on_all_workers(client: Any, tmp_path: Path) -> None:
    study = simulate(items=30, annotators=40, judgments=2000, seed=3)
    folder = write_parts(tmp_path / "one", study.judgments, 1)
    with Dask(client, shards=11) as engine:
        for judgments in engine.read(str(folder)), engine.distribute(aggcal.read_judgments(folder)):
            holders = client.who_has(shards_of(judgments).futures)
            homes = [address for each in holders.values() for address in each]
            assert len(homes) == 11
            assert set(homes) == set(client.nthreads())
            assert max(map(homes.count, homes)) == 6


def test_a_worker_that_dies_in_the_middle_of_a_fit(tmp_path: Path) -> None:
    study = simulate(items=60, annotators=20, judgments=3000, seed=9)
    folder = write_parts(tmp_path / "judgments", study.judgments, 3)
    wanted = fitted(folder)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # none would be the usual one, perhaps in use
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
        Dask(client, shards=4) as engine,
    ):
        # Shards of files are made again by Dask; what was in memory is sent again.
        read = aggcal.read_judgments(folder)
        for judgments in engine.read(str(folder)), engine.distribute(read):
            killed: list[int] = []
            late = engine.passes + 20

            def kill(number: int, _: str, killed: list[int] = killed, late: int = late) -> None:
                if number > late and not killed:
                    killed.append(next(iter(engine.client.run(os.getpid).values())))
                    os.kill(killed[0], signal.SIGKILL)

            engine._on_pass = kill
            found = fitted(judgments)
            assert killed
            assert_same(found, wanted, 1e-5, 5e-4)
