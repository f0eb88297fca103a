"""The report of one run or of two as a document of `aggcal.pages`; nothing computes here."""
