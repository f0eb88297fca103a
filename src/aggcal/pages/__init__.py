"""Pages as plain data, and their writers: HTML, Markdown and JSON."""
