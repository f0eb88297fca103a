"""Limits of options that the command line knows before anything is loaded."""

MOST_DIGITS = 12
"""Decimals of a calibrated score at most: numbers have few more, which would be rounding."""

VERDICT_ERROR = 0.05
"""The probability with which a verdict on an item may be wrong, unless another is stated: a smaller
one leaves more items on the border, a larger one decides more of them wrongly."""
