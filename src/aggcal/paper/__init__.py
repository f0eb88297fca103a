"""The paper's experiments, and ours beside them (extra ``reproduce``).

`reproduce` is the door. `reading_level`, `dots` and `rq3` are the experiments, each of which fills
a `result`; `published` holds the numbers of the paper; `recipe` is its own estimator, `optimum`
ours of the same model; `covariances` has its Lemmas 3.1 and 3.2; `page`, `words` and `plots` write
the comparison. Nothing else imports this room.
"""
