"""Readers and writers: files, data frames and rows in; tables, written atomically, out.

- `judgments`, `scores`, `features`, `control`, `texts`: one file for each thing that is read;
  `results` reads back what aggcal wrote, `adding` adds judgments to earlier ones, `convert` writes
  other formats.
- `tables`: what a path names and which columns it has (DuckDB reads it).
- `formats`: the exports of people's tools, a file for each. `rows` lets the right one read, and
  `encoding` turns ids into codes; `duplicates` tells what was recorded twice.
- `writing`: sets of files, put in place whole or not at all.
"""

from aggcal.door.adding import add_judgments
from aggcal.door.items import read_control, read_features, read_scores
from aggcal.door.judgments import read_judgments

__all__ = ["add_judgments", "read_control", "read_features", "read_judgments", "read_scores"]
