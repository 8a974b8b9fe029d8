"""The end of every command: one answer, whose exit code is settled before any of it is written.

A command returns an `Answer`, or raises if it has none; `ended` converts that to an answer, too. Then signals are
ignored, and `delivered` writes the answer: files, stdout, stderr. So stdout never contradicts the exit code
(docs/decisions/0014-rooms.md). An unforeseen error is written to a file.
"""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from checker.errors import HELD, NO_VERDICT, VIOLATED, WRONG, NoVerdict, RequestError
from checker.output_files import never, write_all, write_file
from checker.pager import paged
from checker.plain_text import Verbatim, one_line, plain, sentence
from zabspec import __version__
from zabspec.files import is_cwd_gone, without_secrets
from zabspec.signals import SignalHandler
from zabspec.typed import near

__all__ = [
    "HELD", "INTERRUPTED", "NO_VERDICT", "VIOLATED", "WRONG", "Answer", "Answered", "NoVerdict", "complain",
    "cut_short", "delivered", "end_where_it_stands", "ended", "no_answer", "one_line", "open_streams", "plain",
    "settle",
]  # fmt: skip

LEFT = ("work", "z3", "compile")  # the threads of `checker.proofs.symbolic.solver` and `commands.refine`
INTERRUPTED = "interrupted; there is no verdict"

# Errors of exhausted resources: memory, threads and processes, open files, disk space.
SPENT = (
    errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO,
)  # fmt: skip
# Errors of file names that a user gives.
UNUSABLE = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EROFS,
    errno.ENXIO, errno.ENODEV, errno.EINVAL,
)  # fmt: skip
# The loader's messages for too little memory to load a library.
UNMAPPED = ("failed to map segment", "cannot map zero-fill pages", "cannot allocate memory in static TLS")
# The message of the SystemError that Python 3.11 raises if its own stack cannot grow for want of memory.
NO_STACK = ("error return without exception set", "returned NULL without setting an exception")

# --- messages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The answer of a command: its exit code, and what it writes where.

    Attributes:
        code: the exit code; 3 if a file, or stdout, cannot be written.
        texts: for stdout, each on lines of its own.
        content: for stdout instead, as JSON. The `exit_code` of an object is that of the process.
        files: the content of each file to write.
        notes: sentences for stderr.
        source: lines of a protocol's source that the notes refer to.
        indent: of JSON.
        trouble: why the code differs from that of the result; `error` in JSON.
        long: whether it is a list to look through, shown in a pager if the terminal is too small for it.
        then: the work that continues after this answer and returns the next one; None if this is the last.
    """

    code: int
    texts: Sequence[str] = ()
    content: Any = None
    files: Sequence[tuple[Path, bytes]] = ()
    notes: Sequence[str] = ()
    source: Sequence[str] = ()
    indent: int | None = 1
    trouble: str = ""
    long: bool = False
    then: Callable[[], Answer] | None = None

    @classmethod
    def of(
        cls, code: int, as_json: bool, content: Callable[[], Any], text: Callable[[], str | Sequence[str]], **more: Any
    ) -> Answer:
        """Return an answer as JSON, or as text."""
        if as_json:
            return cls(code, content=content(), **more)
        made = text()
        return cls(code, [made] if isinstance(made, str) else made, **more)

    def text(self, code: int, trouble: str = "") -> str:
        """Return what goes to stdout.

        Args:
            code: the exit code of the process.
            trouble: why it is another one than that of the answer.
        """
        trouble = self.trouble or trouble
        if self.content is not None:
            mine = self.content
            if isinstance(mine, dict) and "exit_code" in mine:
                mine = mine | {"exit_code": code} | ({"error": plain(trouble)} if trouble else {})
            return f"{plain(json.dumps(mine, indent=self.indent))}\n"
        return "".join(map(whole_lines, self.texts))


class Answered(Exception):
    """Raised where click returns nothing: `--help`, `--version`.

    Attributes:
        answer: the answer.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def whole_lines(text: str) -> str:
    """Return text for stdout: without characters that a terminal obeys, and with a line end."""
    if isinstance(text, Verbatim):
        return text
    return plain(text) if text.endswith("\n") else f"{plain(text)}\n"


def complain(text: str) -> None:
    """Write one sentence on stderr."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"zabcheck: {sentence(text)}", err=True)


def pointed_at(problem: BaseException | None) -> list[str]:
    """Return the line of the source that an error is about, and one with a caret under the column."""
    while problem is not None and getattr(problem, "place", None) is None:
        problem = problem.__cause__ or problem.__context__
    if problem is None:
        return []
    from zabspec.language.layout.diagnostics import pointed

    lines: list[str] = pointed(problem.place).splitlines()  # type: ignore[attr-defined]
    return lines


# --- the streams -----------------------------------------------------------------------------------


def open_streams() -> None:
    """Open every standard stream that was closed at the start of the process on the null device.

    Otherwise the next file that is opened gets its number, and error messages are written into that file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # opens the lowest free number: this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def nowhere(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that the interpreter's flush at exit writes nothing."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def written(stream: TextIO, text: str, given_up: Callable[[], bool] = never) -> str:
    """Write to a standard stream; return what failed. A reader that has gone away (`| head`) is not a failure.

    Raises:
        KeyboardInterrupt: the reader takes nothing, and the wait for it was given up.
    """
    try:
        if stream is sys.__stdout__ or stream is sys.__stderr__:
            stream.flush()
            write_all(stream.fileno(), text.encode(stream.encoding, "backslashreplace"), given_up)
        else:  # a replacement of tests, or of a notebook
            stream.write(text)
            stream.flush()
    except BrokenPipeError:
        nowhere(stream)
    except (OSError, ValueError) as problem:
        nowhere(stream)
        return getattr(problem, "strerror", None) or str(problem)
    return ""


def settle() -> None:
    """Flush the standard streams, and redirect one that fails: a failing flush at exit would change the exit code."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            nowhere(stream)


def end_where_it_stands(code: int) -> None:
    """End the process at once if a thread of z3 or of the compiler still works.

    Python's own end would wait for it in vain, or free what it uses. In tests, which replace the streams, do nothing.
    """
    busy = any(thread.daemon and thread.name in LEFT for thread in threading.enumerate())
    if busy and sys.stdout is sys.__stdout__:
        os._exit(code)


# --- the end ---------------------------------------------------------------------------------------


def ended(work: Callable[[], object], words: Sequence[str], later: bool = False) -> Answer:
    """Run a command and return its answer, however it ends. Nothing of it has been written.

    Args:
        work: the command; returns its answer.
        words: its command line.
        later: whether there was an answer before this one.
    """
    try:
        made = work()
    except Answered as instead:
        return instead.answer
    except (Exception, SystemExit, KeyboardInterrupt) as problem:
        return no_answer(problem, words, later)
    return made if isinstance(made, Answer) else Answer(HELD)


def no_answer(problem: BaseException, words: Sequence[str], later: bool = False) -> Answer:
    """Convert an exception to the answer that reports it. Only this function maps exceptions to exit codes.

    With `--json` a command that ends so before it has written anything writes an object with `exit_code` and `error`.

    Args:
        later: whether there was an answer before this one.
    """
    if isinstance(problem, BrokenPipeError):
        return Answer(NO_VERDICT)
    if isinstance(problem, click.ClickException):
        said, code = usage_text(problem), WRONG
    elif isinstance(problem, RequestError):
        said, code = str(problem), WRONG
    elif said := wrong_file(problem, words):
        code = WRONG
    else:
        cut = cut_short(problem) or NoVerdict(unforeseen(problem, words), foreseen=False)
        said, code = cut.message, NO_VERDICT
    content = error(said, code) if "--json" in words and not later else None
    return Answer(code, content=content, notes=[said], source=pointed_at(problem) if code == WRONG else ())


def usage_text(problem: click.ClickException) -> str:
    """Return the message of a mistake on the command line, with a way out."""
    at = problem.ctx if isinstance(problem, click.UsageError) else None
    if at is None:
        return problem.format_message()
    ways = f"; `{at.command_path} --help` lists them"
    if isinstance(problem, click.NoSuchOption):
        name = problem.option_name
        flags = [flag for p in at.command.get_params(at) for flag in p.opts if flag.startswith("--")]
        begin = sorted(
            (flag for flag in flags if flag.startswith(f"-{name[:2]}")), key=lambda f: (f != "--help", len(f))
        )[:3]
        hint = near(name, flags) if name.startswith("--") else f"; did you mean {' or '.join(begin)}?" if begin else ""
        return f"there is no option {name}{hint or ways}"
    if isinstance(problem, click.MissingParameter) and (missing := problem.param) is not None:
        name = missing.opts[0] if isinstance(missing, click.Option) else missing.make_metavar(at)
        examples = [line.strip() for line in (at.command.epilog or "").splitlines()]
        first = next((line for line in examples if line.startswith(f"zabcheck {at.command.name} ")), "")
        return f"{name} is missing" + (f", as in: {first}" if first else ways)
    return problem.format_message()


def error(sentence: str, code: int) -> dict[str, Any] | None:
    """Return the JSON object of an error; None if even that needs too much memory."""
    with contextlib.suppress(Exception):
        return {"format": 1, "zabcheck": __version__, "exit_code": code, "error": plain(sentence)}
    return None


def delivered_in_turn(answer: Answer, handler: SignalHandler, words: Sequence[str]) -> int:
    """Write an answer and those that follow it, and return the exit code.

    Signals are ignored while one is written, so that each is there whole or not at all. After one that cannot be
    written, no other is.
    """
    code = delivered(answer, handler, words)
    while (then := answer.then) is not None and code == answer.code:

        def following(then: Callable[[], Answer] = then) -> Answer:
            handler.resume()
            return then()

        answer = settled_answer(following, handler, words, later=True)
        code = delivered(answer, handler, words)
    return code


def settled_answer(
    work: Callable[[], object], handler: SignalHandler, words: Sequence[str], later: bool = False
) -> Answer:
    """Return the answer of a command as `ended` does, with its exit code settled: no signal changes it any more."""
    try:
        answer = ended(work, words, later)
        handler.settle()
    except KeyboardInterrupt as problem:  # it came after the work, and before anything was written
        handler.settle()
        answer = no_answer(problem, words, later)
    return answer


def delivered(answer: Answer, handler: SignalHandler, words: Sequence[str]) -> int:
    """Write an answer to its files and streams; return the exit code, which no signal changes any more.

    Args:
        handler: ignores signals from now on, except to give up waiting for a reader.
        words: the command line.
    """
    try:
        text = answer.text(answer.code)
        troubles = [write_file(path, data, lambda: handler.came) for path, data in answer.files]
        if any(troubles):
            text = answer.text(NO_VERDICT, next(filter(None, troubles)))
        elif answer.content is None and sys.stdout is not None and sys.stdout.isatty():
            unsaid = [name for path, _ in answer.files if (name := plain(str(path))) not in text]
            text += f"\nwritten: {', '.join(unsaid)}\n" if unsaid else ""
    except (Exception, KeyboardInterrupt) as problem:  # nothing was written to stdout yet
        answer, troubles = no_answer(problem, words), []
        text = answer.text(answer.code)
    notes = [*answer.notes, *filter(None, troubles)]
    code = NO_VERDICT if any(troubles) else answer.code
    try:
        seen = not text or (answer.long and paged(text))
        trouble = "" if seen else written(sys.stdout, text, lambda: handler.came)
        if trouble:
            code = NO_VERDICT
            found = f"; the result was: {text.splitlines()[0]}" if answer.content is None else ""
            notes.insert(0, f"cannot write to stdout: {trouble}{found}")
    except KeyboardInterrupt:
        code, notes = NO_VERDICT, [INTERRUPTED]
        nowhere(sys.stdout)
    said = [f"zabcheck: {sentence(note)}\n" for note in notes] + [f"    {plain(line)}\n" for line in answer.source]
    with contextlib.suppress(KeyboardInterrupt):
        written(sys.stderr, "".join(said), lambda: handler.came)
    return code


def cut_short(problem: BaseException) -> NoVerdict | None:
    """Return in which way a command was cut short, or None if the problem is another one."""
    if isinstance(problem, NoVerdict):
        return problem
    if isinstance(problem, KeyboardInterrupt | click.Abort):
        return NoVerdict(INTERRUPTED)
    said = spent(problem)
    return NoVerdict(said) if said else None


def failed_column(problem: Exception) -> str:
    """Return why a column of a report has no verdict; an unforeseen error is written to a file."""
    if isinstance(problem, RequestError):  # what the column cannot be computed of
        return str(problem)
    cut = cut_short(problem)
    return cut.message if cut is not None else unforeseen(problem, sys.argv[1:])


def wrong_file(problem: BaseException, words: Sequence[str]) -> str:
    """Return the sentence for a file that the command names and that cannot be used; empty for any other problem."""
    at: BaseException | None = problem
    while at is not None:
        if isinstance(at, OSError) and at.errno in UNUSABLE:
            if isinstance(at, FileNotFoundError) and is_cwd_gone():
                return "the working directory has been deleted: change to another one"
            name = os.fsdecode(at.filename) if isinstance(at.filename, str | bytes) else ""
            given = [word.partition("=")[2] if word.startswith("--") else word for word in words]
            if name and any(name == g or name.startswith(f"{g.rstrip('/')}/") for g in given if g):
                return f"{name}: {at.strerror}"
        at = at.__cause__ or at.__context__
    return ""


def spent(problem: BaseException | None) -> str:
    """Return the message for a resource that ran out, even if another error wraps it; the empty string if none did."""
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
            return "a process was killed, probably because memory ran out; there is no verdict"
    return spent(problem.__cause__ or problem.__context__)


def is_memory_limited() -> bool:
    """Return whether this process may use less memory than the machine has (`ulimit -v`)."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def unforeseen(problem: BaseException, words: Sequence[str]) -> str:
    """Write an unforeseen error to a new file, and return the sentence that names it."""
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
    """Yield the paths to try for an error report: in the current folder, then in that of temporary files."""
    from zabspec.temporary import top

    name = f"zabcheck-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for folder in (Path(), top()):
        for again in ("", "-2", "-3", "-4"):
            yield folder / f"{name}{again}.txt"


def error_report(problem: BaseException, words: Sequence[str]) -> str:
    """Return the text of an error report: the command, the versions, and the traceback, without secrets."""
    import platform
    import shlex
    import traceback
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in ("zabcheck", "click", "llvmlite", "rich", "z3-solver", "numpy", "pandas", "pyarrow", "pyspark"):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return without_secrets(
        "zabcheck had an internal error. Please report it, with this file.\n\n"
        f"command: {shlex.join(['zabcheck', *words])}\n"
        f"python: {sys.version}\nmachine: {platform.platform()}\nversions: {', '.join(versions)}\n\n"
        + "".join(traceback.format_exception(problem))
    )
