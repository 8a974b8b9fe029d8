"""What a package of somebody else's adds to zabcheck, by the entry points of its pyproject.toml alone."""
