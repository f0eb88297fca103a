"""How an optimum is found.

`newton` and `fit` for scores and reliabilities together, `marginal` and `prior_sd` with
reliabilities integrated out and spreads estimated, `reweighting`, `gaussian_process` and `rank_svm`
for models that go by features.
"""
