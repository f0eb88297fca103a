"""Any table, read in one way: its columns by their distinct texts."""
