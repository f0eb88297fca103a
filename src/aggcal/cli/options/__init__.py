"""What several commands take: the options, and what is made of their values."""
