"""Mutants of a user protocol: find the small changes that no property detects.

Start with `run.py`; `edits.py` has the edits, which `tests/mutants/` applies to zabcheck itself.
"""
