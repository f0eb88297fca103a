"""What is known of the items besides the judgments: features, and a kernel that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray, frozen
from aggcal.errors import FeatureError, OptionError, count, some


@dataclass(frozen=True, eq=False)
class Features:
    """A row of numbers per item.

    Parameters
    ----------
    item_ids
        The ids, each once.
    matrix
        A row per item, a column per feature.
    names
        What the columns are called.

    Examples
    --------
    >>> from aggcal.io import read_features
    >>> features = read_features([("a", 1.0, 5.0), ("b", 3.0, 5.0), ("c", 2.0, 5.0)])
    >>> features
    Features(3 items, 2 features)
    >>> features.of(np.array(["b", "c"], dtype=object)).round(2)
    array([[1.22, 0.  ],
           [0.  , 0.  ]])
    """

    item_ids: TextArray
    matrix: FloatArray
    names: tuple[str, ...]
    source: str = "features"
    notes: tuple[str, ...] = ()
    """What was made of the table in reading it, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen(self.matrix))

    def __repr__(self) -> str:
        return f"Features({len(self.item_ids):,} items, {count(len(self.names), 'feature')})"

    def of(self, item_ids: TextArray) -> FloatArray:
        """Return the features of some items, each with mean 0 and sd 1 over all that have them.

        The scale is that of the whole table, so that leaving items out changes nothing for the
        others. A feature that is the same for every item is 0.
        """
        position = {item: k for k, item in enumerate(self.item_ids)}
        lacking = [item for item in item_ids if item not in position]
        if lacking:
            raise FeatureError(
                f"{self.source}: {count(len(lacking), 'item')} of the judgments "
                f"{'has' if len(lacking) == 1 else 'have'} no row ({some(lacking)}); add their "
                "features, or leave their judgments out."
            )
        about = self.matrix - self.matrix.mean(axis=0)
        sd = np.sqrt(np.mean(np.square(about), axis=0))
        # Rounding of the mean leaves a constant column a little off zero: that is no spread.
        varies = sd > 1e-12 * np.abs(self.matrix).max(axis=0)
        return np.where(varies, about, 0.0)[[position[i] for i in item_ids]] / np.where(
            varies, sd, 1.0
        )


FeatureChoice: TypeAlias = Features | Literal["identity"]
"""Features, or ``"identity"``: every item is unlike every other, and that is all one knows."""


_JITTER = 1e-8
"""Added to the diagonal of a correlation, which has a Cholesky root then even where items have the
same features: their scores may differ by a ten-thousandth of the signal's sd."""


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
    >>> Kernel(2.0).matrix(np.zeros((2, 2)))
    array([[2., 0.],
           [0., 2.]])
    """

    signal_variance: float
    length_scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("signal_variance", "length_scale"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise OptionError(
                    f"the {name.replace('_', ' ')} of the kernel is {value}; give a number above "
                    "0, or leave the kernel out to have it chosen."
                )

    @property
    def logarithms(self) -> FloatArray:
        """The logarithms of v and, where there is one, of ℓ."""
        return np.log([v for v in (self.signal_variance, self.length_scale) if v is not None])

    def matrix(self, squares: FloatArray) -> FloatArray:
        """Return K, from the squared distances between the features of items."""
        if self.length_scale is None:
            return self.signal_variance * np.eye(len(squares))
        correlation = np.exp(-0.5 * squares / self.length_scale**2)
        correlation[np.diag_indices(len(squares))] += _JITTER
        return self.signal_variance * correlation

    def root(self, squares: FloatArray) -> FloatArray:
        """Return L with LL' = K."""
        return np.asarray(np.linalg.cholesky(self.matrix(squares)))

    def derivatives(self, squares: FloatArray) -> list[FloatArray]:
        """Return the derivative of K in each of `logarithms`."""
        whole = self.matrix(squares)
        if self.length_scale is None:
            return [whole]
        return [whole, whole * squares / self.length_scale**2]
