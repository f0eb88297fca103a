"""How an optimum is found.

`newton` and `fit` for scores and reliabilities together, `marginal` (of a `marginal_problem`, with
`population` and `prior_sd` for the spreads; the best of several are `marginal_fits`) with
reliabilities integrated out, `reweighting`, `gaussian_process` and `rank_svm` for models that go by
features, `placing` for one item; `linear` solves systems.
"""
