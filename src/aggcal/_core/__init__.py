"""What everything else stands on and nothing of aggcal's own is in: arrays, tables, text, kernels.

- `arrays`: the array types, and sums that use the kernels.
- `sorting`: order and ties of long columns.
- `tables`: columns by name, aligned to items.
- `positions`: where the ids of one table are in another.
- `text`: numbers and names as people read them.
- `records`: dataclasses that load quickly.
- `database`: a DuckDB database, begun before it is needed.
- `lapack`: LAPACK beside other threads.
- `interrupts`: Ctrl-C and SIGTERM, held back while files change places.
- `kernels`: the compiled sums (``*.c``); NumPy computes the same where there is no compiler.
"""
