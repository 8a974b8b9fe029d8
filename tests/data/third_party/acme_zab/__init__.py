"""What another package adds to zabcheck, by the entry points of its pyproject.toml alone."""
