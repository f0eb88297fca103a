"""What to ask next: the pairs, and the annotators to ask, that tell most."""

from aggcal.advice.suggest.batch import Suggestions, suggest_pairs

__all__ = ["Suggestions", "suggest_pairs"]
