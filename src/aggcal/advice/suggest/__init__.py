"""What to ask next: the most informative pairs, and whom to ask.

`batch.suggest_pairs` is the door. `beliefs` holds what is known so far, `candidates` the pairs that
may be asked, `criterion` what an answer would add, `annotators` who is asked which, and `choosing`
the batch. `suggester` goes on from answer to answer without a new fit; `anchors` names the items
whose true score is worth finding out.
"""

from aggcal.advice.suggest.batch import suggest_pairs
from aggcal.advice.suggest.suggester import Suggester
from aggcal.advice.suggest.suggestions import Suggestions

__all__ = ["Suggester", "Suggestions", "suggest_pairs"]
