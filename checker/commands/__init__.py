"""The subcommands of `zabcheck`, one file each: flags, their checks, and the output of the answer.

Start with `explore.py`, the command without a subcommand; `requested.py` turns its flags into a request. `common.py`
and `page_option.py` are shared by several commands. `start/two_phase_commit.py` is the protocol that `init.py` writes.
"""
