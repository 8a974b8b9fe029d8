"""Counterexamples made shorter or smaller (`minimise.py`), or found again as a plain seeded run (`realise.py`).

Start with `minimise.py`.
"""
