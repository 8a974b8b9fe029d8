"""How every command ends: with one answer, whose exit code is settled before any of it is written.

A command returns an `Answer`; a command that has none raises. `ended` makes an answer of that, too. Then signals are no
longer heard, and `delivered` writes it: files, stdout, stderr. So what is on stdout never contradicts the exit code
(docs/decisions/0014-rooms.md). An error that nobody foresaw is written down in a file.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import click

from checker.errors import NoVerdict, RequestError
from checker.output_files import append_file, never, write_all, write_file
from checker.pager import paged
from checker.plain_text import Verbatim, one_line, plain, sentence
from zabspec.files import is_cwd_gone, without_secrets
from zabspec.signals import SignalHandler

__all__ = [
    "HELD", "INTERRUPTED", "NO_VERDICT", "VIOLATED", "WRONG", "Answer", "Answered", "NoVerdict", "complain",
    "cut_short", "delivered", "end_where_it_stands", "ended", "no_answer", "one_line", "open_streams", "plain",
    "refused", "settle",
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

# --- what is said ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a command came to.

    Attributes:
        code: the exit code; 3 if a file, or stdout, cannot be written.
        texts: for stdout, each on lines of its own.
        content: for stdout instead, as JSON. The `exit_code` of an object is that of the process.
        files: what is written to which.
        summary: what is added to which file, the summary of a step of GitHub Actions.
        notes: sentences for stderr.
        source: lines of a protocol's source that the notes are about.
        indent: of JSON.
        trouble: why the code is another one than that of what was found; `error` in JSON.
        long: it is a list to look through, for which a terminal that is too small for it has a pager.
        then: the work that goes on behind this answer, and has the next one; None: this is the last.
    """

    code: int
    texts: Sequence[str] = ()
    content: Any = None
    files: Sequence[tuple[Path, bytes]] = ()
    summary: tuple[Path, bytes] | None = None
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
    """Return text as it is written: without what a terminal obeys, and with an end of line."""
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
    from zabspec.language.diagnostics import pointed

    lines: list[str] = pointed(problem.place).splitlines()  # type: ignore[attr-defined]
    return lines


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


def nowhere(stream: TextIO) -> None:
    """Stop writing to a stream: what the interpreter would flush at its end goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def written(stream: TextIO, text: str, given_up: Callable[[], bool] = never) -> str:
    """Write to a standard stream; return what went wrong. A reader that has gone away (`| head`) changes nothing.

    Raises:
        KeyboardInterrupt: the reader takes nothing, and it was given up.
    """
    try:
        if stream is sys.__stdout__ or stream is sys.__stderr__:
            stream.flush()
            write_all(stream.fileno(), text.encode(stream.encoding, "backslashreplace"), given_up)
        else:  # of tests, or a notebook
            stream.write(text)
            stream.flush()
    except BrokenPipeError:
        nowhere(stream)
    except (OSError, ValueError) as problem:
        nowhere(stream)
        return getattr(problem, "strerror", None) or str(problem)
    return ""


def settle() -> None:
    """What the interpreter cannot flush at its end would be an exit code of its own."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
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


def ended(work: Callable[[], object], words: Sequence[str], later: bool = False) -> Answer:
    """Return the answer of a command, however it ends. Nothing of it has been written.

    Args:
        work: the command; returns its answer.
        words: what it was called with.
        later: there was an answer before this one.
    """
    try:
        made = work()
    except Answered as instead:
        return instead.answer
    except (Exception, SystemExit, KeyboardInterrupt) as problem:
        return no_answer(problem, words, later)
    return made if isinstance(made, Answer) else Answer(HELD)


def no_answer(problem: BaseException, words: Sequence[str], later: bool = False) -> Answer:
    """Return what is said instead of an answer. No other place maps exceptions to exit codes.

    With `--json` a command that is cut short before it has written anything writes an object with `exit_code` and
    `error`.

    Args:
        later: there was an answer before.
    """
    if isinstance(problem, click.ClickException | RequestError):
        return refused(problem)
    if isinstance(problem, BrokenPipeError):
        return Answer(NO_VERDICT)
    if said := wrong_text(problem) or wrong_file(problem, words):
        return Answer(WRONG, notes=[said], source=pointed_at(problem))
    cut = cut_short(problem) or NoVerdict(unforeseen(problem, words), foreseen=False)
    wanted = "--json" in words and not later
    return Answer(NO_VERDICT, content=error(cut.message, NO_VERDICT) if wanted else None, notes=[cut.message])


def refused(problem: click.ClickException | RequestError, as_json: bool = False) -> Answer:
    """Return that the request is wrong.

    Args:
        as_json: stdout says so, too.
    """
    said = problem.format_message() if isinstance(problem, click.ClickException) else str(problem)
    content = error(said, WRONG) if as_json else None
    return Answer(WRONG, content=content, notes=[said], source=pointed_at(problem))


def error(sentence: str, code: int) -> dict[str, Any] | None:
    """Return, for JSON, that there is no answer and why; None where memory is too short even for that."""
    with contextlib.suppress(Exception):
        from importlib.metadata import version

        return {"format": 1, "zabcheck": version("zabcheck"), "exit_code": code, "error": plain(sentence)}
    return None


def delivered_in_turn(
    answer: Answer, handler: SignalHandler, words: Sequence[str], warnings: Sequence[str] = ()
) -> int:
    """Write an answer and those that follow it; return the exit code. No signal is heard while one is written, so that
    each is there whole or not at all; behind one that could not be written there is no other.

    Args:
        warnings: notes of the first.
    """
    code = delivered(replace(answer, notes=[*warnings, *answer.notes]), handler, words)
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
    except KeyboardInterrupt as problem:  # after the work, and before anything is written
        handler.settle()
        answer = no_answer(problem, words, later)
    return answer


def delivered(answer: Answer, handler: SignalHandler, words: Sequence[str]) -> int:
    """Write an answer everywhere it goes; return the exit code, which no signal changes any more.

    Args:
        handler: hears nothing any more, except that somebody who waits for a reader gives up.
        words: what the command was called with.
    """
    try:
        text = answer.text(answer.code)
        troubles = [write_file(path, data, lambda: handler.came) for path, data in answer.files]
        troubles += [append_file(*answer.summary, "the step summary")] if answer.summary else []
        if any(troubles):
            text = answer.text(NO_VERDICT, next(filter(None, troubles)))
    except (Exception, KeyboardInterrupt) as problem:  # stdout has nothing yet
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
                return "the working directory has been deleted: change to another one"
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
            return "a process was killed, probably because memory ran out; there is no verdict"
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
    from zabspec.temporary import top

    name = f"zabcheck-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for folder in (Path(), top()):
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
    return without_secrets(
        "zabcheck had an internal error. Please report it, with this file.\n\n"
        f"command: {shlex.join(['zabcheck', *words])}\n"
        f"python: {sys.version}\nmachine: {platform.platform()}\nversions: {', '.join(versions)}\n\n"
        + "".join(traceback.format_exception(problem))
    )
