"""Tables in files: what a path names, how it is opened and what columns it has.

`source` says what was given, `files` and `opening` find and open it, `parquet` and `database` let
DuckDB read it. Nothing here knows what a judgment is; `aggcal.io.formats` does.
"""
