"""What is wrong with a study, and what to do about it.

`survey.check` is the door. It fits the study once (`context`), then asks one file after the other,
each of which returns findings: `position` (with `side_of_study`), `copies` (with `likeness`,
`clusters`), `camps` (with `camp_signs`, `tastes`), `cycles`, `dependence` (which says what the
errors of the fit allow for), `reliability` (with `annotator_mixture`, `leave_one_out`,
`own_order`; its findings are in `stray_findings`), `lapses`, `self_contradiction`,
`agreement`, `speed`, `volume`, `connectivity`, `scores`, `precision`; some of them are begun early,
in threads. `testing` has the tests and their corrections for many of them, `findings` what a
finding is.

To add one, copy ``speed.py`` and call it in `survey`; measure its false alarms with
``benchmarks/check_rates.py`` before it says anything about a person.
"""

from aggcal.advice.check.context import FITTED
from aggcal.advice.check.findings import Check, Finding
from aggcal.advice.check.survey import check

__all__ = ["FITTED", "Check", "Finding", "check"]
