"""What is wrong with a study, and what to do about it."""

from aggcal.advice.check.context import FITTED
from aggcal.advice.check.findings import Check, Finding
from aggcal.advice.check.survey import check

__all__ = ["FITTED", "Check", "Finding", "check"]
