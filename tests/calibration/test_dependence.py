"""Whether a model knows of the same judgments: the short way says what the long one says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aggcal.aggregation.covariance import DenseCovariance
from aggcal.calibration import dependence
from aggcal.calibration.dependence import agreement
from aggcal.calibration.draws import Knowledge
from aggcal.calibration.moments import moments


def known(seed: int, *, near: float, components: int, flat: bool) -> Knowledge:
    """Return scores of 12 to 230 items and a model so many times the errors away from them."""
    random = np.random.default_rng(seed)
    n = int(random.integers(12, 230 if seed % 4 else 60))
    root = random.normal(size=(n, 3 if flat else n)) / np.sqrt(n)
    matrix = root @ root.T + (0.0 if flat else 0.2) * np.diag(random.uniform(0.1, 2.0, n))
    centred = np.eye(n) - 1.0 / n
    covariance = DenseCovariance(centred @ matrix @ centred)
    scores = random.normal(scale=3.0, size=n)
    scores -= scores.mean()
    errors = random.multivariate_normal(np.zeros(n), covariance.matrix, method="eigh")
    model = 2.0 * (scores + near * errors) + 7.0
    component = None
    if components > 1:
        component = np.sort(random.integers(0, components, n))
        component = np.unique(component, return_inverse=True)[1]
    found = moments(model, scores, covariance)
    return Knowledge(scores, covariance, model, found, component=component)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("near", [0.0, 0.3, 0.7, 1.0, 1.5, 3.0])
def test_the_short_way_says_what_eigenvectors_say(
    near: float, components: int, flat: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = [known(s, near=near, components=components, flat=flat) for s in range(5)]
    short = [agreement(each, 0) for each in studies]
    asked: list[bool] = []

    def spied(*given: Any) -> bool:
        asked.append(plainly(*given))
        return False

    plainly = dependence._plainly_apart
    monkeypatch.setattr(dependence, "_plainly_apart", spied)
    assert [agreement(each, 0) for each in studies] == short
    # Errors of three directions only leave the question to eigenvectors; far models do not.
    assert not (flat and any(asked))
    if near >= 3.0 and not flat:
        assert all(asked)
    if near <= 0.3:
        assert not any(asked)


def test_no_level_and_no_unit_of_the_model_hides_that_it_is_near() -> None:
    near = [known(s, near=0.1, components=3, flat=False) for s in range(8)]
    assert all(agreement(each, 0).too_near for each in near)
    for factor, level in ((1.0, 1e8), (1e-140, 0.0), (1e50, 0.0)):
        for each in near:
            moved = replace(each, model=factor * each.model + level)
            assert agreement(moved, 0).too_near, (factor, level)


def test_estimates_that_are_equal_within_components_tell_nothing() -> None:
    for seed in range(8):
        each = known(seed, near=1.0, components=3, flat=False)
        assert each.component is not None
        # Thirds are not exact: what is left of the estimates within a component is rounding.
        inside = each.covariance.within(each.component)
        equal = replace(each, consensus=each.component / 3.0 + 40.7, covariance=inside)
        assert not agreement(equal, 0).too_near
