"""State the protocols of this project other than `zabspec/zab.py`, and the variants of all of them.

Start with `registry.py`: which protocols there are, and what each is made of.
"""
