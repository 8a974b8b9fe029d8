"""The subcommands of `zabcheck`, one file each: flags, their checks, and the output of the answer.

Start with `deriving.py`, which makes the command of a request from its declaration; `requested.py` turns flags into a
request where a command is written by hand. `common.py` and `page_option.py` are shared by
several commands. `start/two_phase_commit.py` is the protocol that `init.py` writes.
"""
