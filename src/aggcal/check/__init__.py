"""What is wrong with a study, and what to do about it."""

from aggcal.check.findings import Check, Finding
from aggcal.check.fitted import FITTED
from aggcal.check.survey import check

__all__ = ["FITTED", "Check", "Finding", "check"]
