"""A wing: prove with z3 and by the abstract protocol, and write TLA+. Start with `requests/`, then `symbolic/`."""
