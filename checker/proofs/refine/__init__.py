"""The refinement check: every step of `zab` is a step of the abstract protocol, or changes nothing of it.

Start with `mapping.py`: which abstract actions a step is. It and `agreement.py` are written by hand; `generate.py`
makes guards and updates from `zabspec/proofs/abstract/`. `model.py` combines both protocols in one model.
"""
