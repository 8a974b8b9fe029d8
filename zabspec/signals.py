"""The signals that ask a process to end. Little is imported here: the command needs this before anything else."""

from __future__ import annotations

import signal

__all__ = ["ENDING", "OF_TERMINALS"]

# Those whose default is to end the process, and that a person, a terminal or a batch system sends.
ENDING = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGXCPU,
)  # fmt: skip
OF_TERMINALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # sent to all processes of a group
