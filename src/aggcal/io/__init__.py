"""Readers and writers: any table in, read in one way; tables out, written atomically.

A table is its columns by their distinct texts (`columns`): what a text means is asked once, in
plain Python, and answered for all its rows by one look-up.

- `tables` opens what a person brings; `delimited`, `jsons`, `parquet`, `frames` and `workbooks`
  load it. `words` has what people call things.
- `formats`: the exports of people's tools, each declared. `naming` names columns as ours,
  `guessing` those in other words; `outcomes` says what outcomes mean, `refusals` refuses rows, and
  `numbering` turns ids into codes. `judgments` does all of this for one file or several.
- `items`: tables with a row for each item: scores, truth, features, control, texts.
- `results` reads back what aggcal wrote, `adding` adds judgments to earlier ones, `convert` writes
  other formats; `saving` puts sets of files in place whole or not at all.
"""

from aggcal.io.adding import add_judgments
from aggcal.io.items import read_control, read_features, read_scores
from aggcal.io.judgments import read_judgments

__all__ = ["add_judgments", "read_control", "read_features", "read_judgments", "read_scores"]
