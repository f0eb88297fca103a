"""What to ask next: the pairs, and the annotators to ask, that tell most."""

from aggcal.advice.suggest.batch import suggest_pairs
from aggcal.advice.suggest.suggestions import Suggestions

__all__ = ["Suggestions", "suggest_pairs"]
