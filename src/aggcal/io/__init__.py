"""Readers and writers: files, data frames and rows in; tables, written atomically, out."""

from aggcal.io.features import read_features
from aggcal.io.judgments import read_judgments
from aggcal.io.scores import read_scores

__all__ = ["read_features", "read_judgments", "read_scores"]
