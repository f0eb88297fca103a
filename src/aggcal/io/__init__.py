"""Readers and writers: files, data frames and rows in; tables, written atomically, out."""

from aggcal.io.judgments import read_judgments
from aggcal.io.scores import read_scores

__all__ = ["read_judgments", "read_scores"]
