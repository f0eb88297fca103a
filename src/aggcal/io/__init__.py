"""Readers and writers: files, data frames and rows in; tables, written atomically, out.

- `judgments`, `scores`, `features`, `control`, `texts`: one file for each thing that is read;
  `results` reads back what aggcal wrote, `adding` adds judgments to earlier ones, `convert` writes
  other formats.
- `tables`: what a path names and which columns it has (DuckDB reads it).
- `formats`: the exports of people's tools, a file for each. `rows` lets the right one read, and
  `encoding` turns ids into codes; `duplicates` tells what was recorded twice.
- `writing`: sets of files, put in place whole or not at all.
"""

from aggcal.io.adding import add_judgments
from aggcal.io.control import read_control
from aggcal.io.features import read_features
from aggcal.io.judgments import read_judgments
from aggcal.io.scores import read_scores

__all__ = ["add_judgments", "read_control", "read_features", "read_judgments", "read_scores"]
