"""User protocols: what their authors write with, and how a protocol is read from a file or module and checked.

Start with `declaration.py`, then `reading.py`. `files.py` reads, `checks.py` refuses, `glue.py` writes the functions
between a protocol and its world.
"""
