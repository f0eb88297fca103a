"""What to ask next: the most informative pairs, and whom to ask.

`pairs` chooses a batch: `beliefs` holds what is known so far, `greedy` what an answer would be
worth, `people` who is asked which. `first` is the design of a study that nobody has judged.
`suggester` goes on from answer to answer without a new fit; `anchors` names the items whose true
score is worth finding out.
"""

from aggcal.advice.suggest.pairs import suggest_pairs
from aggcal.advice.suggest.suggester import Suggester
from aggcal.advice.suggest.suggestions import Suggestions

__all__ = ["Suggester", "Suggestions", "suggest_pairs"]
