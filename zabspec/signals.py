"""The signals that ask a process to end. Little is imported here: the command needs this before anything else."""

from __future__ import annotations

import signal

__all__ = ["ENDING", "OF_TERMINALS"]

# Those whose default is to end the process, and that a person, a terminal, a batch system or a timer sends: not those
# of a crash (SIGSEGV, SIGABRT, ...). Some are of Linux alone.
NAMES = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGVTALRM", "SIGPROF",
    "SIGIO", "SIGPWR", "SIGSTKFLT",
)  # fmt: skip
ENDING = tuple(signal.Signals[name] for name in NAMES if name in signal.Signals.__members__)
OF_TERMINALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # sent to all processes of a group
