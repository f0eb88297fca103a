"""Other people's models, to compare with: Gaussian processes and a ranking SVM."""
