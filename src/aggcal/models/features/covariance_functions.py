"""Kernels: how alike the scores of two items are expected to be, from their features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.errors import FeatureError, OptionError

# Added to the diagonal of a correlation, so that it has a Cholesky root even where items have
# the same features: their scores may then differ by a ten-thousandth of the signal's sd.
_JITTER = 1e-8


@dataclass(frozen=True)
class Kernel:
    """K_ij = v·exp(−|x_i − x_j|²/(2ℓ²)); without a length scale ℓ, v on the diagonal and 0 off it.

    Parameters
    ----------
    signal_variance
        v, in units of the noise of one item's appearance.
    length_scale
        ℓ, in standard deviations of the features; None for the identity kernel.

    Examples
    --------
    >>> Kernel(2.0).matrix(Geometry.identity(2))
    array([[2., 0.],
           [0., 2.]])
    """

    signal_variance: float
    length_scale: float | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("signal variance", self.signal_variance),
            ("length scale", 1.0 if self.length_scale is None else self.length_scale),
        ):
            if not 0.0 < value < np.inf:
                raise OptionError(
                    f"the {name} of the kernel is {value}; give a number above 0, or leave the "
                    "kernel out to have it chosen."
                )

    @property
    def logarithms(self) -> FloatArray:
        """The logarithms of v and, where there is one, of ℓ."""
        both = [self.signal_variance, self.length_scale]
        return np.log([value for value in both if value is not None])

    @classmethod
    def of_logarithms(cls, logarithms: FloatArray) -> Kernel:
        """Make a kernel from what `logarithms` returns."""
        return cls(*np.exp(logarithms).tolist())

    def matrix(self, geometry: Geometry) -> FloatArray:
        """Return K."""
        return self.signal_variance * self._correlation(geometry)

    def slopes(self, geometry: Geometry) -> list[FloatArray]:
        """Return the derivatives of K in each of `logarithms`."""
        whole = self.matrix(geometry)
        if geometry.squares is None or self.length_scale is None:
            return [whole]
        return [whole, whole * geometry.squares / self.length_scale**2]

    def root(self, geometry: Geometry) -> FloatArray:
        """Return L with LL' = K."""
        whole = self.matrix(geometry)
        return np.asarray(np.sqrt(whole) if geometry.squares is None else np.linalg.cholesky(whole))

    def _correlation(self, geometry: Geometry) -> FloatArray:
        if (geometry.squares is None) != (self.length_scale is None):
            raise OptionError(
                "a length scale goes with features, and the identity kernel goes without; "
                "give a kernel that fits the features, or leave it out."
            )
        if geometry.squares is None or self.length_scale is None:
            return np.eye(geometry.n_items)
        alike = np.exp(-0.5 * geometry.squares / self.length_scale**2)
        alike[np.diag_indices(geometry.n_items)] += _JITTER
        return alike


@dataclass(frozen=True, eq=False)
class Geometry:
    """How far apart the items are, as far as a kernel needs to know.

    Examples
    --------
    >>> Geometry.of(np.array([[0.0], [3.0], [4.0]])).typical
    3.0
    """

    n_items: int
    squares: FloatArray | None
    """Squared distances; None where every item is unlike every other."""

    @classmethod
    def identity(cls, n_items: int) -> Geometry:
        """Take every item on its own."""
        return cls(n_items, None)

    @classmethod
    def of(cls, features: FloatArray) -> Geometry:
        """Measure the distances between rows of features."""
        from scipy.spatial.distance import pdist, squareform

        return cls(len(features), squareform(pdist(features, "sqeuclidean")))

    @property
    def typical(self) -> float | None:
        """The median distance between items that are not at the same place."""
        if self.squares is None:
            return None
        apart = self.squares[self.squares > 0.0]
        if not len(apart):
            raise FeatureError(
                "the features are the same for every item that was judged, and tell none apart; "
                "give others, or 'identity'."
            )
        return float(np.sqrt(np.median(apart)))
