"""The subcommands of `zabcheck`, one file each: flags, their checks, and the output of the answer.

Start with `deriving.py`, which makes the command of a request from its declaration. `common.py` is shared by several
commands. `examples` has what `init.py` writes.
"""
