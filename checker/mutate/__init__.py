"""Mutants of a user protocol: which small changes does no property notice?

Start with `run.py`; `edits.py` has the edits, which `tests/mutants/` applies to zabcheck itself.
"""
