"""Export to TLA+: a model as a module, so that TLC explores the very same model.

Start with `module.py`; `actions.py`, `statements.py` and `expressions.py` translate the parts.
"""
