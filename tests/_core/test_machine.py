"""Linear algebra stays in one thread while aggcal works, and only then."""

from __future__ import annotations

import threading

import pytest
from threadpoolctl import ThreadpoolController

import aggcal
from aggcal._core.machine import BLAS_VARIABLES, one_thread
from aggcal.simulation import simulate


def threads() -> set[int]:
    """Return how many threads the libraries use now."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return {library.num_threads for library in found}


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BLAS_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if not threads():
        pytest.skip("no library that can be told")


@pytest.mark.usefixtures("two_threads")
def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    import scipy.linalg  # noqa: F401  # it has a library of its own

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert threads() == {2}
        with one_thread():
            assert threads() == {1}
            with one_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_second_caller_who_leaves_sooner_changes_nothing() -> None:
    def work() -> None:
        with one_thread():
            seen.append(threads())
        seen.append(threads())

    seen: list[set[int]] = []
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with one_thread():
            other = threading.Thread(target=work)
            other.start()
            other.join()
        assert seen == [{1}, {1}]
        assert threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_fit_and_its_errors_use_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from aggcal.aggregation.empirical import Curvature
    from aggcal.aggregation.modes import Profile

    seen: list[set[int]] = []
    for kind, name in ((Profile, "evaluate"), (Curvature, "inverse")):
        whole = getattr(kind, name)

        def watched(*args: object, whole: object = whole, **options: object) -> object:
            seen.append(threads())
            return whole(*args, **options)  # type: ignore[operator]

        monkeypatch.setattr(kind, name, watched)
    study = simulate(items=9, annotators=4, judgments=80, seed=1)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        aggcal.aggregate(study.judgments, "btl", warn=False).quantify()
        assert len(seen) > 1
        assert set(map(frozenset, seen)) == {frozenset({1})}
        assert threads() == {2}


def test_who_sets_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    before = threads()
    with one_thread():
        assert threads() == before
