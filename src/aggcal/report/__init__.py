"""One self-contained HTML page from plain data: figures, tables, words."""
