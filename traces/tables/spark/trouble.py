"""Describe in one line what went wrong with Spark."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from subprocess import Popen, TimeoutExpired


def ended(process: Popen[bytes], problem: Exception) -> bool:
    """Return whether Java has ended, which its connection may show a moment earlier."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    with contextlib.suppress(TimeoutExpired):
        process.wait(0 if isinstance(problem, Py4JJavaError | PySparkException) else 1)
    return process.returncode is not None


def how_it_ended(process: Popen[bytes], folder: Path) -> str:
    """Return how a Java process ended: by a signal, or the last relevant line of its log."""
    if process.returncode < 0:
        return f"killed by signal {-process.returncode}"
    return (log_lines(folder) or [f"exit {process.returncode}"])[-1]


def reason(problem: BaseException) -> str:
    """Return in one line why a job failed; empty if this is no error of Spark's.

    A task's own error comes first, else Spark's first message.
    """
    from pyspark.errors import PySparkException

    java_said = type(problem).__module__.startswith("py4j.")  # which pyspark-client does not bring
    if not (java_said or isinstance(problem, PySparkException | ConnectionError)):
        return ""
    text = str(problem)
    java = getattr(problem, "java_exception", None)
    with contextlib.suppress(Exception):
        text = str(java.getMessage() or java.toString()) if java is not None else text
    if "Python worker exited unexpectedly" in text:
        return "a task's Python process was killed, probably because memory ran out"
    _, _, python = text.rpartition("Traceback (most recent call last):")
    raised = re.search(r"^(?:\w+\.)*(\w+(?:: .+)?)$", python, re.MULTILINE) if python != text else None
    said = raised[1] if raised else next((plain(line) for line in text.splitlines() if line.strip()), "")
    return said.strip().rstrip(".") or type(problem).__name__


def log_lines(folder: Path) -> list[str]:
    """Return the lines of Java's log without warnings and stack traces."""
    try:
        lines = (folder / "log").read_text(errors="replace").splitlines()
    except OSError:
        return []
    noise = re.compile(
        r"\s|WARNING|(NOTE: )?Picked up |Using Spark's|Setting default|To adjust|\d\d/\d\d/\d\d \S+ (WARN|INFO)"
    )
    return [plain(line) for line in lines if line.strip() and not noise.match(line)]


def plain(line: str) -> str:
    """Return a log line without the names of its thread and exception."""
    return re.sub(r'^(Exception in thread "\S+" )?([a-z]\w*\.[\w.$]+: )?', "", line.strip())
