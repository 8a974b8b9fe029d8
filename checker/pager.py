"""Show text that is longer than the terminal in a pager."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys

USUAL = "less"
LESS = "FRX"  # as git sets it: quits if all fits, shows colours, and leaves the text on the screen


def paged(text: str) -> bool:
    """Show text in the pager that PAGER names, `less` by default, and return whether it was shown.

    It is shown only on an interactive terminal, and only if it is longer than that. `PAGER=` and `PAGER=cat` disable
    it. Use it only for lists to look through: a program that waits for a key would stop a script that has a terminal.
    """
    if sys.stdout is not sys.__stdout__ or not all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)
    ):
        return False
    if text.count("\n") < shutil.get_terminal_size().lines or os.environ.get("TERM", "dumb") == "dumb":
        return False
    try:
        words = shlex.split(os.environ.get("PAGER", USUAL))
    except ValueError:  # a quote that is not closed
        return False
    if not words or words[0] == "cat" or shutil.which(words[0]) is None:
        return False
    return shown_by(words, text)


def shown_by(words: list[str], text: str) -> bool:
    """Run a pager; return whether it ended well. If it did not, it is unknown how much of the text was seen."""
    import subprocess

    sys.stdout.flush()
    try:
        pager = subprocess.Popen(words, stdin=subprocess.PIPE, env={"LESS": LESS, **os.environ})
    except OSError:
        return False
    assert pager.stdin is not None
    with contextlib.suppress(BrokenPipeError), pager.stdin:  # the user quit before the end
        pager.stdin.write(text.encode(sys.stdout.encoding, "backslashreplace"))
    return pager.wait() == 0
