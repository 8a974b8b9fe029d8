"""Read and check user protocols, and provide what their authors write with.

Start with `declaration.py`, then `reading.py`. `files.py` reads, `checks.py` refuses, `glue.py` writes the functions
between a protocol and its world.
"""
