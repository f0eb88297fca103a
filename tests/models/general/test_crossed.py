"""Products of sparse tables whose places are kept, against those of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.models.general import sums as general_sums
from aggcal.models.general.crossed import Crossed


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.4])
def test_products_are_those_of_sparse_matrices(
    density: float, signs: bool, random: np.random.Generator
) -> None:
    """Of signs the same bits; rows without an entry included, in one table or in both."""
    one, two = (
        np.where(random.random((300, columns)) < density, random.normal(size=(300, columns)), 0.0)
        for columns in (7, 11)
    )
    if signs:
        one, two = np.sign(one), np.sign(two)
    factors = random.normal(size=300)
    middle = sparse.diags_array(factors) @ sparse.csr_array(two)
    expected = (sparse.csr_array(one.T) @ middle).toarray()
    tables = sparse.csr_array(one), sparse.csr_array(two)
    found = Crossed.of(*tables).sums(factors)
    assert len(Crossed.of(*tables).row) == Crossed.number(*tables)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=0.0 if signs else 1e-13)


def test_a_fit_with_too_many_products_to_keep_is_the_same(
    study_judgments: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = aggcal.Terms(bridge="axis")

    def scores() -> FloatArray:
        return aggcal.aggregate(study_judgments, terms=terms, warn=False).scores

    kept = scores()
    monkeypatch.setattr(general_sums, "MOST", -1)
    np.testing.assert_array_equal(scores(), kept)
