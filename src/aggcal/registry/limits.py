"""Limits of options that the command line knows before anything is loaded."""

MOST_DIGITS = 12
"""Decimals of a calibrated score at most: numbers have few more, which would be rounding."""
