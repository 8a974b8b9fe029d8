"""The language in CPython, and what is read from bytecode. Start with `lang.py`, then `reference.py`."""
