"""The subcommands of `zabcheck`, one file each: flags, their checks, and the output of the answer.

Start with `deriving.py`, which makes the command of a request from its declaration. `common.py` is shared by several
commands. `start/two_phase_commit.py` is the protocol that `init.py` writes.
"""
