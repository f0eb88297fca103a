"""Fit the general model (`models.general`): Stage 1 with ties, sides, contexts and categories.

`choice` decides which terms a study needs; `problem` is what is fitted, `fit` how; `posterior`
says how sure it is, and `prediction` how likely an answer is.
"""
