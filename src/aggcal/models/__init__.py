"""What is fitted: links, the Thurstone family and its priors, as functions of rows."""
