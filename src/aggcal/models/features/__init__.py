"""Other people's models, to compare with: Gaussian processes and a ranking SVM.

They go by features of the items. `covariance_functions` says how alike two items are.
"""
