"""What is wrong with a study, and what to do about it.

`survey.check` is the door. `data` looks at rows and scores, `agreement` at answers to the same
pairs, `precision` at what more judgments would bring. All that is said of annotators comes from one
mechanism: `cells` counts the answers, `replicate` fits them (with `population`: what annotators
are like) and draws studies like this one, `explanations` is the table of what may explain answers
beside one order, `look` takes the strongest explanation into the model until nothing is left, and
names annotators; `sides` reads habits off the fit. `says` has the sentences, `findings` says what
a finding is.

To add an explanation, give it a row in `explanations`; measure its false alarms with
``benchmarks/check_rates.py`` before it says anything about a person.
"""

from aggcal.advice.check.findings import Check, Finding
from aggcal.advice.check.survey import FITTED, check

__all__ = ["FITTED", "Check", "Finding", "check"]
