"""How the optimum is found: a trust-region Newton method with a record of its convergence."""
