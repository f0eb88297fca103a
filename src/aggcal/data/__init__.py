"""What people bring, checked and in arrays: judgments, a model's scores, features.

- `judgments`: one row a distinct judgment, items and annotators as codes into their ids; `base`:
  what is known of judgments wherever their rows lie.
- `row_columns`: what rows may say beyond that: context, categories, grades, screens.
- `scores`, `features`: one row an item.
- `graph`: which items are compared, directly or through others.
- `warnings`: what judgments warn of by themselves, before anything is fitted; `acts`: pairs of
  rankings and ratings, and what they weigh.

A new kind of data: copy ``scores.py``; its reader stands in `aggcal.io`.
"""
