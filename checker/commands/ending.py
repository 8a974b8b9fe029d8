"""How every command ends: its exit code, its sentence, and a file for what nobody foresaw."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

__all__ = [
    "HELD", "INTERRUPTED", "NO_VERDICT", "VIOLATED", "WRONG", "Cannot", "complain", "end_where_it_stands",
    "ended", "hush", "one_line",
    "open_streams", "plain", "say", "settle",
]  # fmt: skip

HELD, VIOLATED, WRONG, NO_VERDICT = 0, 1, 2, 3
LEFT = ("work", "z3", "compile")  # the threads of `checker.symbolic.solver` and `commands.bridge`
INTERRUPTED = "interrupted; there is no verdict"
LONGEST = 2000  # characters of a sentence: what it quotes may be larger than any screen

# What runs out: of memory, of threads and processes, of open files, of room on the disk.
SPENT = (
    errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO,
)  # fmt: skip
# How the loader says that a library finds no memory to be loaded into.
UNMAPPED = ("failed to map segment", "cannot map zero-fill pages", "cannot allocate memory in static TLS")
# What a terminal takes for an order, or shows in another place than where it stands.
ORDERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Cannot(click.ClickException):
    """The answer is there and could not be given: exit 3, with a sentence."""

    exit_code = NO_VERDICT


# --- what is said ----------------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text, with what a terminal would obey written out. Lines stay lines."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The same for what somebody else wrote and stands within a line."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    words = plain(" ".join(sentence.split()))
    cut = words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"zabcheck: {cut}", err=True)


def hush() -> None:
    """Stop writing to stdout: what the interpreter would flush at its end goes nowhere."""
    nowhere(sys.stdout)


def nowhere(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def say(text: str, code: int) -> int:
    """Write the answer on stdout; returns the exit code.

    A reader that has gone away (`| head`) changes nothing; a full disk is exit 3.
    """
    text = plain(text)
    try:
        click.echo(text, nl=not text.endswith("\n"))
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError as problem:
        hush()
        found = f"; what was found: {text.splitlines()[0]}" if not text.startswith(("{\n", "[\n")) else ""
        complain(f"cannot write to stdout: {problem.strerror}{found}")
        return NO_VERDICT
    return code


def tell(text: str, code: int) -> int:
    """As `say`, of sentences that may be longer than a line: folded to 80 columns."""
    from traces.explain.folding import fitted

    return say(fitted(text), code)


# --- the streams -----------------------------------------------------------------------------------


def open_streams() -> None:
    """A stream that was closed when the process began is opened on nothing: else the next file that is opened
    takes its number, and is written to by whoever complains."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def settle() -> None:
    """What the interpreter cannot flush at its end would be an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            nowhere(stream)


def end_where_it_stands(code: int) -> None:
    """End the process at once if work was left behind in a thread that Python's own end would wait for in vain, or
    take the ground from under: z3's, or the compiler's. In tests, which have other streams, do nothing."""
    busy = any(thread.daemon and thread.name in LEFT for thread in threading.enumerate())
    if busy and sys.stdout is sys.__stdout__:
        os._exit(code)


# --- the end ---------------------------------------------------------------------------------------


def ended(work: Callable[[], object], words: Sequence[str]) -> int:
    """The exit code of a command, however it ends; what there is to say about that is said.

    Args:
        work: the command; gives its exit code.
        words: what it was called with.
    """
    try:
        code = work()
        sys.stdout.flush()
    except click.ClickException as problem:
        complain(problem.format_message())
        return NO_VERDICT if isinstance(problem, Cannot) else WRONG
    except (click.Abort, KeyboardInterrupt):
        complain(INTERRUPTED)
        return NO_VERDICT
    except BrokenPipeError:
        hush()
        return NO_VERDICT
    except (Exception, SystemExit) as problem:
        if said := wrong_text(problem):
            complain(said)
            return WRONG
        hush()
        complain(spent(problem) or unforeseen(problem, words))
        return NO_VERDICT
    return code if isinstance(code, int) else HELD


def wrong_text(problem: BaseException) -> str:
    """What is wrong with the text of a protocol, or with what was asked of it; empty: neither is."""
    kinds = []
    for module, name in (("zabspec.own.authoring", "ConfigError"), ("zabspec.language.source", "LanguageError")):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    return str(problem) if isinstance(problem, tuple(kinds)) else ""


def spent(problem: BaseException | None) -> str:
    """What the machine ran out of, also if that was made another error of; empty: of nothing."""
    if problem is None:
        return ""
    if isinstance(problem, MemoryError) or any(sign in str(problem) for sign in UNMAPPED):
        return "out of memory; there is no verdict"
    if isinstance(problem, OSError) and problem.errno in SPENT:
        return f"{problem.strerror or problem}; there is no verdict"
    if isinstance(problem, RuntimeError):
        if "start new thread" in str(problem):
            return "out of threads; there is no verdict"
        if type(problem).__name__ == "BrokenProcessPool":
            return "a process was killed, as it is when memory runs out; there is no verdict"
    return spent(problem.__cause__ or problem.__context__)


def unforeseen(problem: BaseException, words: Sequence[str]) -> str:
    """Write down what nobody foresaw, in a file that was not there before; the sentence that names it."""
    what = " ".join(f"{type(problem).__name__}: {problem}".split())[:200].rstrip(": ")
    data = error_report(problem, words).encode(errors="backslashreplace")
    for path in places():
        try:
            with open(path, "xb") as out:
                out.write(data)
        except (OSError, ValueError):
            continue
        return f"an internal error ({what}), there is no verdict; please report it with {path}"
    return f"an internal error ({what}), there is no verdict; please report it (no file could be written)"


def places() -> Iterator[Path]:
    """Where a report may go: here, or where temporary files go."""
    import tempfile

    name = f"zabcheck-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for folder in (Path(), Path(tempfile.gettempdir())):
        for again in ("", "-2", "-3", "-4"):
            yield folder / f"{name}{again}.txt"


def error_report(problem: BaseException, words: Sequence[str]) -> str:
    """A report: the command, the versions, and where it happened."""
    import platform
    import shlex
    import traceback
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in ("zabcheck", "click", "llvmlite", "rich", "z3-solver", "numpy", "pandas", "pyarrow", "pyspark"):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return (
        "zabcheck met an error that it did not foresee. Please report it, with this file.\n\n"
        f"command: {shlex.join(['zabcheck', *words])}\n"
        f"python: {sys.version}\nmachine: {platform.platform()}\nversions: {', '.join(versions)}\n\n"
        + "".join(traceback.format_exception(problem))
    )
