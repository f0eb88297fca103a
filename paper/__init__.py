"""The paper's experiments, and ours beside them; run ``python -m paper all -o out`` in a clone.

`reproduce` runs them. `reading_level`, `dots` and `rq3` are the experiments, each of which fills a
`result`. `published` holds the numbers of the paper; `recipe` is its own estimator, `optimum` ours
of the same model; `page` and `plots` write the comparison, with the text of ``words.md``.
"""
