"""What everything else stands on and nothing of aggcal's own is in: arrays, tables, text, kernels.

- `arrays`: the array types, and sums that use the kernels.
- `tables`: columns by name, aligned to items; where the ids of one table are in another.
- `text`: numbers and names as people read them.
- `frames`: what tables are given back as; `written`: numbers as text, many at a time.
- `markup` and `palette`: HTML and SVG, escaped, and the colours of all figures.
- `machine`: cores, and threads of the linear algebra; `progress`: how far long work has got.
- `interrupts`: Ctrl-C and SIGTERM, held back while files change places.
- `kernels`: the compiled sums (``*.c``, ``*.cpp``); NumPy computes the same without a compiler.
"""
