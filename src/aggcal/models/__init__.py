"""What is fitted: pure functions of arrays, without a solver and without a file.

- `links`: the distributions F; `priors`; `rows`: judgments as columns that sums go over.
- `objective`, `information`: the penalised log-likelihood of scores and reliabilities, its gradient
  and curvature (`thurstone`, `crowd` state the two models); `compiled` lets the kernels sum.
- `marginal`, `marginal_crowd`: the same with the annotators' parameters integrated out, at the
  points of `quadrature`; `beliefs` is what is then known of them.
- `features`: models that go by features of the items.

How an optimum is found is the affair of `aggcal.aggregation.solve`.
"""
