"""Readers and writers: files, data frames and rows in; tables, written atomically, out."""

from aggcal.io.adding import add_judgments
from aggcal.io.features import read_features
from aggcal.io.judgments import read_judgments
from aggcal.io.scores import read_scores

__all__ = ["add_judgments", "read_features", "read_judgments", "read_scores"]
