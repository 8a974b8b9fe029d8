"""The protocols of this project but for `zabspec/zab.py`, and the variants of all of them.

Start with `registry.py`: which protocols there are, and what each is made of.
"""
