"""Both stages as estimators of scikit-learn (extra ``sklearn``).

- `PairwiseRanker` learns from comparisons (annotator, left, right) who wins; it is a classifier.
- `AggregateCalibrator` learns calibrated scores of items from a model's scores and judgments; it is
  a regressor.

Both can be cloned, searched over and put into pipelines.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("aggcal.sklearn needs scikit-learn: pip install 'aggcal[sklearn]'") from error

from aggcal.sklearn.calibrator import AggregateCalibrator
from aggcal.sklearn.ranker import PairwiseRanker

__all__ = ["AggregateCalibrator", "PairwiseRanker"]
