"""User protocols: what their authors write with, and how a protocol is read from a file or module and checked.

Start with `authoring.py`, then `open.py`. `texts.py` reads, `vetting.py` refuses, `generated.py` writes the functions
between a protocol and its world.
"""
