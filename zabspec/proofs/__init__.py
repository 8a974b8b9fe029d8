"""A wing: the language's back end for z3 (start with `symbolic.py`), and the abstract protocol (`abstract/`)."""
