"""How every command ends: its exit code, its sentence, and a file for what nobody foresaw."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

from checker.errors import NoVerdict, RequestError
from checker.plain_text import one_line, plain, sentence
from zabspec.files import is_cwd_gone

__all__ = [
    "HELD", "INTERRUPTED", "NO_VERDICT", "VIOLATED", "WRONG", "NoVerdict", "complain", "cut_short",
    "end_where_it_stands", "ended", "hush", "one_line", "open_streams", "plain", "say", "say_error", "settle",
]  # fmt: skip

HELD, VIOLATED, WRONG, NO_VERDICT = 0, 1, 2, 3
LEFT = ("work", "z3", "compile")  # the threads of `checker.symbolic.solver` and `commands.refine`
INTERRUPTED = "interrupted; there is no verdict"

# What runs out: of memory, of threads and processes, of open files, of room on the disk.
SPENT = (
    errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO,
)  # fmt: skip
# Why a name that a user gives cannot be used.
UNUSABLE = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EROFS,
    errno.ENXIO, errno.ENODEV, errno.EINVAL,
)  # fmt: skip
# How the loader says that a library finds no memory to be loaded into.
UNMAPPED = ("failed to map segment", "cannot map zero-fill pages", "cannot allocate memory in static TLS")
# What Python 3.11 raises a SystemError with where its own stack finds no memory to grow into.
NO_STACK = ("error return without exception set", "returned NULL without setting an exception")
# What an output has written: JSON is written once.
_written = threading.Event()

# --- what is said ----------------------------------------------------------------------------------


def complain(text: str) -> None:
    """Write one sentence on stderr."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"zabcheck: {sentence(text)}", err=True)


def point(problem: BaseException | None) -> None:
    """Show the line of the source that an error is about, with a caret under the column."""
    while problem is not None and getattr(problem, "place", None) is None:
        problem = problem.__cause__ or problem.__context__
    if problem is None:
        return
    from zabspec.language.diagnostics import pointed

    for line in pointed(problem.place).splitlines():  # type: ignore[attr-defined]
        with contextlib.suppress(OSError, ValueError):
            click.echo(f"    {plain(line)}", err=True)


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
    _written.set()
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
    """Return the exit code of a command, however it ends, and write the sentence that belongs to it.

    No other place maps exceptions to exit codes. With `--json` a command that is cut short before it has written
    anything writes an object with `exit_code` and `error`.

    Args:
        work: the command; returns its exit code.
        words: what it was called with.
    """
    _written.clear()
    try:
        code = work()
        sys.stdout.flush()
    except click.ClickException as problem:
        complain(problem.format_message())
        point(problem)
        return WRONG
    except RequestError as problem:
        complain(str(problem))
        point(problem)
        return WRONG
    except BrokenPipeError:
        hush()
        return NO_VERDICT
    except (Exception, SystemExit, KeyboardInterrupt) as problem:
        if said := wrong_text(problem) or wrong_file(problem, words):
            complain(said)
            point(problem)
            return WRONG
        cut = cut_short(problem) or NoVerdict(unforeseen(problem, words), foreseen=False)
        if "--json" in words and not _written.is_set():
            say_error(cut.message, NO_VERDICT)
        if not isinstance(problem, NoVerdict | KeyboardInterrupt | click.Abort):
            hush()
        complain(cut.message)
        return NO_VERDICT
    return code if isinstance(code, int) else HELD


def say_error(sentence: str, code: int) -> None:
    """Write on stdout, as JSON, that there is no answer and why."""
    with contextlib.suppress(Exception):  # memory may be short
        from importlib.metadata import version

        answer = {"format": 1, "zabcheck": version("zabcheck"), "exit_code": code, "error": plain(sentence)}
        say(json.dumps(answer, indent=1), code)


def cut_short(problem: BaseException) -> NoVerdict | None:
    """Return in which way a command was cut short; None: it was not, and the problem is another one."""
    if isinstance(problem, NoVerdict):
        return problem
    if isinstance(problem, KeyboardInterrupt | click.Abort):
        return NoVerdict(INTERRUPTED)
    said = spent(problem)
    return NoVerdict(said) if said else None


def wrong_text(problem: BaseException) -> str:
    """What is wrong with the text of a protocol, or with what was asked of it; empty: neither is."""
    kinds = []
    for module, name in (
        ("zabspec.authoring.declaration", "ConfigError"),
        ("zabspec.language.source", "LanguageError"),
    ):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    return str(problem) if isinstance(problem, tuple(kinds)) else ""


def wrong_file(problem: BaseException, words: Sequence[str]) -> str:
    """Return the sentence for a file that the command names and that cannot be used; empty: it is not that."""
    at: BaseException | None = problem
    while at is not None:
        if isinstance(at, OSError) and at.errno in UNUSABLE:
            if isinstance(at, FileNotFoundError) and is_cwd_gone():
                return "the working directory has been deleted: go to another one"
            name = os.fsdecode(at.filename) if isinstance(at.filename, str | bytes) else ""
            given = [word.partition("=")[2] if word.startswith("--") else word for word in words]
            if name and any(name == g or name.startswith(f"{g.rstrip('/')}/") for g in given if g):
                return f"{name}: {at.strerror}"
        at = at.__cause__ or at.__context__
    return ""


def spent(problem: BaseException | None) -> str:
    """What the machine ran out of, also if that was made another error of; empty: of nothing."""
    if problem is None:
        return ""
    if isinstance(problem, MemoryError) or any(sign in str(problem) for sign in UNMAPPED):
        return "out of memory; there is no verdict"
    if isinstance(problem, SystemError) and str(problem).endswith(NO_STACK) and is_memory_limited():
        return "out of memory; there is no verdict"
    if isinstance(problem, OSError) and problem.errno in SPENT:
        return f"{problem.strerror or problem}; there is no verdict"
    if isinstance(problem, RuntimeError):
        if "start new thread" in str(problem):
            return "out of threads; there is no verdict"
        if type(problem).__name__ == "BrokenProcessPool":
            return "a process was killed, as it is when memory runs out; there is no verdict"
    return spent(problem.__cause__ or problem.__context__)


def is_memory_limited() -> bool:
    """Return whether this process may use less memory than there is (`ulimit -v`)."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


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
