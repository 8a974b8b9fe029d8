"""Run a command of zabcheck, in this process or in one that is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from checker.cli import main
from checker.commands import deriving
from checker.requests.base.kinds import kind_named
from tests.patience import ended, until_cpu

TINY = ("--nodes", "2", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0")
BROKEN = (*TINY, "--variant", "small-quorum")

# What gets Ctrl-C sets the handler itself: a process that the tests were started from may have SIGINT ignored, as
# shells do in the background, and what is done between fork and exec is done in a copy of a process full of libraries.
# Where a signal ends it, it says where it was.
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from checker.cli import main; main()"
HEARING = [sys.executable, "-X", "faulthandler", "-c", HEARS]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def request_of(name: str, *words: str) -> Any:
    """Return the request that words after the name of a command make."""
    kind = kind_named(name)
    assert kind is not None
    with deriving.command_of(kind).make_context(name, list(words)) as context:
        return deriving.requested(deriving.kinds_of(kind), context.params)


def assert_refused(result: Result, sentence: str) -> None:
    """The question was wrong: exit code 2, and one sentence on stderr alone."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert sentence in result.stderr
    assert result.stderr.startswith("zabcheck: ")
    assert result.stderr.count("\n") == 1


def interrupted(
    *arguments: str, after: float, environment: dict[str, str] | None = None
) -> tuple[int, str, str, float]:
    """Exit code and output of a command that gets Ctrl-C after so many CPU seconds, and how many it went on for."""
    process = subprocess.Popen(
        [*HEARING, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        until_cpu(process, after)
        out, err, spent = ended(process, signal.SIGINT)
        return process.returncode, out, err, spent
    finally:
        process.kill()
